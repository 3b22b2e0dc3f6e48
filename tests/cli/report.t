#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The page that pg-collect report makes of lines of JSON.

# shellcheck source-path=SCRIPTDIR source=tap.sh
. "${0%/*}/tap.sh"

plan 29

make_profile=${MAKE_PROFILE:-$(cd "${0%/*}/../.." && pwd)/${BUILD:-build}/tests/unit/make-profile}
cd "$scratch" || exit 1

cat > late.json <<- 'END'
	{"kind":"late","seq":7,"time":"2026-01-02T03:04:05.100Z","pid":41,"tid":42,"comm":"worker","unit":9,"exe":"/usr/sbin/exampled","type":2,"type_name":"serve_api","confidence":0.99,"part":"own","threshold_ns":1000000,"elapsed_ns":20000000,"time_ns":{"cpu":19000000,"runqueue":1000000,"blocked":0,"stopped":0},"stacks":[{"at_ns":1000,"into_ns":19000000,"state":"running","frames":[{"module":"/usr/sbin/exampled","offset":100,"function":"slow_here","function_offset":4}]}]}
	{"kind":"ended","seq":8,"time":"2026-01-02T03:04:06.100Z","pid":41,"tid":42,"comm":"worker","unit":9,"exe":"/usr/sbin/exampled","type":2,"type_name":"serve_api","part":"own","threshold_ns":1000000,"elapsed_ns":1020000000,"time_ns":{"cpu":1019000000,"runqueue":1000000,"blocked":0,"stopped":0},"stacks":[],"hot_path":[{"module":"/usr/sbin/exampled","offset":96,"function":"slow_here","share":1.0}],"functions":[{"module":"/usr/sbin/exampled","offset":96,"function":"slow_here","own":1.0,"total":1.0}],"reason":{"text":"computed 1.02 s, where this type computes 1.20 ms","usual_ns":1200000,"parts":[]}}
	{"kind":"repeated","seq":7,"time":"2026-01-02T03:04:16Z","count":4,"elapsed_ns":{"min":10000000,"max":30000000,"running":0}}
	{"kind":"request","seq":9,"time":"2026-01-02T03:04:07Z","begin":"2026-01-02T03:04:06Z","state":"answered","exe":"/usr/sbin/exampled","comm":"worker","pid":41,"tid":42,"client":"10.0.0.1:999","peer":"10.0.0.2:5","cause":"waiting for 10.0.0.2:5","threshold_ns":100000000,"part":"peers","part_ns":990000000,"time_ns":{"elapsed":1000000000,"queued":1000000,"units":9000000,"handed":0,"peers":990000000,"between":0},"there":{"comm":"other","pid":5,"tid":6,"cause":"in its own units","function":"slow_there"}}
	{"kind":"lost","seq":10,"time":"2026-01-02T03:04:08Z","lost":3}
	{"kind":"late","seq":11
END

# facts EXPRESSION NAME: of page.html, well nested, that is true; text, links and elements are there.
facts()
{
	python3 - page.html "$1" <<- 'END'
		import html.parser, sys
		VOID = {"meta", "br", "col"}
		CLOSED_BY_OTHERS = {"td", "th", "tr", "li", "dt", "dd"}
		class Page(html.parser.HTMLParser):
		    def __init__(self):
		        super().__init__()
		        self.open, self.text, self.ids, self.links, self.tags = [], "", [], [], {}
		        self.outside = []
		    def handle_starttag(self, tag, attributes):
		        self.handle_startendtag(tag, attributes)
		        if tag not in VOID | CLOSED_BY_OTHERS:
		            self.open.append(tag)
		    def handle_startendtag(self, tag, attributes):
		        attributes = dict(attributes)
		        self.tags[tag] = self.tags.get(tag, 0) + 1
		        self.ids += [attributes["id"]] if "id" in attributes else []
		        self.links += [attributes["href"]] if "href" in attributes else []
		        self.outside += [name for name in attributes if name.startswith("on") or name == "src"]
		    def handle_endtag(self, tag):
		        if tag not in CLOSED_BY_OTHERS:
		            assert self.open.pop() == tag, (tag, self.open)
		    def handle_data(self, data):
		        self.text += data if self.open and self.open[-1] != "style" else ""
		page = Page()
		raw = open(sys.argv[1], encoding="utf-8").read()
		page.feed(raw)
		assert not page.open, page.open
		text = " ".join(page.text.split())
		sys.exit(not eval("(" + sys.argv[2] + ")"))
	END
	ok $? "$2"
}

run report -o page.html late.json
[ "$code" = 0 ] && [ ! -s out ] && [ "$(cat err)" = "pg-collect: warning: 1 of 6 lines of late.json could not be read" ]
ok $? "a page is made, and a line that is cut short is reported"
[ "$(stat -c %a page.html)" = 600 ]
ok $? "readable by its owner: it has names and addresses"
facts '"exampled: what was slow" in text and "2026-01-02 03:04:05.080" in text and "UTC" in text' \
	"with the program and the span of time"
facts '"late units 5" in text and "late request 1" in text and "3 alerts were lost" in text and
	"1 lines could not be read" in text' "how many were late, lost and broken"
facts '"slow_here" in text and "1019 times its limit" in text.replace(",", "") and "1.20 ms" in text and
	"computed 1.02 s, where this type computes 1.20 ms" in text and "type 2 (serve_api)" in text' \
	"of a unit its place, limit and why"
facts '"4 of them were reported by their number only" in text' "and how many were folded into it"
facts '"waiting for 10.0.0.2:5" in text and "other[5/6] has it" in text and "slow_there" in text and
	"990 ms" in text' "of a request for whom it waits, and who has it there"
facts 'page.tags["svg"] >= 4 and "03:04:06" in text and "100 ms" in text' "with pictures"
facts 'set(page.links) and all(link[0] == "#" and (link[1:] in page.ids) for link in page.links)
	and not page.outside and not {"script", "img", "link", "iframe"} & set(page.tags)' \
	"it refers to nothing but itself, and has no scripts"
facts '"default-src '"'none'"'" in raw and "prefers-color-scheme:dark" in raw and
	"lang=en" in raw and page.tags["h1"] == 1 and page.tags["caption"] == page.tags["table"]' \
	"it has a language, a heading, captions, and colours for the dark"
TZ=CET-1 run report -o page.html late.json
facts '"as (04:04:05 CET) for the first" in text and "2026-01-02 03:04:05.080 (04:04:05 CET)" in text' \
	"and what the clock showed where it was made"
"$make_profile" example example.pgp
run report --profile example.pgp -o page.html - 
[ "$code" = 0 ] && facts '"Nothing was late." in text and "Types of units" in text and "json_string" in text and
	"4.14 ms" in text' "types of a profile, and no lines at all on standard input"
"$make_profile" names names.pgp
run report --profile names.pgp -o page.html late.json
facts '"?[31m" in raw and all(c.isprintable() or c == "\n" for c in raw)' "names that are no text are shown as such"
"$make_profile" spool late.spool < late.json
run report -o spooled.html late.spool
[ "$code" = 0 ] && grep -q "1 of 6 lines of late.spool could not be read" err
ok $? "a spool is recognised"
run report -o page.html late.json
cmp -s page.html spooled.html
ok $? "and makes the same page"
! grep -q "made room in the spool" page.html && "$make_profile" spool full.spool 4 < late.json
run report -o page.html full.spool
facts '"older alerts are not here any more: they made room in the spool" in text and "2 older" in text' \
	"it says how many the spool dropped"
head -c 4000 late.spool > damaged.spool
refused 1 "damaged.spool" "one that is damaged is refused" report -o x.html damaged.spool
refused 2 "leave out --profile" "live has types of its own" report --profile example.pgp -o x.html live
if [ -e /sys/module/perfguard ]; then
	skip "the module is loaded"
else
	refused 3 "module is not loaded|/dev/perfguard|kernel .* is too old" "live without the module" report -o x.html live
fi
refused 2 "give the file to write: -o FILE" "no output" report late.json
refused 2 "give one file of JSON" "no input" report -o page.html
refused 1 "cannot open nothing.json: No such file" "an input that is not there" report -o page.html nothing.json
refused 1 "page.html is not a profile" "a profile that is none" report --profile page.html -o new.html late.json
refused 1 "cannot write .*no-such-directory" "an output that cannot be written, before the work" \
	report -o /no-such-directory/page.html late.json
refused 1 "has no line of JSON" "a file of something else" report -o new.html /bin/sh
refused 1 "is not a spool" "a profile is no spool" report -o new.html example.pgp
[ ! -e new.html ]
ok $? "and then no page is left"

# on_terminal ARG...: pg-collect, with a terminal for its messages, which go to err with their seconds
on_terminal()
{
	python3 - "$program" "$@" <<- 'END' > err
		import os, pty, subprocess, sys, time
		ours, its = pty.openpty()
		begin = time.monotonic()
		started = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stderr=its)
		os.close(its)
		lines = b""
		while time.monotonic() < begin + 2.5:
		    time.sleep(0.1)
		    os.set_blocking(ours, False)
		    try:
		        lines += b"%.1f " % (time.monotonic() - begin) + os.read(ours, 4096)
		    except BlockingIOError:
		        pass
		started.stdin.write(open("late.json", "rb").read())
		started.stdin.close()
		started.wait()
		print(lines.decode().replace("\r", ""))
	END
}

# Two seconds are the longest silence where somebody looks.
for words in "report -o slow.html" "export --format folded -o slow.folded"; do
	# shellcheck disable=SC2086 # these are words
	on_terminal $words -
	grep -qE '^(0|1)\.[0-9] pg-collect: reading the alerts: [12] s' err
	ok $? "${words%% *} says that it waits for its input"
	sed 's/^/# /' err
done
finish
