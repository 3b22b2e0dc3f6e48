#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The module's tests, on Linux 6.1; but those that take long of what is the same on each kernel
# (what pg-collect makes of the module's events, the emulator), and the budget by the
# clock: budget-6.1.t and late-6.1.t count it.  The debug kernel is of the same series: where it is there,
# those that short-debug.t runs are not run twice.

cd "${0%/*}" || exit
GLOBIGNORE=guest/37-train.py:guest/37-train-inline.py:guest/38-check.py:guest/39-slowdown.py
GLOBIGNORE+=:guest/45-emulate.py:guest/63-budget.py:guest/77-top.py:guest/79-containers.py:guest/85-watch.py
GLOBIGNORE+=:guest/86-serve.py:guest/87-operator.py:guest/95-connections.py:guest/97-late-requests.py
GLOBIGNORE+=:guest/98-datagrams.py:guest/98-two-way.py:guest/99-page.py
if ../../scripts/debug-kernel --if-cached; then
	# shellcheck source=tests/vm/debug-tests.sh
	. ./debug-tests.sh
	GLOBIGNORE+=$(printf ':guest/%s' "${debug_tests[@]}")
fi
tests=(guest/[0-9]*.py)
exec ./module 6.1 "${tests[@]##*/}"
