#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# How soon late units are reported, and what requests take, in guest time, on Linux 6.1.

exec "${0%/*}/module" 6.1 --exact=2 20-late.py 22-restarted.py 27-samples.py 30-account.py \
	95-connections.py 98-datagrams.py 98-two-way.py
