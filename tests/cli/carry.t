#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What pg-collect learn --carry refuses; what it does is tests/unit/test-carry.c and make eval-carry.

# shellcheck source-path=SCRIPTDIR source=tap.sh
. "${0%/*}/tap.sh"

plan 9

make_profile=${MAKE_PROFILE:-$(cd "${0%/*}/../.." && pwd)/${BUILD:-build}/tests/unit/make-profile}
cd "$scratch" || exit 1
"$make_profile" example old.pgp && "$make_profile" recorded recorded.pgp &&
	"$make_profile" example other.pgp
ok $? "profiles"

refused 1 "old.pgp has no fingerprints .* 'pg-collect train -o new.pgp -e /usr/sbin/exampled'" \
	"a profile of an older pg-collect, and says what to do" learn --carry old.pgp -o new.pgp
[ ! -e new.pgp ]
ok $? "and nothing is written"
refused 1 "recorded.pgp has no types" "one of which nothing was learnt" \
	learn --carry recorded.pgp -o new.pgp
refused 1 "other.pgp is there already" "another profile in the new one's place" \
	learn --carry old.pgp -o other.pgp
refused 1 "absent.pgp" "one that is not there" learn --carry absent.pgp -o new.pgp
refused 2 "takes no trace" "a trace" learn --carry old.pgp -o new.pgp trace
refused 2 "takes no trace, and not --live" "--live" learn --carry old.pgp -o new.pgp --live
refused 2 "-e belongs to --carry" "-e alone" learn -o new.pgp -e /bin/true

finish
