#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What pg-collect show prints of a profile, and that a save leaves a whole one
# behind, whatever happens to it.

# shellcheck source-path=SCRIPTDIR source=tap.sh
. "${0%/*}/tap.sh"

plan 48

make_profile=${MAKE_PROFILE:-$(cd "${0%/*}/../.." && pwd)/${BUILD:-build}/tests/unit/make-profile}
cd "$scratch" || exit 1

# shows NAME PATTERN...: the output of the run before has a line like each.
shows()
{
	local name=$1 pattern

	shift
	for pattern in "$@"; do
		if ! grep -qE -- "$pattern" "$scratch/out"; then
			ok 1 "$name"
			echo "# no line like: $pattern"
			sed 's/^/# /' "$scratch/out"
			return
		fi
	done
	ok 0 "$name"
}

# columns MAX NAME: no line of the output is longer.
columns()
{
	local longest
	longest=$(awk '{ if (length > n) n = length } END { print n + 0 }' "$scratch/out")
	[ "$longest" -gt 0 ] && [ "$longest" -le "$1" ]
	ok $? "$2 ($longest columns)"
}

"$make_profile" example example.pgp && "$make_profile" recorded recorded.pgp &&
	"$make_profile" wide wide.pgp && "$make_profile" random random.pgp 7
ok $? "profiles to show"

run show example.pgp
[ "$code" = 0 ] && [ ! -s err ]
ok $? "a profile is shown"
shows "with the program and how it was trained" '^/usr/sbin/exampled$' \
	'build id +5f1c06f1d2a9f3b6f5b4a7b1d8e3c29a77410e02' \
	'3 runs, the last 2026-01-02 00:00 UTC by pg-collect 0.1' '--duration 60s' 'lost +12 events'
shows "its loops and their boundaries" 'Event loop 1: thread exampled' \
	'epoll_wait that returns to exampled\+0x11d02, 72 bytes up the stack' 'event by +recvfrom that returns to exampled\+0x14377' \
	'186,310, and 214 that were cut off' 'glued +3,120 events that nothing marks' 'futex that returns to libc.so.6\+0x85e1b'
shows "what to expect of the guards" '98.1 % of units at their end, 77.4 % half-way' \
	'7, 1.87 hits a unit \(planned: 2.00\), 14 in the worst' '2.1 % of units have a call tree never' \
	'[0-9.]+ % are novel: they fit no type' 'limit +21.0 ms for units that may be of no type'
shows "types with their thresholds" \
	'^ +2 +10.8 % +46.7 % +1.34 ms +15.1 % +4.14 ms full +15,020 +98.7 %$' \
	'identified by  json_string' 'exampled\+0x18ab0 \(depth 144\)' '3 clusters that the guards cannot distinguish'
shows "what a type still needs" 'needs 950 more timed units' 'no unit of it was timed'
shows "guards and files" '^ +0.900 +1 +990 ns  http_parse_headers$' 'deflate  \(single-stepped\)' \
	'^ +14  /usr/sbin/exampled$' '\(no build id\)'
[ "$(grep -nE '^ +[234] .*%' out | head -1 | grep -cE ' 2 ')" = 1 ]
ok $? "the most costly type comes first"
columns 80 "in 80 columns"
run show --types 1 example.pgp
shows "--types" '\.\.\. 3 more \(--types 4\)'
run show --hits example.pgp
shows "--hits" 'loop 1, depth 48: 1=60 2=67 3=74'
columns 100 "in 100 columns"
run show random.pgp
[ "$code" = 0 ]
ok $? "a profile of random contents"
columns 100 "in 100 columns"
run show recorded.pgp
shows "one before learning" 'nothing was learnt from it yet'

run show --tree 2 example.pgp
shows "a call tree" 'Type 2 of event loop 1 in exampled: 10.8 % of units, 46.7 % of time' \
	'^ +3 \*g   serve_api$' '^ +3  g   http_parse_headers$' '^ +5 +malloc  libc.so.6$'
