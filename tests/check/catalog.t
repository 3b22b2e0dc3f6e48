#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The catalog of the journal has each message of the service, and no other one.

# shellcheck source-path=SCRIPTDIR source=../cli/tap.sh
. "${0%/*}/../cli/tap.sh"
cd "${0%/*}/../.." || exit 1
plan 4

# ids FILE: in it, sorted
ids()
{
	grep -oE '\b[0-9a-f]{32}\b' "$1" | sort
}

ids user/app/serve/service-messages.c > "$scratch/sent"
[ "$(wc -l < "$scratch/sent")" -ge 14 ] && [ "$(uniq -d "$scratch/sent" | wc -l)" = 0 ]
ok $? "each message has an id of its own"
grep '^-- ' scripts/perfguard.catalog > "$scratch/headings"
ids "$scratch/headings" | diff "$scratch/sent" - > "$scratch/diff"
ok $? "the catalog explains each, once"
sed 's/^/# /' "$scratch/diff"
sed -n 's/^\.It .* Ta //p' Documentation/man/pg-collect-serve.1 > "$scratch/page"
ids "$scratch/page" | diff "$scratch/sent" - > "$scratch/diff"
ok $? "so does the man page list them"
sed 's/^/# /' "$scratch/diff"
# Fields that are not sent would be printed as they stand there.
grep -oE '@[A-Z_]+@' scripts/perfguard.catalog | tr -d @ | sort -u > "$scratch/fields"
grep -oE '"PERFGUARD_[A-Z_]+"' user/app/serve/service-messages.c | tr -d '"' | sort -u |
	comm -13 - "$scratch/fields" > "$scratch/diff"
[ -s "$scratch/fields" ] && [ ! -s "$scratch/diff" ]
ok $? "it names fields that are sent"
finish
