#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# make demo: it finds the slow request, says so, and is done in time.

set -u
cd "${0%/*}/../.." || exit
number=0
failed=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

ok()
{
	local what=$1

	shift
	number=$((number + 1))
	if "$@"; then
		echo "ok $number - $what"
	else
		echo "not ok $number - $what"
		failed=1
	fi
}

has()
{
	grep -qE -- "$1" "$tmp/out"
}

# The slowest unit's elapsed time, in ms, as the report has it.
elapsed_ms()
{
	sed -nE 's/^ *1\. ([0-9.]+) (ms|s)  nginx\[.*/\1 \2/p' "$tmp/out" |
		awk '{ printf "%d", $2 == "s" ? $1 * 1000 : $1 }'
}

# The frames of its first stack.
frames()
{
	sed -nE '/^ *stack .* into the unit/,/^ *(stack|$)/s/^ *#[0-9]+ +//p' "$tmp/out"
}

is_complete()
{
	[ "$(frames | grep -c '^_start+')" = 1 ]
}

is_named()
{
	[ "$(frames | grep -c '^ngx_[a-z_]*+0x[0-9a-f]*  nginx$')" -ge 3 ]
}

# Static functions have no name in a stripped binary, but a place.
is_placed()
{
	frames | grep -qE '^nginx\+0x[0-9a-f]+$'
}

show()
{
	echo "# exit $code after $duration s"
	tail -n 60 "$tmp/out" "$tmp/err" | sed 's/^/# /'
}

if ! [ -e "$(. scripts/kernels.sh && echo "$kernel_cache/${KERNEL:-6.1}/release")" ]; then
	echo "1..0 # SKIP no ${KERNEL:-6.1} kernel; run scripts/setup"
	exit 0
fi
echo 1..9

code=0
timeout 900 scripts/demo -k "${KERNEL:-6.1}" > "$tmp/out" 2> "$tmp/err" || code=$?
# Of a CPU, with all that ran: it does not count how busy the machine is.
times > "$tmp/times"
duration=$(tail -n 1 "$tmp/times" | sed 's/[ms]/ /g' | awk '{ printf "%d", 60 * ($1 + $3) + $2 + $4 }')

ok "it found the slow request" test "$code" = 0
ok "in less than 3 minutes of a CPU: $duration s" test "$duration" -lt 180
ok "the alert came while the client waited" has 'perfguard knew already'
ok "the unit was late: $(elapsed_ms) ms" test "$(elapsed_ms || echo 0)" -ge 100
ok "its account" has '^ *CPU [0-9.]+ %, run queue [0-9.]+ %, blocked [0-9.]+ %'
ok "its stack reaches the program's start" is_complete
ok "exported functions have their names" is_named
ok "static ones their place" is_placed
ok "the culprit belongs to autoindex" has ngx_http_autoindex_module
[ "$failed" = 0 ] || show
