#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What pg-collect export makes of lines of JSON, by the definitions of the formats; the programs
# that read them are asked by tests/consumers/export.t.

# shellcheck source-path=SCRIPTDIR source=tap.sh
. "${0%/*}/tap.sh"

plan 21

here=$(cd "${0%/*}" && pwd)
cd "$scratch" || exit 1
cat > late.json <<- 'END'
	{"kind":"late","seq":7,"time":"2026-01-02T03:04:05.100Z","pid":41,"tid":42,"comm":"worker","unit":9,"exe":"/usr/sbin/exampled","type":2,"type_name":"serve_api","part":"own","threshold_ns":1000000,"elapsed_ns":20000000,"time_ns":{"cpu":19000000,"runqueue":1000000,"blocked":0,"stopped":0},"stacks":[{"at_ns":5019000000,"into_ns":19000000,"state":"running","frames":[{"module":"/usr/sbin/exampled","build_id":"aa","offset":100,"function":"slow;here","function_offset":4},{"module":"/usr/sbin/exampled","build_id":"aa","offset":4096,"start":4090}]}]}
	{"kind":"ended","seq":8,"time":"2026-01-02T03:04:06.100Z","pid":41,"tid":42,"comm":"worker","unit":9,"exe":"/usr/sbin/exampled","type":2,"type_name":"serve_api","part":"own","threshold_ns":1000000,"elapsed_ns":1020000000,"time_ns":{"cpu":1019000000,"runqueue":1000000,"blocked":0,"stopped":0},"stacks":[{"at_ns":5519000000,"into_ns":519000000,"state":"blocked","syscall":"futex","frames":[{"module":"/lib/libc.so.6","offset":16,"function":"wait\u001b[31m","function_offset":4},{"module":"/usr/sbin/exampled","build_id":"aa","offset":4096,"start":4090}]}]}
	{"kind":"request","seq":9,"time":"2026-01-02T03:04:07Z","begin":"2026-01-02T03:04:06Z","state":"answered","exe":"/usr/sbin/exampled","comm":"worker","pid":41,"tid":42,"client":"10.0.0.1:999","peer":"10.0.0.2:5","cause":"waiting for 10.0.0.2:5","threshold_ns":100000000,"part":"peers","part_ns":990000000,"time_ns":{"elapsed":1000000000,"queued":1000000,"units":9000000,"handed":0,"peers":990000000,"timer":0,"between":0,"runqueue":0}}
	{"kind":"lost","seq":10,"time":"2026-01-02T03:04:08Z","lost":3}
	{"kind":"late","seq":11
END

# export_to FORMAT NAME: into out.FORMAT.
export_to()
{
	run export --format "$1" -o "out.$1" late.json
	[ "$code" = 0 ] && [ ! -s out ] && [ "$(cat err)" = "pg-collect: warning: 1 of 5 lines of late.json could not be read" ] &&
		[ "$(stat -c %a "out.$1")" = 600 ]
	ok $? "$2"
}

export_to folded "folded stacks, that nobody else can read"
diff out.folded - > difference <<- 'END'
	exampled;late request;waiting for 10.0.0.2:5 1000000000
	exampled;type 2 (serve_api);exampled+0xffa;slow:here 500000000
	exampled;type 2 (serve_api);exampled+0xffa;wait?[31m;futex_[k] 501000000
END
ok $? "a line each, with the time that it stands for"
sed 's/^/# /' difference

export_to pprof "a profile of pprof"
# facts EXPRESSION NAME: of the profile p, decoded by its numbers, that is true.
facts()
{
	python3 - out.pprof "$1" <<- 'END'
		import gzip, sys
		def varint(data, at):
		    value = shift = 0
		    while True:
		        value |= (data[at] & 127) << shift
		        shift += 7
		        at += 1
		        if data[at - 1] < 128:
		            return value, at
		def decode(data):
		    fields, at = {}, 0
		    while at < len(data):
		        key, at = varint(data, at)
		        value, at = varint(data, at)
		        if key & 7 == 2:
		            value, at = data[at:at + value], at + value
		        fields.setdefault(key >> 3, []).append(value)
		    return fields
		p = decode(gzip.open(sys.argv[1]).read())
		text = [one.decode() for one in p[6]]
		types = [[text[one] for key in (1, 2) for one in decode(kind)[key]] for kind in p[1]]
		functions = {decode(one)[1][0]: text[decode(one)[2][0]] for one in p[5]}
		places = {decode(one)[1][0]: functions[decode(decode(one)[4][0])[1][0]] for one in p[4]}
		samples = []
		for one in map(decode, p[2]):
		    labels = {text[decode(label)[1][0]]: text[decode(label)[2][0]] if 2 in decode(label)
		              else decode(label)[3][0] for label in one[3]}
		    samples.append(([places[at] for at in one[1]],
		                    [0 if value == b"\0" else value for value in one[2]], labels))
		sys.exit(not eval("(" + sys.argv[2] + ")"))
	END
	ok $? "$2"
}
facts 'text[0] == "" and types == [["late", "count"], ["time", "nanoseconds"]] and text[p[14][0]] == "time"' \
	"with its sample types"
facts '[one[:2] for one in samples] == [(["slow;here", "exampled+0xffa"], [0, 500000000]),
	(["futex", "wait?[31m", "exampled+0xffa"], [1, 501000000]), (["waiting for 10.0.0.2:5"], [1, 1000000000])]' \
	"a unit is counted once, where most of its time went"
facts 'samples[0][2] == {"kind": "late unit", "program": "exampled", "type": "type 2 (serve_api)",
	"thread": "worker", "pid": 41}' "and has labels"