run show --tree 1 wide.pgp
[ "$code" = 0 ] && [ "$(wc -l < out)" -le 410 ]
ok $? "a large one is cut"
shows "and says so" '\+[0-9]+: calls|\+n: calls below that are not shown' '  \+[0-9]+$'
columns 100 "in 100 columns"
run show --svg 1 wide.pgp
[ "$code" = 0 ] && python3 - out <<- 'END'
	import sys, xml.etree.ElementTree as tree
	root = tree.parse(sys.argv[1]).getroot()
	names = [e for e in root.iter("{http://www.w3.org/2000/svg}text")]
	boxes = [e for e in root.iter("{http://www.w3.org/2000/svg}rect") if e.get("class") == "box"]
	edges = [e for e in root.iter("{http://www.w3.org/2000/svg}path")]
	width, height = float(root.get("width")), float(root.get("height"))
	spots = [[float(b.get(k)) for k in ("x", "y", "width", "height")] for b in boxes]
	inside = all(0 <= x and x + w <= width and 0 <= y and y + h <= height for x, y, w, h in spots)
	apart = not any(a is not b and a[0] < b[0] + b[2] and b[0] < a[0] + a[2] and
	                a[1] < b[1] + b[3] and b[1] < a[1] + a[3] for a in spots for b in spots)
	sys.exit(not (inside and apart and 20 < len(boxes) and len(edges) == len(boxes) - 1
	              and len(names) < 180))
END
ok $? "a picture: well-formed, bounded, no box over another"
run show --dot 2 example.pgp
[ "$code" = 0 ] && [ "$(grep -c -- '->' out)" = 8 ] &&
	{ [ -z "$(command -v dot)" ] || dot -Tsvg out > /dev/null; }
ok $? "a graph for Graphviz"

run show --json example.pgp
is_json 'p["kind"] == "profile" and p["exe"] == "/usr/sbin/exampled" and len(p["types"]) == 6 and
	p["types"][0]["id"] == 2 and p["types"][0]["times"]["nr"] == 15020 and
	p["model"]["false_alarm_rate"] == 0.001 and p["loops"][0]["boundaries"][0]["syscall_name"] == "epoll_wait"' \
	"--json is one object"
run show --json --hits --tree 2 example.pgp
is_json 'p["guards"][0]["contexts"][0]["weights"][0] == {"type": 1, "early": 40, "final": 60} and
	len(p["tree"]["nodes"]) == 15 and p["tree"]["nodes"][0]["parent"] is None' "with hits and a tree"
run show --json recorded.pgp
is_json 'p["types"] == [] and len(p["loops"]) == 2' "and before learning"

refused 2 "give one profile" "no profile" show
refused 2 "give one profile" "two profiles" show example.pgp random.pgp
refused 2 "give one of --tree, --svg and --dot" "two trees" show --tree 1 --svg 1 example.pgp
refused 2 "--json goes with --tree only" "JSON as a picture" show --json --svg 1 example.pgp
refused 1 "has no type 9; it has 1 to 6" "a type that is not there" show --tree 9 example.pgp
refused 1 "nothing was learnt" "a tree before learning" show --tree 1 recorded.pgp
refused 1 "cannot open nothing.pgp: No such file" "a profile that is not there" show nothing.pgp
head -c 5000 example.pgp > cut.pgp
refused 1 "cut.pgp is damaged: it is cut short" "a profile that is cut short" show cut.pgp
refused 1 "/bin/sh is not a profile" "a program" show /bin/sh

