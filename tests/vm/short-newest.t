#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Some of the module's tests, on the newest of Debian's kernels: wait calls, units, guards,
# getting threads out, direct calls, jumps, what a program may do at worst.

cd "${0%/*}/../.." || exit
. scripts/kernels.sh
if ! kernel_ready "$newest_kernel"; then
	echo "1..0 # SKIP no $newest_kernel kernel; run scripts/setup"
	exit 0
fi
export MODULE_FLAGS=KCFLAGS=-Werror
exec tests/vm/module "$newest_kernel" 22-restarted.py 40-drain.py 57-arm.py 70-taken.py 74-hostile.py \
	78-inline.py 78-jumps.py 78-unmapped.py
