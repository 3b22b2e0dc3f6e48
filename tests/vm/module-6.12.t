#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The module's tests, on Linux 6.12.

exec "${0%/*}/module" 6.12
