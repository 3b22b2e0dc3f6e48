#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The module's tests, on Linux 6.12; but what late-6.12.t has in the guest's own time, which a host
# that is busy does not stretch; and what is the same on each kernel, where the debug kernel has it.

cd "${0%/*}" || exit
GLOBIGNORE=guest/95-connections.py:guest/97-late-requests.py:guest/98-datagrams.py:guest/98-two-way.py
if ../../scripts/debug-kernel --if-cached; then
	GLOBIGNORE+=:guest/55-profile.py:guest/65-turns.py:guest/66-reported.py:guest/78-inline.py
fi
tests=(guest/[0-9]*.py)
exec ./module 6.12 "${tests[@]##*/}"
