#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# On the debug kernel, those of the module's tests where it sees what other kernels do not: what
# comes and goes while it is used, and what is read from outside (KASAN, kmemleak, lockdep,
# objects freed while active).  make check-debug runs all of them, which takes thrice as long.

if ! scripts/debug-kernel --if-cached; then
	echo "1..0 # SKIP no debug kernel; run scripts/debug-kernel"
	exit 0
fi
exec "${0%/*}/module" debug 27-samples.py 35-record.py 40-drain.py 55-profile.py 60-netlink.py \
	61-armed.py 62-own-target.py 65-turns.py 66-reported.py 68-requests.py \
	70-taken.py 80-ring.py 90-leaks.py
