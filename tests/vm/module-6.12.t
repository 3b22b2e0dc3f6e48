#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The module's tests, on Linux 6.12; but the budget by the clock: budget-6.12.t counts it.

cd "${0%/*}" || exit
GLOBIGNORE=guest/63-budget.py
tests=(guest/[0-9]*.py)
exec ./module 6.12 "${tests[@]##*/}"
