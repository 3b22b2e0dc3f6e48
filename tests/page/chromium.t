#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The page of pg-collect report in a browser: by day and by night, on a desk and
# on a phone.  The browser is Debian's chromium; scripts/setup --page installs it.
# The pictures stay in build/page/.

# shellcheck source-path=SCRIPTDIR source=../cli/tap.sh
. "${0%/*}/../cli/tap.sh"

here=$(cd "${0%/*}" && pwd)
make_profile=${MAKE_PROFILE:-$here/../../${BUILD:-build}/tests/unit/make-profile}
pictures=$here/../../build/page
phone=390
desk=1100

if [ -z "$(command -v chromium)" ]; then
	echo "1..0 # SKIP no chromium: scripts/setup --page"
	exit
fi
plan 12
mkdir -p "$pictures"
cd "$scratch" || exit 1

# browse FILE ARG...: what it prints is in out, what the page says on its console in console.
browse()
{
	local file=$1

	shift
	timeout 60 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$scratch/user" \
		--enable-logging=stderr --virtual-time-budget=2000 "$@" "file://$scratch/$file" > out 2> log
	grep -E ':CONSOLE[:(]' log > console
}

# scheme NAME: options for a reader who likes it so.
scheme()
{
	[ "$1" = light ] || echo --blink-settings=preferredColorScheme=0
}

python3 "$here/made-alerts.py" 1000 > alerts.json
"$make_profile" example example.pgp
run report --profile example.pgp -o page.html alerts.json
[ "$code" = 0 ] && [ "$(stat -c %s page.html)" -lt $((500 * 1024)) ]
ok $? "1,000 alerts make a page below 500 KiB ($(stat -c %s page.html) bytes)"

python3 - page.html <<- 'END'
	import re, sys
	page = open(sys.argv[1], encoding="utf-8").read()
	ids = re.findall(r"\bid=(\w+)", page)
	links = set(re.findall(r"<a href=#(\w+)", page))
	sys.exit(len(ids) != len(set(ids)) or len(links) < 50 or bool(links - set(ids)))
END
ok $? "each link leads to something on it"

# Does it notice?
sed 's/<body>/<body><script>console.error("x")<\/script>/' page.html > broken.html
browse broken.html --dump-dom
grep -q 'Content Security Policy' console
ok $? "a script that came into it does not run, and is noticed"

for colours in light dark; do
	for width in "$desk" "$phone"; do
		# A window of this browser is not that narrow; a frame is.
		sed '/http-equiv=Content-Security-Policy/d' page.html > frame.html
		cat "$here/measure.html" >> frame.html
		echo "<!DOCTYPE html><body style='margin:0'><iframe width=$width height=8000 src=frame.html
			style='border:0'></iframe>" > framed.html
		# shellcheck disable=SC2046
		browse framed.html $(scheme "$colours") --window-size="$((width > 500 ? width : 500)),3000" \
			--allow-file-access-from-files --screenshot="$pictures/$colours-$width.png"
		grep -o 'measured .*' log | sed 's/", source.*//' > measured
		python3 - measured "$colours" "$width" <<- 'END'
			import json, sys
			seen = json.loads(open(sys.argv[1]).read().removeprefix("measured "))
			print("#", seen)
			assert seen["width"] == int(sys.argv[3]), "the frame is not that wide"
			assert seen["scroll"] <= seen["width"], "it is wider than the window"
			assert seen["dark"] == (sys.argv[2] == "dark"), "the colours are the others"
			assert seen["contrast"] >= 4.5, "it cannot be read well"
			assert seen["outside"] == 0, "a text is outside of its picture"
		END
		ok $? "$colours, $width pixels wide: as wide as the window, and to be read"
	done
	# shellcheck disable=SC2046
	browse page.html $(scheme "$colours") --dump-dom --window-size="$desk,3000"
	[ ! -s console ] && grep -q 'id="detail"' out && [ "$(grep -c '<details' out)" -ge 20 ]
	ok $? "$colours: nothing on the console"
	sed 's/^/# /' console
done
[ "$(find "$pictures" -name '*.png' -size +20k -newer alerts.json | wc -l)" = 4 ]
ok $? "pictures are in build/page"

: > nothing.json
run report -o nothing.html nothing.json
browse nothing.html --dump-dom
[ "$code" = 0 ] && [ ! -s console ] && grep -q 'Nothing was late' out
ok $? "a page of nothing"
head -n 5 alerts.json | sed 's#/usr/sbin/made#<img src=x onerror=alert(1)>\\"'"'"'>#g' > hostile.json
run report -o hostile.html hostile.json
browse hostile.html --dump-dom
[ "$code" = 0 ] && [ ! -s console ] && ! grep -q '<img' out
ok $? "a page of names that are HTML: no element of them, and nothing on the console"
finish
