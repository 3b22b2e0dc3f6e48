#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What pg-collect says of itself, and to those who use it wrongly.

# shellcheck source-path=SCRIPTDIR source=tap.sh
. "${0%/*}/tap.sh"

verbs="check audit train record learn show diff arm watch top report export status disarm serve forward sync"
plan $((14 + 4 * 17 + 65))

run
[ "$code" = 0 ] && grep -q '^usage: pg-collect' "$scratch/out" && [ ! -s "$scratch/err" ]
ok $? "no arguments: brief usage"
listed=$(sed -nE 's/^  ([a-z]+) .*/\1/p' "$scratch/out" | tr '\n' ' ')
[ "$listed" = "$verbs " ]
ok $? "with the verbs there are"
[ "$(wc -l < "$scratch/out")" = $(($(wc -w <<< "$verbs") + 4)) ]
ok $? "in a line each"
run --help
[ "$code" = 0 ] && grep -q 'Exit status' "$scratch/out" && [ ! -s "$scratch/err" ]
ok $? "--help on stdout"
run --version
[ "$code" = 0 ] && grep -qE '^pg-collect [0-9.]+' "$scratch/out"
ok $? "--version"
run -V
[ "$code" = 0 ] && grep -qE '^pg-collect [0-9.]+' "$scratch/out"
ok $? "-V"
run help
cp "$scratch/out" "$scratch/help"
run --help
[ "$code" = 0 ] && cmp -s "$scratch/help" "$scratch/out"
ok $? "help is --help"
run help audit
cp "$scratch/out" "$scratch/help"
run audit --help
[ "$code" = 0 ] && cmp -s "$scratch/help" "$scratch/out" && [ -s "$scratch/out" ]
ok $? "help of a verb is its --help"
refused 2 "unknown verb 'stauts', is it 'status'\?" "a verb with two letters in the wrong order" stauts
refused 2 "unknown verb 'wach', is it 'watch'\?" "a verb that lacks a letter" wach
refused 2 "unknown verb 'trains', is it 'train'\?" "help of a verb with a letter too many" help trains
refused 2 "unknown verb 'frobnicate';" "an unknown verb" frobnicate
refused 2 "unknown verb '--frobnicate'" "an unknown option instead of a verb" --frobnicate
"${0%/*}/../../scripts/check-man" "$program" 2> "$scratch/err"
ok $? "the man pages agree with --help"
sed 's/^/# /' "$scratch/err"

for verb in $verbs; do
	run "$verb" --help
	[ "$code" = 0 ] && [ ! -s "$scratch/err" ] && head -1 "$scratch/out" | grep -q "^usage: pg-collect $verb"
	ok $? "$verb --help on stdout"
	[ "$(awk '{ if (length > n) n = length } END { print n }' "$scratch/out")" -le 80 ]
	ok $? "$verb --help in 80 columns"
	refused 2 "$verb: unknown option --no-such-option" "$verb with an unknown option" "$verb" --no-such-option
	refused 2 "$verb: unknown option -Q" "$verb with an unknown letter" "$verb" -Q
done

refused 2 "say which processes: -p PID, -e EXE, --unit NAME, --container ID or -- CMD" "audit of nothing" audit
refused 2 "-- CMD goes with no other choice" "audit of a process and a command" audit -p 1 -- true
refused 2 "-- CMD goes with no other choice" "audit of a file and a command" audit -e true -- true
for verb in audit "train -o $scratch/x" "record -o $scratch/x" check "arm $scratch/x"; do
	# shellcheck disable=SC2086
	refused 2 "--uid: there is no user 'nosuch'" "${verb%% *} of a user that is not there" $verb --uid nosuch
	# shellcheck disable=SC2086
	refused 2 "--args wants from 1 to 255 bytes" "${verb%% *} by no argument" $verb --args ""
done
refused 2 "-p was given twice" "audit of two processes" audit -p 1 -p 2
refused 2 "-e was given twice" "training on two programs" train -o x -e true -e false
touch "$scratch/started"
for verb in audit "train -o $scratch/x" "record -o $scratch/x" check; do
	# shellcheck disable=SC2086
	refused 2 "'-e rm' is for the processes that run it, '-- rm .*started' starts it" \
		"${verb%% *} of a command without --" $verb rm "$scratch/started"
