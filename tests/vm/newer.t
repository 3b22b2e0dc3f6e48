#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The module builds without a warning for each of the newer kernels that is only built for; the
# newest is booted as well (short-newest.t).

cd "${0%/*}/../.." || exit
. scripts/kernels.sh
number=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# builds KERNEL: the compiler's, modpost's and objtool's warnings count, but what the kernel's
# build system has to say of the versions of this machine's tools does not.
builds()
{
	make -s module KERNEL="$1" MODULE_FLAGS=KCFLAGS=-Werror > "$log" 2>&1 &&
		! grep -iv 'version differs' "$log" | grep -iE 'warning|error'
}

for kernel in "${newer_kernels[@]}"; do
	[ "$kernel" != "$newest_kernel" ] || continue
	number=$((number + 1))
	if ! kernel_ready "$kernel"; then
		echo "ok $number - Linux $kernel # SKIP it is not there; run scripts/setup"
	elif builds "$kernel"; then
		echo "ok $number - the module builds for Linux $kernel, without a warning"
	else
		sed 's/^/# /' "$log" | tail -n 40
		echo "not ok $number - the module builds for Linux $kernel, without a warning"
	fi
done
echo "1..$number"
