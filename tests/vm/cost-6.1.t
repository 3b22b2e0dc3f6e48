#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The cost of the hooks, on Linux 6.1.

exec "${0%/*}/cost" 6.1
