#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What pg-collect diff prints, and what it refuses.

# shellcheck source-path=SCRIPTDIR source=tap.sh
. "${0%/*}/tap.sh"

plan 9

make_profile=${MAKE_PROFILE:-$(cd "${0%/*}/../.." && pwd)/${BUILD:-build}/tests/unit/make-profile}
cd "$scratch" || exit 1
"$make_profile" example one.pgp && "$make_profile" example two.pgp &&
	"$make_profile" recorded recorded.pgp
ok $? "profiles"

run diff one.pgp two.pgp
[ "$code" = 0 ] && [ ! -s err ] && grep -q '^Types: no difference was found$' out
ok $? "profiles that are alike do not differ"
[ "$(awk '{ if (length > n) n = length } END { print n }' out)" -le 79 ]
ok $? "in 79 columns"
run diff --json one.pgp two.pgp
is_json "p['kind'] == 'difference' and [one['change'] for one in p['types']] == [None] * 6" \
	"the same as JSON"
refused 1 "recorded.pgp has no types" "a profile of which nothing was learnt" \
	diff one.pgp recorded.pgp
refused 1 "absent.pgp" "one that is not there" diff one.pgp absent.pgp
refused 2 "give two profiles" "one alone" diff one.pgp
refused 2 "give one profile with --live" "two with --live" diff --live one.pgp two.pgp
refused 3 "the perfguard module is not loaded" "--live without the module" diff --live one.pgp
