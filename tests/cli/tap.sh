# SPDX-License-Identifier: GPL-2.0
# The Test Anything Protocol for the tests here; to be sourced.
# shellcheck shell=bash

program=${PG_COLLECT:-$(cd "${0%/*}/../.." && pwd)/pg-collect}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tap_done=0
tap_failed=0

plan()
{
	echo "TAP version 13"
	echo "1..$1"
	tap_planned=$1
}

# ok CONDITION NAME: the condition is the exit code of a command before.
ok()
{
	tap_done=$((tap_done + 1))
	if [ "$1" = 0 ]; then
		echo "ok $tap_done - $2"
	else
		tap_failed=$((tap_failed + 1))
		echo "not ok $tap_done - $2"
	fi
}

skip()
{
	tap_done=$((tap_done + 1))
	echo "ok $tap_done # SKIP $1"
}

# run ARG...: pg-collect; sets code, and fills $scratch/out and $scratch/err.
run()
{
	code=0
	timeout 20 "$program" "$@" > "$scratch/out" 2> "$scratch/err" < /dev/null || code=$?
}

# refused CODE PATTERN NAME ARG...: it exits so, with nothing on stdout and one
# line on stderr that matches.
refused()
{
	local want=$1 pattern=$2 name=$3

	shift 3
	run "$@"
	if [ "$code" = "$want" ] && [ ! -s "$scratch/out" ] &&
		[ "$(wc -l < "$scratch/err")" = 1 ] && grep -qE -- "$pattern" "$scratch/err"; then
		ok 0 "$name"
		return
	fi
	ok 1 "$name"
	echo "# exit $code, wanted $want and $pattern"
	sed 's/^/# stdout: /' "$scratch/out"
	sed 's/^/# stderr: /' "$scratch/err"
}

# is_json EXPRESSION NAME: what it printed is one object, p, of which that is true.
is_json()
{
	python3 - "$scratch/out" "$1" <<- 'END'
		import json, sys
		text = open(sys.argv[1]).read()
		p = json.loads(text)
		sys.exit(text.count("\n") != 1 or not eval("(" + sys.argv[2] + ")"))
	END
	ok $? "$2"
}

finish()
{
	[ "$tap_failed" = 0 ] && [ "$tap_done" = "$tap_planned" ]
	exit
}
