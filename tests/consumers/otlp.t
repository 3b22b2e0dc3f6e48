#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Alerts of a spool as log records of OpenTelemetry: what is sent is decoded by the protocol's own
# messages, and answers have the effects that it demands.  Its messages are those of the npm package
# @opentelemetry/otlp-transformer, put into build/consumers.

# shellcheck source-path=SCRIPTDIR source=../cli/tap.sh
. "${0%/*}/../cli/tap.sh"
# shellcheck source-path=SCRIPTDIR source=nats-server.sh
. "${0%/*}/nats-server.sh"

here=$(cd "${0%/*}" && pwd)
make_spool=${MAKE_SPOOL:-$here/../../${BUILD:-build}/tests/unit/make-spool}
modules=$here/../../build/consumers
package=@opentelemetry/otlp-transformer
root=$modules/node_modules/$package/build/src/generated/root.js
server=

if [ ! -e "$root" ]; then
	mkdir -p "$modules"
	timeout 120 npm install --prefix "$modules" --no-save --no-audit --no-fund --ignore-scripts \
		"$package@0.203.0" > "$modules/npm.log" 2>&1
fi
if [ ! -e "$root" ]; then
	echo "1..0 # SKIP no node, npm, or network for $package"
	exit
fi
plan 17
trap '[ -z "$server" ] || kill "$server"; rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
umask 022
port=$(free_port)
mkdir spools
printf '%s\n' "spool = $scratch/spools/0/spool" "machine = m0" "otlp = http://127.0.0.1:$port" > conf

# collector ANSWER...: from now on another one
collector()
{
	[ -z "$server" ] || { kill "$server"; wait "$server" 2> /dev/null; }
	rm -f got
	node "$here/otlp-collector.js" "$root" "$port" "$@" > got 2> got.err &
	server=$!
	for _ in {1..100}; do
		grep -q ready got && return
		sleep 0.1
	done
	echo "# no collector"
}

# forward: all that is in the spool
forward()
{
	timeout 60 "$program" forward --config conf --to otlp --once > out 2> err
}

# judge NAME EXPRESSION: of the requests r, of all their records a, and of the row of the cursor c
judge()
{
	python3 - "$2" <<- 'END'
		import json, sqlite3, sys
		r = [json.loads(line) for line in open("got")][1:]
		a = [one for request in r for one in request.get("records", [])]
		db = sqlite3.connect("spools/0/spool")
		db.row_factory = sqlite3.Row
		c = dict(db.execute("SELECT * FROM forwards WHERE name = 'otlp'").fetchone())
		def of(record, key="attributes"):
		    return {x["key"]: next(iter(x["value"].values()), None) for x in record[key]}
		good = eval("(" + sys.argv[1] + ")")
		if not good:
		    print("#", c)
		    for one in r[:3]:
		        print("#", str(one)[:1500])
		sys.exit(not good)
	END
	ok $? "$1"
}

# 70: each fifth was folded into others, each seventh is silenced.
collector 200
"$make_spool" spools 1 70 0
forward
ok $? "all is passed on"
judge "by POST to /v1/logs, as JSON" \
	'r and all(x["url"] == "/v1/logs" and x["method"] == "POST" and x["type"] == "application/json" for x in r)'
judge "the protocol's own messages can hold all of it" 'a and all("problem" not in x for x in r)'
judge "those that are in the journal are passed on, the others are left out" \
	'len(a) == 48 == c["passed"] and c["left_out"] == 22 and not c["refused"]'
judge "the resource is the program on this machine" \
	'a and all(of(x, "resource") | {"host.name": ""} == {"service.name": "made", "host.name": "", "host.id": "m0",
	 "os.type": "linux"} and of(x, "resource")["host.name"] for x in a) and a[0]["scope"]["name"] == "perfguard"'
judge "each has its time, its text and its severity" \
	'a and all(int(x["timeUnixNano"]) <= int(x["observedTimeUnixNano"]) and x["body"]["stringValue"].startswith("made: ")
	 and (x["severityNumber"], x["severityText"]) == ((9, "INFO") if x["eventName"] in
	 ("perfguard.ended", "perfguard.novel") else (13, "WARN")) for x in a)'
judge "and the key of its JSON as its own" 'len({of(x)["log.record.uid"] for x in a}) == len(a) and
	all(of(x)["log.record.uid"] == of(x)["perfguard.key"] for x in a)'
judge "what the alert has is there, by the conventions or as its own" \
	'(lambda x: x["process.executable.path"] == "/usr/sbin/made" and x["process.pid"] == "1000" and
	 x["perfguard.share"] == 0.25 and x["perfguard.elapsed_ns"] == "12345678" and x["perfguard.is_made"] is True
	 and x["process.executable.build_id.gnu"] == "0123456789abcdef")(of(a[0]))
	 and all("process.pid" in of(x) for x in a)'

# Answers.
collector 503:2 429 502 504 200
"$make_spool" spools 1 10 0
forward
judge "503, 429, 502 and 504 are tried again" \
	'a and [x["answer"] for x in r] == ["503:2", "429", "502", "504", "200"] and c["retries"] == 4'
judge "not before Retry-After" '2 <= r[1]["at"] - r[0]["at"] < 5'
judge "with the same records" 'all(x["records"][0]["timeUnixNano"] == a[0]["timeUnixNano"] for x in r)'
passed=$(python3 -c 'import sqlite3; print(*sqlite3.connect("spools/0/spool").execute("SELECT passed FROM forwards").fetchone())')
collector 400 200
"$make_spool" spools 1 300 0
forward
judge "400 is not: they are refused and counted, and those behind them pass" \
	"len(r) == 2 and c['refused'] == len(r[0]['records']) and c['passed'] - $passed == len(r[1]['records'])"
grep -q 'alerts were refused, and are not sent again: HTTP status 400: {"message":"answer 400"}' err
ok $? "with what was answered"
refused=$(python3 -c 'import sqlite3; print(*sqlite3.connect("spools/0/spool").execute("SELECT refused FROM forwards").fetchone())')
collector partial:3
"$make_spool" spools 1 10 0
forward
judge "of a partial success the rejected ones are counted, and it is not sent again" \
	"len(r) == 1 and c['refused'] == $refused + 3 and c['state'] == 'no room'"

# A file of headers; no collector; bytes that are no text.
kill "$server"
wait "$server" 2> /dev/null
server=
printf '# secret\nX-Token: abc\n' > headers
echo "otlp-headers = $scratch/headers" >> conf
python3 - <<- 'END'
	import sqlite3
	db = sqlite3.connect("spools/0/spool")
	db.execute("INSERT INTO alerts(load, seq, time_ns, at_ns, kind, exe, json, text, silenced)"
	           " VALUES('b/7', 1, 1, 1, 'late', CAST(x'2f61ff62' AS TEXT), '{\"kind\":\"late\"}', CAST(x'c3fe21' AS TEXT), 0)")
	db.commit()
END
"$program" forward --config conf --to otlp --once > out 2> err &
pid=$!
sleep 2
grep -q "otlp: .*; it is tried again" err
ok $? "without a collector it tries again"
collector 200
wait "$pid"
judge "headers of a file are sent" 'len(r) == 1 and r[0]["token"] == "abc"'
judge "names that are no UTF-8 are made so" \
	'"problem" not in r[0] and of(a[0], "resource")["service.name"] == "a?b" and a[0]["body"]["stringValue"] == "??!"'
finish
