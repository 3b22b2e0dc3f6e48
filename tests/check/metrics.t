#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The rules of alerts, the dashboard and the page of metrics name the metrics that there are.

# shellcheck source-path=SCRIPTDIR source=../cli/tap.sh
. "${0%/*}/../cli/tap.sh"

cd "${0%/*}/../.." || exit 1
serve_metrics=${SERVE_METRICS:-${BUILD:-build}/tests/unit/serve-metrics}
rules=scripts/prometheus/perfguard.rules.yml
dashboard=scripts/grafana/perfguard-dashboard.json
plan 6

# names: of the metrics in what is on standard input
names()
{
	grep -oE '\bperfguard_[a-z_]+' | sort -u
}

"$serve_metrics" - > "$scratch/text" && "$serve_metrics" --open > "$scratch/open" &&
	[ "$(tail -n 1 "$scratch/open")" = "# EOF" ]
ok $? "metrics are printed"
grep -v '^#' "$scratch/text" | sed 's/[{ ].*//' | names > "$scratch/there"
sed -n 's/^# TYPE \(\S*\) .*/\1/p' "$scratch/text" | names > "$scratch/families"
[ "$(wc -l < "$scratch/families")" -gt 40 ]
ok $? "more than 40 of them"

# no_others FILE: of the names on standard input those that are not in FILE
no_others()
{
	comm -23 - "$1" > "$scratch/others"
	sed 's/^/# there is no /' "$scratch/others"
	[ ! -s "$scratch/others" ]
}

names < "$rules" | no_others "$scratch/there"
ok $? "the rules name no others"
python3 -c 'import json, sys; print(*(t["expr"] for p in json.load(sys.stdin)["panels"] for t in p.get("targets", [])),
	sep="\n")' < "$dashboard" > "$scratch/queries" && [ "$(wc -l < "$scratch/queries")" -gt 20 ]
ok $? "the dashboard is JSON, with queries"
names < "$dashboard" | no_others "$scratch/there"
ok $? "it names no others"
tr -d '\140' < Documentation/metrics.md | sed -n 's/^| \(perfguard_[a-z_]*\) | \([a-z]*\) .*/\1 \2/p' |
	sort > "$scratch/listed"
sed -n 's/^# TYPE //p' "$scratch/text" | sort > "$scratch/types"
cmp -s "$scratch/listed" "$scratch/types"
ok $? "the page has each of them with its type, and no others"
diff "$scratch/listed" "$scratch/types" | sed 's/^/# /'
finish
