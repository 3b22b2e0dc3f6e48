#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# On the debug kernel, those of the module's tests where it sees what other kernels do not: what
# comes and goes while it is used, and what is read from outside (KASAN, kmemleak, lockdep,
# objects freed while active).  make check-debug runs all of them, which takes thrice as long.

if ! scripts/debug-kernel --if-cached; then
	echo "1..0 # SKIP no debug kernel; run scripts/debug-kernel"
	exit 0
fi
# shellcheck source=tests/vm/debug-tests.sh
. "${0%/*}/debug-tests.sh"
exec "${0%/*}/module" debug "${debug_tests[@]}"
