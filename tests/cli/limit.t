#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What learn is asked for: limits that people set, kept in a profile and given to arm; guards that jump.

# shellcheck source-path=SCRIPTDIR source=tap.sh
. "${0%/*}/tap.sh"

plan 13

make_profile=${MAKE_PROFILE:-$(cd "${0%/*}/../.." && pwd)/${BUILD:-build}/tests/unit/make-profile}
cd "$scratch" || exit 1
"$make_profile" example own.pgp && "$make_profile" here here.pgp /bin/true /bin/cat
ok $? "profiles"

# limits_are WANTED WHAT: those of all of a unit's time, by type
limits_are()
{
	run show --json own.pgp
	is_json "[one['limits_ns']['all'] for one in sorted(p['types'], key=lambda one: one['id'])] == $1" "$2"
}

run learn -o own.pgp --limit 80ms
[ "$code" = 0 ] && [ ! -s err ]
ok $? "learn --limit"
limits_are "[80000000] * 6" "it is of all types"
run show own.pgp
[ "$(grep -c 'a limit of 80.0 ms was set for all of its time' out)" = 6 ]
ok $? "and shown"
run learn -o own.pgp --limit 2=5ms --limit 3=1s
limits_are "[80000000, 5000000] + [80000000] * 4" "one of a type holds if it is stricter"
run learn -o own.pgp
limits_are "[80000000, 5000000] + [80000000] * 4" "learnt again, they are still there"
run learn -o own.pgp --limit none --limit 2=none --limit 3=none
limits_are "[None] * 6" "none takes them off"
refused 1 "own.pgp has no type 9" "a type that is not there" learn -o own.pgp --limit 9=1s
refused 1 "own.pgp knows no function that has room for a jump: train, or record, with --inline" \
	"guards that jump, of what was recorded by breakpoints" learn -o own.pgp --inline
refused 1 "here.pgp has no type 99" "the same, armed" arm --limit 99=1s here.pgp
for text in soon 0=1s 2=; do
	refused 2 "--limit is TIME, such as 100ms, or TYPE=TIME, not '$text'" "a limit of $text" \
		arm --limit "$text" here.pgp
done
finish
