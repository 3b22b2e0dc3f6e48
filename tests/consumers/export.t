#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What pg-collect export writes, opened by those who read it: 'go tool pprof' of Debian, and
# Speedscope of the npm registry in Debian's chromium, which reads all three formats and shows the
# functions in a table.  Perfetto itself is in no package of either; that what it needs of the Trace
# Event Format holds is asked of each event: phases, times in order, begins and ends in pairs.

# shellcheck source-path=SCRIPTDIR source=../cli/tap.sh
. "${0%/*}/../cli/tap.sh"

here=$(cd "${0%/*}" && pwd)
cache=${PERFGUARD_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/perfguard}/speedscope
release=$cache/node_modules/speedscope/dist/release

plan 14
cd "$scratch" || exit 1
python3 -B "$here/../page/made-alerts.py" 300 > late.json
for format in folded pprof perfetto; do
	run export --format $format -o late.$format late.json
	[ "$code" = 0 ] && [ -s late.$format ]
	ok $? "$format is written"
done
cp late.folded late.folded.txt
cp late.perfetto late.trace.json
cp late.pprof late.pb.gz

if [ -n "$(command -v go)" ]; then
	timeout 60 go tool pprof -raw late.pprof > raw 2> err
	[ "$(grep -c 'kind:\[late' raw)" -gt 100 ] && grep -q '^ *late/count time/nanoseconds\[dflt\]' raw &&
		grep -q 'made 5f1c06f1 *\[FN\]' raw
	ok $? "pprof reads samples, their types, labels and files"
	# All time that the folded stacks have is there.
	timeout 60 go tool pprof -top -unit=ns -nodecount=5000 -nodefraction=0 late.pprof > top 2> err
	total=$(awk '{ n += $NF } END { printf "%.0f", n }' late.folded)
	grep -qE "Total samples = ${total}ns|Showing nodes accounting for ${total}ns" top
	ok $? "and sums up the same time: $total ns"
	timeout 60 go tool pprof -sample_index=late -top late.pprof > top 2> err
	grep -q '^Type: late' top && grep -q 'leaf_' top
	ok $? "and counts late units by function"
	timeout 60 go tool pprof -tagfocus='type=type 1 ' -top late.pprof > top 2> err
	grep -q 'serve_0' top && ! grep -q 'serve_1$' top
	ok $? "and selects a type"
else
	for i in 1 2 3 4; do
		skip "no go: scripts/setup --consumers ($i)"
	done
fi

# show FILE PATTERN NAME: Speedscope shows functions that match in its table, and complains of nothing.
show()
{
	timeout 100 chromium --headless --no-sandbox --disable-gpu --use-gl=angle --use-angle=swiftshader \
		--enable-unsafe-swiftshader --user-data-dir="$scratch/user" --enable-logging=stderr \
		--virtual-time-budget=10000 --dump-dom \
		"http://127.0.0.1:$port/index.html#profileURL=http://127.0.0.1:$port/$1&view=sandwich" > dom 2> log
	grep ':CONSOLE' log | grep -E 'Tried to|Error|rror:|arning' > console
	grep -q "<title>$1 - speedscope" dom && [ "$(grep -oE "$2" dom | sort -u | wc -l)" -ge 5 ] && [ ! -s console ]
	ok $? "$3"
	head -3 console | sed 's/^/# /'
}

if [ ! -d "$release" ] && [ -n "$(command -v npm)" ]; then
	mkdir -p "$cache"
	(cd "$cache" && timeout 200 npm install --silent --no-audit --ignore-scripts speedscope@1.25.0) > log 2>&1
fi
if [ -d "$release" ] && [ -n "$(command -v chromium)" ]; then
	cp -r "$release" site
	cp late.folded.txt late.trace.json late.pb.gz site/
	python3 -u -m http.server 0 --bind 127.0.0.1 --directory site > served 2> /dev/null &
	server=$!
	for _ in $(seq 100); do
		port=$(sed -n 's/.* port \([0-9]*\) .*/\1/p' served)
		[ -z "$port" ] || break
		sleep 0.1
	done
	show late.folded.txt 'leaf_[0-9]_of_[0-9]+' "Speedscope shows folded stacks"
	show late.pb.gz 'leaf_[0-9]_of_[0-9]+' "and what pprof reads"
	show late.trace.json 'late unit: leaf_[0-9]_of_[0-9]+' "and the trace, whose slices end as they began"
	kill "$server"
else
	for i in 1 2 3; do
		skip "no Speedscope, or no chromium: scripts/setup --consumers ($i)"
	done
fi

# trace EXPRESSION NAME: that is true of the trace's events.
trace()
{
	python3 - late.trace.json "$1" <<- 'END'
		import collections, json, sys
		events = json.load(open(sys.argv[1]))["traceEvents"]
		timed = [one for one in events if one["ph"] != "M"]
		def nested(phases, track):
		    """Begins and ends of a track are in pairs, in order of time; how many there are."""
		    tracks = collections.defaultdict(list)
		    for one in timed:
		        if one["ph"] in phases:
		            tracks[track(one)].append(one)
		    count = 0
		    for of in tracks.values():
		        open_ = []
		        for one in sorted(of, key=lambda one: one["ts"]):
		            if one["ph"] == phases[0]:
		                open_.append(one["name"])
		                count += 1
		            elif not open_ or open_.pop() != one["name"]:
		                return 0
		        if open_:
		            return 0
		    return count
		sys.exit(not eval("(" + sys.argv[2] + ")"))
	END
	ok $? "$2"
}
trace 'all(one["ph"] in "MBEbei" and isinstance(one["pid"], int) and isinstance(one["tid"], int) and
	isinstance(one["name"], str) for one in events) and all(one["ts"] >= 0 and one["cat"] for one in timed)' \
	"each event has a phase, a process, a thread, a name and a time"
trace 'nested("BE", lambda one: (one["pid"], one["tid"])) > 300' "slices of a thread are nested"
trace 'nested("be", lambda one: (one["cat"], one["id"])) > 100' "and those of a request"
trace '{(one["pid"], one["tid"]) for one in timed if one["ph"] in "BE"} <=
	{(one["pid"], one["tid"]) for one in events if one["ph"] == "M" and one["name"] == "thread_name"}' \
	"threads have names"
finish