done
[ -e "$scratch/started" ]
ok $? "and none was started"
refused 2 "process 1 is given by '-p 1'" "audit of a number without -p" audit 1
refused 2 "'-- rm .*' starts it" "-- as the value of an option is no --" train -o -- rm "$scratch/started"
refused 2 "-p 'x' is no number" "a pid that is no number" audit -p x
refused 2 "-p '0' is no number" "a pid of 0" audit -p 0
refused 2 "-p '-5' is no number" "a negative pid" audit -p -5
refused 2 "-p '99999999999999999999'" "a pid beyond all numbers" audit -p 99999999999999999999
refused 2 "-p wants a value" "-p without a value" audit -p
refused 2 "--top wants a value" "a long option without a value" audit --top
refused 2 "takes no value" "a value too many" audit --json=1 -p 1
refused 2 "is no length of time" "a duration that is none" audit --duration soon -p 1
refused 2 "is no length of time" "a duration of nothing" audit --duration 0 -p 1
refused 2 "is no length of time" "a negative threshold" audit --slower-than -5ms -p 1
refused 2 "give a profile" "arm of nothing" arm
refused 2 "-p 'x' is no number" "arm for a pid that is no number" arm -p x x.pgp
refused 2 "--infer is weights or paper, not 'luck'" "arm by another rule" arm --infer luck x.pgp
refused 1 "no program 'no-such'|module|permission" "recording by jumps" train -o "$scratch/x" --inline -e no-such
refused 2 "unexpected argument 'now'" "watch with an argument" watch now
refused 2 "no sequence number" "watch since never" watch --since never
refused 2 "no terminal with a screen .*'pg-collect top --once'" "top without a terminal" top
refused 2 "unexpected argument 'now'" "top with an argument" top now
refused 2 "is no length of time" "top at no interval" top -d 0
refused 2 "-s is rate or busy .*, not 'luck'" "top by no column" top -s luck
refused 2 "audit: unknown option --slower-then, is it --slower-than\?" "an option with a wrong letter" audit --slower-then 5ms -p 1
refused 2 "watch: unknown option --jsno, is it --json\?" "an option with letters in the wrong order" watch --jsno
refused 2 "audit: unknown option --frobnicate;" "an option that is like none" audit --frobnicate
refused 2 "'epoll_wait' is no wait such as" "a loop's wait without a place" audit --loop epoll_wait -p 1
refused 2 "'frob@server\+0x1' is no wait such as" "one of another call" train -o x --loop frob@server+0x1 -p 1
refused 2 "'epoll_wait@server\+x' is no wait such as" "one without an offset" record -o x --loop epoll_wait@server+x -p 1
ln -s /bin/true "$scratch/link.pgp"
refused 1 "^pg-collect: [^ ]*/link.pgp is not a profile" "a link is named as it was given" arm "$scratch/link.pgp"
code=0
env -u TERM script -qec "env -u TERM $program check" /dev/null < /dev/null > "$scratch/out" 2>&1 || code=$?
! grep -q "$(printf '\033')" "$scratch/out"
ok $? "no colour where the terminal is not known"
TERM=xterm script -qec "$program check" /dev/null < /dev/null > "$scratch/out" 2>&1
grep -q "$(printf '\033')" "$scratch/out"
ok $? "colour on a terminal that has it"
TERM=dumb script -qec "$program check" /dev/null < /dev/null > "$scratch/out" 2>&1
! grep -q "$(printf '\033')" "$scratch/out"
ok $? "none on a dumb one"
TERM=xterm NO_COLOR=1 script -qec "$program check" /dev/null < /dev/null > "$scratch/out" 2>&1
! grep -q "$(printf '\033')" "$scratch/out"
ok $? "nor where NO_COLOR is set"
run help help
cp "$scratch/out" "$scratch/help"
run --help
[ "$code" = 0 ] && cmp -s "$scratch/help" "$scratch/out"
ok $? "help of help is help"

refused 1 "no program 'no-such'|module|permission" "a share as the limit of a slowdown" train -o "$scratch/x" --max-slowdown 20 -e no-such
refused 2 "max-slowdown wants a number above 0, not '0'" "but not none of it" train -o "$scratch/x" --max-slowdown 0 -e no-such
refused 2 "unexpected argument 'now'" "an argument behind a program" audit -e true now
refused 1 "cannot open $scratch/none.pgp: No such file" "learning from what is not there" learn -o "$scratch/none.pgp"
refused 1 "cannot open $scratch/none: No such file" "watch of a spool that is not there" watch --spool "$scratch/none"

code=0
TERM=dumb timeout 20 script -qec "$program top" /dev/null > "$scratch/out" < /dev/null || code=$?
[ "$code" = 2 ] && grep -q "'pg-collect top --once'" "$scratch/out"
ok $? "top on a dumb terminal"
refused 2 "give one target, or --all" "disarm of nothing" disarm
refused 2 "give one target, or --all" "disarm of all and one" disarm --all 1

code=0
"$program" check > /dev/full 2> "$scratch/err" || code=$?
[ "$code" = 1 ] && [ "$(wc -l < "$scratch/err")" = 1 ] && grep -q "cannot write the output" "$scratch/err"
ok $? "a full disk: reported in one line"
# A pipe without a reader: the reader's end is closed first.
code=$(mkfifo "$scratch/pipe"
	# shellcheck disable=SC2094 # a pipe, opened from both ends
	exec 3<> "$scratch/pipe" 4> "$scratch/pipe" 3>&-
	"$program" --help >&4 2> "$scratch/err" && echo 0 || echo $?)
[ "$code" = 141 ] && [ ! -s "$scratch/err" ]
ok $? "a reader that is gone: ended by SIGPIPE, as other tools are"
code=$(trap '' PIPE
	# shellcheck disable=SC2094
	exec 3<> "$scratch/pipe" 4> "$scratch/pipe" 3>&-
	"$program" --help >&4 2> "$scratch/err" && echo 0 || echo $?)
[ "$code" = 1 ] && [ "$(wc -l < "$scratch/err")" = 1 ] && grep -q "cannot write the output" "$scratch/err"
ok $? "where SIGPIPE is ignored: reported in one line"
finish
