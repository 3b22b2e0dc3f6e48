#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The module's tests, on the debug kernel.

exec "${0%/*}/module" debug
