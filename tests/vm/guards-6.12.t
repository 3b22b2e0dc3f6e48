#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Delays are reported and normal units are not, and limits are learnt again, in guest time, on
# Linux 6.12; a part of what make eval-delays does on both kernels.

DELAYS=100 UNITS=5000 SHORT=1 exec "${0%/*}/module" 6.12 --exact=1 '5[89]-*.py' 93-live.py
