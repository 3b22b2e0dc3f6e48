#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What --json prints is in Documentation/schema/, and nothing else is; of what needs the module
# tests/vm/guest/ asks the same.

# shellcheck source-path=SCRIPTDIR source=tap.sh
. "${0%/*}/tap.sh"

plan 15

top=$(cd "${0%/*}/../.." && pwd)
make_profile=${MAKE_PROFILE:-$top/${BUILD:-build}/tests/unit/make-profile}
cd "$scratch" || exit 1

# in_schema NAME FILE KIND...: its lines are of these kinds, as the schema has them.
in_schema()
{
	local name=$1 file=$2 said

	shift 2
	said=$(python3 -B "$top/tests/schema.py" "$file") && [ "$said" = "$*" ]
	ok $? "$name" || true
	[ "$said" = "$*" ] || echo "# ${said//$'\n'/$'\n'# }"
}

# wrong NAME CHANGE PATTERN: a line that this changes is not in the schema.
wrong()
{
	sed "$2" out > changed
	[ "$code" = 0 ] && ! python3 -B "$top/tests/schema.py" changed > said && grep -qE "$3" said
	ok $? "$1"
}

for profile in example recorded wide names; do
	"$make_profile" $profile $profile.pgp
done
"$make_profile" random random.pgp 7
for profile in example recorded wide names random; do
	"$program" show --json --hits $profile.pgp
done > shown
in_schema "profiles" shown profile
run show --json --tree 2 example.pgp
in_schema "a call tree" out profile
wrong "a key more is noticed" 's/"node":0/"node":0,"more":1/' 'tree.nodes\[0\].*more'
wrong "and one less" 's/"host":[^,]*,//' "'host' is a required property"
wrong "and another kind" 's/"kind":"profile"/"kind":"new"/' 'kind new'
wrong "and another form of time" 's/"time":"[^"]*Z"/"time":1700000000/' 'profile.time'
python3 - out <<- 'END'
	import json, socket, sys
	p = json.load(open(sys.argv[1]))
	boot = open("/proc/sys/kernel/random/boot_id").read().strip()
	sys.exit(not (p["host"] == socket.gethostname() and p["boot_id"] == boot and p["schema"] == 1 and
	              p["training"]["changed"] == "2026-01-02T00:00:00.000000000Z" and
	              p["loops"][0]["function"]["name"] == "exampled+0x11c80"))
END
ok $? "of this machine, with times as text, and a name for each function"
run diff --json example.pgp example.pgp
in_schema "differences" out difference
run check --json
in_schema "what a machine can do" out finding

# Errors are JSON where output is, on stderr.
run diff --json example.pgp nothing.pgp
[ "$code" = 1 ] && [ ! -s out ] && [ "$(wc -l < err)" = 1 ] && grep -q '"error":"cannot open nothing.pgp: No such file' err
ok $? "an error"
in_schema "is in it, too" err error
run watch --frobnicate --json
[ "$code" = 2 ] && [ ! -s out ] && grep -q '"error":"watch: unknown option --frobnicate;' err
ok $? "an option that is wrong, before --json"
run audit --json
[ "$code" = 2 ] && grep -q '"error":"audit: ' err
ok $? "nothing to be audited"
run diff example.pgp nothing.pgp
[ "$code" = 1 ] && grep -q '^pg-collect: cannot open' err
ok $? "without --json they are text"
run watch --brief
[ "$code" = 2 ] && grep -q -- "--brief needs --json" err
ok $? "--brief is of JSON"
finish
