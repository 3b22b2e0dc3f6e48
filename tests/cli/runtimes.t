#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What is said of a program by its file alone: of programs that are made here, and of
# those of Debian that are installed.

# shellcheck source-path=SCRIPTDIR source=tap.sh
. "${0%/*}/tap.sh"

plan 23

cd "$scratch" || exit 1

# says CODE PATTERN NAME FILE: check --static exits so, and prints a line that matches.
says()
{
	run check --static -e "$4"
	[ "$code" = "$1" ] && [ ! -s err ] && grep -qE -- "$2" out && ok 0 "$3" && return
	ok 1 "$3"
	sed 's/^/# /' out err
}

# silent NAME FILE: it says nothing of a runtime.
silent()
{
	run check --static -e "$2"
	[ "$code" = 0 ] && grep -q "^ok *functions" out && ! grep -q "runtime" out
	ok $? "$1"
}

# installed PATTERN NAME FILE: the same as says 0 of a file that may not be there.
installed()
{
	if [ -x "$3" ]; then
		says 0 "$1" "$2" "$3"
	else
		skip "$2: it is not installed"
	fi
}

echo 'int Py_RunMain(void) { return 0; } int main(void) { return Py_RunMain(); }' > python.c
gcc -O1 -fno-inline -rdynamic -s -o exports python.c
echo 'int Py_RunMain(void) { return 0; }' | gcc -shared -fPIC -o libruns.so -x c -
echo 'int Py_RunMain(void); int main(void) { return Py_RunMain(); }' |
	gcc -o imports -x c - -L. -lruns
echo 'int main(void) { return "JNI_CreateJavaVM"[0]; }' | gcc -o plain -x c -
strip -o stripped plain
echo 'void _start(void) { for (;;); }' |
	gcc -static -nostdlib -fno-asynchronous-unwind-tables -o bare -x c -
echo 'int main(void) { return 0; }' | gcc -static -o static -x c -

says 0 '^note *runtime *CPython: .*functions' "an interpreter is known by what it exports" ./exports
says 0 '^note *runtime *CPython:' "or imports" ./imports
silent "a text in a program makes no runtime" ./plain
says 0 '^ok *functions .*; [1-9][0-9]* have names' "names are counted" ./plain
says 0 '^ok *functions .*they have no names' "of a stripped program there are none" ./stripped
says 3 '^bad *functions *none is known' "a program without unwind table" ./bare
says 0 '^note *linking *static' "a static program" ./static
printf '\177ELF\1\1\1\0\0\0\0\0\0\0\0\0\2\0\3\0\1\0\0\0' > small
head -c 100 /dev/zero >> small
refused 1 "./small is .*program" "a 32-bit program is refused" check --static -e ./small
refused 2 "check: --static is of a program" "no program is a mistake" check --static
refused 2 "check: --inline is of a program" "nor of what would be jumps" check --inline
run check --inline -e ./exports
[ "$code" = 0 ] && grep -qE '^ok +inline +exports: [0-9,]+ of [0-9,]+ functions by jumps' out
ok $? "how many functions would be recorded by jumps"
run check --inline --json -e ./exports
[ "$code" = 0 ] && grep '"subject":"inline"' out | head -1 | python3 -c '
import json, sys
p = json.loads(sys.stdin.readline())
sys.exit(p["kind"] != "finding" or p["verdict"] != "ok")'
ok $? "also as JSON"
run check --static --json -e ./exports
[ "$code" = 0 ] && head -1 out | python3 -c '
import json, sys
p = json.loads(sys.stdin.readline())
sys.exit(p["kind"] != "finding" or p["subject"] != "functions" or p["verdict"] != "ok")'
ok $? "and as JSON"
python3 -c 'import time; time.sleep(20)' &
python=$!
for _ in {1..40}; do # it may be started by a script
	run check --static -p "$python"
	grep -q 'runtime *CPython' out && break
	sleep 0.1
done
grep -q 'runtime *CPython' out
ok $? "a process of which the interpreter may be a library"
kill "$python"
wait "$python" 2> /dev/null
refused 1 "no process 4194305|no process" "a process that is not there" check --static -p 4194303

installed 'runtime *CPython' "python3" /usr/bin/python3
installed 'runtime *Perl' "perl" /usr/bin/perl
installed 'runtime *V8' "node" /usr/bin/node
installed 'runtime *a Java VM' "java" /usr/bin/java
installed 'runtime *PHP' "php" /usr/bin/php
installed 'linking *static' "busybox" /usr/bin/busybox
if [ -x /usr/sbin/nginx ]; then
	silent "nginx" /usr/sbin/nginx
else
	skip "nginx is not installed"
fi
go=$(find /usr/bin/prometheus* /usr/bin/docker* /usr/bin/go -maxdepth 0 2> /dev/null | head -1)
if [ -n "$go" ]; then
	says 3 "Go's own table" "a Go program" "$go"
else
	skip "no Go program is installed"
fi

finish