# Profiles whose schema is a program: none of it runs.
python3 - <<- 'END'
	import shutil, sqlite3

	# Minutes; a program, as SQLite has no loops here.
	SLOW = " + ".join("length(replace(hex(zeroblob(%d)), '00', '0'))" % (9999000 + i)
	                  for i in range(900)) + " > 0"

	def change(name, *statements):
	    shutil.copy("example.pgp", name)
	    db = sqlite3.connect(name, isolation_level=None)
	    db.execute("PRAGMA writable_schema=ON")
	    for statement in statements:
	        db.execute(statement)
	    db.close()

	def add_check(condition):
	    return ("UPDATE sqlite_schema SET sql = substr(sql, 1, length(sql) - 1) || "
	            "', CHECK(" + condition.replace("'", "''") + "))' WHERE name = 'total'")

	change("constraint.pgp", add_check(SLOW))
	change("statistics.pgp", "INSERT INTO sqlite_schema SELECT 'table', 'sqlite_stat1', "
	       "'sqlite_stat1', rootpage, 'CREATE TABLE sqlite_stat1(tbl, idx, x, y, z, w, stat AS (" +
	       SLOW.replace("'", "''") + "))' FROM sqlite_schema WHERE name = 'guard'")
	change("tables.pgp", "BEGIN", *("CREATE TABLE t%d(%s)" % (i, ", ".join("c%d" % j for j in range(500)))
	       for i in range(2000)), "COMMIT")
	END
tables="it has not the tables of a profile"
for profile in constraint statistics tables; do
	refused 1 "$tables" "a profile with a hostile schema ($profile)" show "$profile.pgp"
done

# Names that command a terminal, if they are printed as they are.
"$make_profile" names names.pgp
shows_plain()
{
	python3 - out err <<- 'END' && [ -s "$2" ]
		import sys, unicodedata
		for name in sys.argv[1:]:
		    text = open(name, "rb").read().decode("utf-8").replace("\n", "").replace("\t", "")
		    bad = {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")}
		    assert not bad, (name, bad)
	END
	ok $? "$1"
}
for options in "" --hits "--tree 2" "--svg 2" "--dot 2" "--json --hits --tree 2"; do
	# shellcheck disable=SC2086
	run show $options names.pgp
	shows_plain "names that command a terminal: show ${options:-as text}" out
done
run show $'/no/\e]0;title\a\u202e\x9b31m'
shows_plain "and in an error message" err

# A save that is killed at any moment leaves the old profile or the new one.
rm -f k.pgp
whole=0
moments=50
"$make_profile" random k.pgp 0
for ((i = 0; i < moments; i++)); do
	"$make_profile" again k.pgp 100000 &
	sleep "0.0$((RANDOM % 90 + 10))"
	kill -KILL $!
	wait $! 2> /dev/null
	"$make_profile" load k.pgp && whole=$((whole + 1))
done 2> killed
[ "$whole" = "$moments" ]
ok $? "kill -9 in $moments saves: the profile is whole ($whole times)"
rests=$(find . -name 'k.pgp.*' | wc -l)
[ "$(find . -name 'k.pgp.*' -perm 600 | wc -l)" = "$rests" ]
ok $? "what they left is readable by its owner only ($rests files)"
rm -f k.pgp.*

# The last one wins.
"$make_profile" again k.pgp 300 2> first &
"$make_profile" again k.pgp 300 2> second
wait
"$make_profile" load k.pgp && [ ! -s first ] &&
	[ ! -s second ] && [ -z "$(compgen -G "k.pgp.*")" ]
ok $? "two savers at once: one of both, whole"

# A disk without room: reported, and the profile that was there stays.
mkdir small
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=400k none small 2> /dev/null; then
	"$make_profile" random small/x.pgp 3 && cp small/x.pgp before.pgp
	code=0
	"$make_profile" large small/x.pgp 2> err || code=$?
	[ "$code" = 1 ] && [ "$(wc -l < err)" = 1 ] &&
		grep -q 'cannot write small/x.pgp: No space left on device' err &&
		cmp small/x.pgp before.pgp && [ "$(ls small)" = x.pgp ]
	ok $? "a full disk: reported in one line, the profile stays, nothing is left"
	umount small
else
	skip "no tmpfs may be mounted"
fi
finish
