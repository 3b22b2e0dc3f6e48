#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Metrics as Prometheus reads them: both formats, the rules of alerts, and the queries of the
# dashboard.  They are made, and served as the service does; tests/vm/guest/86-serve.py has the
# service's own.

# shellcheck source-path=SCRIPTDIR source=../cli/tap.sh
. "${0%/*}/../cli/tap.sh"

here=$(cd "${0%/*}" && pwd)
top=$here/../..
serve_metrics=${SERVE_METRICS:-$top/${BUILD:-build}/tests/unit/serve-metrics}

if [ -z "$(command -v prometheus)" ]; then
	echo "1..0 # SKIP no prometheus: scripts/setup --consumers"
	exit
fi
plan 9
cd "$scratch" || exit 1

"$serve_metrics" - > text
promtool check metrics < text > out 2>&1 && [ ! -s out ]
ok $? "promtool has nothing to say of the text format"
head out
# Does it notice?
sed 's/^\(# TYPE perfguard_units_total\) .*/\1 gauge/' text | promtool check metrics > out 2>&1 ||
	grep -q perfguard_units_total out
ok $? "it would have"

cp "$top/scripts/prometheus/perfguard.rules.yml" "$here/perfguard.rules.test.yml" .
promtool check rules perfguard.rules.yml > out 2>&1 && ! grep -qi 'error\|failed\|duplicate' out
ok $? "nor of the rules"
promtool test rules perfguard.rules.test.yml > out 2>&1
ok $? "each rule fires when it is to, and not else"
grep -q SUCCESS out || sed 's/^/# /' out

# free_port: one that nobody listens at
free_port()
{
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

port=$(free_port)
web=$(free_port)
"$serve_metrics" "$port" &
server=$!
cat > prometheus.yml <<-EOF
	global: {scrape_interval: 1s, evaluation_interval: 1s}
	rule_files: [perfguard.rules.yml]
	scrape_configs:
	  - job_name: perfguard
	    static_configs: [{targets: ["127.0.0.1:$port"]}]
EOF
prometheus --config.file prometheus.yml --storage.tsdb.path data --web.listen-address "127.0.0.1:$web" \
	--log.level warn > log 2>&1 &
prometheus=$!
trap 'kill $server $prometheus; wait; rm -rf "$scratch"' EXIT

python3 - "$web" "$top/scripts/grafana/perfguard-dashboard.json" > out <<- 'END'
	import json, re, sys, time, urllib.parse, urllib.request

	WEB, DASHBOARD = sys.argv[1:]

	def ask(path, **query):
	    url = f"http://127.0.0.1:{WEB}/api/v1/{path}?" + urllib.parse.urlencode(query)
	    try:
	        return json.load(urllib.request.urlopen(url, timeout=10))
	    except urllib.error.HTTPError as error:
	        return json.load(error)
	    except OSError:
	        return {"status": "down", "data": {}}

	def values(query):
	    answer = ask("query", query=query)
	    if answer["status"] != "success":
	        print("#", query, answer)
	        return None
	    return [float(one["value"][1]) for one in answer["data"]["result"]]

	def ok(passed, name):
	    print("ok" if passed else "not ok", name)

	end = time.monotonic() + 40
	while time.monotonic() < end and not values("sum(rate(perfguard_units_total[5s])) > 3500"):
	    time.sleep(0.5)
	units = values('sum(perfguard_units_total{exe="/usr/sbin/server"})') or [0]
	rate = values('sum(rate(perfguard_units_total{exe="/usr/sbin/server"}[5s]))') or [0]
	targets = ask("targets")["data"]["activeTargets"]
	ok(units[0] > 400000 and 3000 < rate[0] < 6000 and targets[0]["health"] == "up",
	   f"it collects units: {units[0]:.0f}, {rate[0]:.0f} a second; {targets[0]['lastError']}")
	kinds = ask("metadata")["data"]
	ok(kinds["perfguard_build"][0]["type"] == "info" and
	   kinds["perfguard_unit_seconds"][0]["unit"] == "seconds", "as OpenMetrics, with types and units")
	exes = ask("label/exe/values")["data"]
	ok(exes == sorted(["/usr/sbin/server", '/opt/a"b\\c\nd\ufffd{} # EOF']), f"names arrive: {exes}")

	rules = [rule for group in ask("rules")["data"]["groups"] for rule in group["rules"]]
	states = {rule["name"]: rule["state"] for rule in rules if rule["health"] == "ok"}
	ok(len(rules) > 10 and len(states) == len(rules) and states["PerfguardTypeSlow"] != "inactive",
	   f"its rules can be evaluated: {states}")

	bad = []
	queries = [target["expr"] for panel in json.load(open(DASHBOARD))["panels"]
	           for target in panel.get("targets", [])]
	for query in queries:
	    asked = query.replace("$__rate_interval", "10s")
	    asked = re.sub(r"\$(instance|exe|type)\b", ".*", asked)
	    got = values(asked)
	    if not got or [one for one in got or [] if one != one]:
	        bad.append(query)
	        print("#", asked, got)
	ok(not bad, f"the {len(queries)} queries of the dashboard have data")
END
while read -r line; do
	case $line in
	"ok "*) ok 0 "${line#ok }" ;;
	"not ok "*) ok 1 "${line#not ok }" ;;
	*) echo "$line" ;;
	esac
done < out
[ ! -s log ] || sed 's/^/# /' log | head
finish
