#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# scripts/vm itself: what it passes through, and how it distinguishes what can
# go wrong.  The guests run two at a time, which none of them may notice.

set -u
cd "${0%/*}/../.." || exit
kernel=${KERNEL:-6.1}
number=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# guest NAME ARG...: a run of scripts/vm; its output and exit code go by NAME.
guest()
{
	local name=$1

	shift
	timeout 600 scripts/vm -k "$kernel" --no-module --dmesg "$tmp/$name.log" "$@" \
		> "$tmp/$name.out" 2> "$tmp/$name.err"
	echo $? > "$tmp/$name.rc"
}

ok()
{
	local what=$1

	shift
	number=$((number + 1))
	if "$@"; then
		echo "ok $number - $what"
	else
		echo "not ok $number - $what"
	fi
}

# is NAME.WHAT EXPECTED: what a guest left is exactly that.
is()
{
	local got

	got=$(cat "$tmp/$1")
	[ "$got" = "$2" ] && return
	printf '%s is not "%s" but:\n%s\n' "$1" "$2" "$got" | head -n 20 | sed 's/^/# /'
	return 1
}

has()
{
	grep -q "$2" "$tmp/$1"
}

# The mean cost of a system call, in instructions.
# shellcheck disable=SC2016 # they are Perl's variables
count='use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);
	my $start = clock_gettime(CLOCK_MONOTONIC);
	getppid() for 1 .. 20000;
	printf "%d\n", (clock_gettime(CLOCK_MONOTONIC) - $start) / 20000 * 1e9;'

# same_count: two runs differ by less than 1 %.
same_count()
{
	local a b

	a=$(cat "$tmp/count1.out") b=$(cat "$tmp/count2.out")
	echo "# instructions per call: $a $b"
	[ "$a" -gt 100 ] && [ $((a > b ? a - b : b - a)) -le $((a / 100)) ]
}

if ! [ -e "$(. scripts/kernels.sh && echo "$kernel_cache/$kernel/release")" ]; then
	echo "1..0 # SKIP no $kernel kernel; run scripts/setup"
	exit 0
fi
echo 1..20

mkdir "$tmp/out"
# shellcheck disable=SC2016 # the guest's shell expands it
{
	guest pass --out "$tmp/out" -- sh -c 'uname -r; pwd; echo oops >&2; echo $PERFGUARD_KERNEL
		touch /etc/mark /out/mark; id -u; nproc; sleep 100 & exit 7' &
	guest zero sh -c 'for flag in cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3; do
		grep -qw $flag /proc/cpuinfo || echo $flag; done' &
	wait
	guest count1 --icount perl -e "$count" &
	guest count2 --icount perl -e "$count" &
	wait
	guest late -t 20 sh -c 'echo before; sleep 1000' &
	guest lost --append rdinit=/nonexistent true &
	wait
	guest crash sh -c 'echo before; sleep 1; echo c > /proc/sysrq-trigger; sleep 10' &
	guest splat sh -c 'echo "BUG: made up" > /dev/kmsg' &
	wait
}

release=$(. scripts/kernels.sh && cat "$kernel_cache/$kernel/release")
ok "the command's exit code" is pass.rc 7
ok "standard output, and nothing else" is pass.out "$(printf '%s\n' "$release" "$PWD" "$kernel" 0 2)"
ok "standard error" is pass.err oops
ok "a file in /out reaches the host" test -e "$tmp/out/mark"
ok "a file elsewhere does not" test ! -e /etc/mark
ok "the kernel's log" has pass.log 'guest is ready'
ok "exit code 0" is zero.rc 0
ok "silence" is zero.err ''
ok "the CPU lacks no feature of x86-64-v2" is zero.out ''

ok "counting works" is count1.rc 0
ok "counting counts the same twice" same_count

ok "a command that takes too long" is late.rc 124
ok "its output up to then" is late.out before
ok "and the reason" has late.err 'took more than 20 s'

ok "a guest that does not come up" is lost.rc 125
ok "is tried twice" has lost.err 'try 2 of 2'

ok "a kernel that crashes" is crash.rc 126
ok "shows why" has crash.err 'sysrq triggered crash'
ok "output before the crash" is crash.out before
ok "a kernel's error counts whatever the command says" is splat.rc 126
