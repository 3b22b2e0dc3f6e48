#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The module's tests, on Linux 6.1; but those that take long of what is the same on each kernel
# (what pg-collect makes of the module's events, the emulator), and the budget by the
# clock: budget-6.1.t counts it.  The debug kernel is of the same series: where it is there,
# short-debug.t has three more of them.

cd "${0%/*}" || exit
GLOBIGNORE=guest/37-train.py:guest/45-emulate.py:guest/63-budget.py:guest/85-watch.py
if ../../scripts/debug-kernel --if-cached; then
	GLOBIGNORE+=:guest/35-record.py:guest/55-profile.py:guest/68-requests.py
fi
tests=(guest/[0-9]*.py)
exec ./module 6.1 "${tests[@]##*/}"
