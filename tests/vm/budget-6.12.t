#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Guarding keeps to its budget, counted in instructions, on Linux 6.12.

exec "${0%/*}/module" 6.12 --exact=1 63-budget.py