facts 'p[9] == [1767323045080000000] and p[10] == [1920000000] and len(p[3]) == 2 and
	[text[decode(one)[5][0]] for one in p[3]] == ["/usr/sbin/exampled", "/lib/libc.so.6"]' \
	"and when it was, and in which files"

export_to perfetto "a trace"
# traced EXPRESSION NAME: of the trace t, and its events by phase, that is true.
traced()
{
	python3 - out.perfetto "$1" <<- 'END'
		import json, sys
		t = json.load(open(sys.argv[1]))
		events = {}
		for one in t["traceEvents"]:
		    events.setdefault(one["ph"], []).append(one)
		at = {name: [(one["name"], one["ts"]) for one in events.get(name, [])] for name in "BEbei"}
		sys.exit(not eval("(" + sys.argv[2] + ")"))
	END
	ok $? "$2"
}
traced '[(one["name"], one["args"]["name"], one["pid"], one["tid"]) for one in events["M"]] ==
	[("process_name", "exampled", 41, 41), ("thread_name", "worker", 41, 42)]' "processes and threads have names"
traced 'at["B"] == [("late unit: exampled+0xffa", 0), ("sum: cpu", 0), ("sum: runqueue", 1019000)] and
	at["E"] == [("sum: cpu", 1019000), ("sum: runqueue", 1020000), ("late unit: exampled+0xffa", 1020000)] and
	all(one["tid"] == 42 for one in events["B"])' "a unit is a slice with its parts"
traced 'at["b"] == [("late request: waiting for 10.0.0.2:5", 920000), ("sum: queued", 920000),
	("sum: units", 921000), ("sum: peers", 930000)] and len({one["id"] for one in events["b"]}) == 1 and
	at["e"][-1] == ("late request: waiting for 10.0.0.2:5", 1920000)' "a request is asynchronous"
traced 'at["i"] == [("slow;here", 19000), ("wait?[31m", 519000)] and
	events["i"][0]["args"]["stack"] == "slow;here < exampled+0xffa"' "stacks are where they were taken"
traced 'events["B"][0]["args"]["limit_ns"] == 1000000 and t["otherData"]["begin"] == "2026-01-02T03:04:05.080000000Z"' \
	"and all is said of it"

# The same numbers on two machines, and after a boot of one of them.
for machine in a/1 b/2 a/3; do
	sed -n "1s,\"kind\":\"late\",&\,\"host\":\"${machine%/*}\"\,\"boot_id\":\"${machine#*/}\"\,\"incident\":\"${machine#*/}/unit/41/42/9\",p" late.json
done > machines.json
"$program" export --format perfetto -o out.perfetto machines.json
traced '[(one["args"]["name"], one["pid"] - 41, one["tid"] - one["pid"]) for one in events["M"]] ==
	[(name, place << 22, thread) for place, host in enumerate("aba")
	 for name, thread in ((f"exampled on {host}", 0), ("worker", 1))] and
	[one["args"]["pid"] for one in events["B"] if "pid" in one.get("args", {})] == 3 * [41]' \
	"processes of several machines and boots have tracks of their own"

"${PYTHON:-python3}" - "$here/../page/made-alerts.py" <<- 'END'
	import os, sys
	os.dup2(os.open("made.json", os.O_WRONLY | os.O_CREAT), 1)
	os.execv(sys.executable, [sys.executable, "-B", sys.argv[1], "300"])
END
for format in folded pprof perfetto; do
	"$program" export --format $format -o made.$format made.json || echo failed
done > said
[ ! -s said ] && [ "$(wc -l < made.folded)" -gt 100 ] && python3 -m json.tool made.perfetto > made &&
	python3 -c 'import gzip; gzip.open("made.pprof").read()'
ok $? "many"
refused 2 "give the format" "no format" export -o x late.json
refused 2 "--format is folded or pprof or perfetto|--format is folded, pprof or perfetto" "another format" \
	export --format svg -o x late.json
refused 2 "give the file to write" "no output" export --format folded late.json
refused 2 "give one file of JSON" "no input" export --format folded -o x
refused 1 "has no line of JSON" "a file of something else" export --format pprof -o x /bin/sh
[ ! -e x ]
ok $? "and then nothing is written"
finish
