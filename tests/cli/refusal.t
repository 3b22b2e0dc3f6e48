#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Bad input and missing pieces: one line that says what, and the exit code.
# Whatever is wrong with the input is reported before the module is needed.

# shellcheck source-path=SCRIPTDIR source=tap.sh
. "${0%/*}/tap.sh"

plan 35

# patch FILE OFFSET OCTAL...: bytes of a copy of a real program.
patch()
{
	cp /bin/true "$1"
	printf '%b' "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

cd "$scratch" || exit 1
printf '#!/bin/sh\nexit 0\n' > script
printf 'no program\n' > text
: > empty
patch arm64 18 '\0267\0000'
patch i386 18 '\0003\0000'
printf '\001' | dd of=i386 bs=1 seek=4 conv=notrunc status=none
patch x32 4 '\0001'
patch big 5 '\0002'
head -c 100 /bin/true > short
mkdir directory
mkfifo fifo
chmod +x script text empty short

refused 1 "cannot open /nonexistent: No such file" "a file that is not there" audit -e /nonexistent
refused 1 "no program 'no-such-program' in PATH" "a program that is not there" audit -e no-such-program
refused 1 "empty file name" "an empty name" audit -e ""
refused 1 "./script is a script" "a script" audit -e ./script
refused 1 "./text is not a program" "a text" audit -e ./text
refused 1 "./empty is not a program" "an empty file" audit -e ./empty
refused 1 "./directory is a directory" "a directory" audit -e ./directory
refused 1 "./fifo is not a regular file" "a pipe" audit -e ./fifo
refused 1 "/dev/null is not a regular file" "a device" audit -e /dev/null
refused 1 "./arm64 is an arm64 program" "a program of another architecture" audit -e ./arm64
refused 1 "./i386 is a 32-bit x86 program" "a 32-bit program" audit -e ./i386
refused 1 "./x32 is" "an x32 program" audit -e ./x32
refused 1 "./big is a big-endian program" "a program of another byte order" audit -e ./big
refused 1 "./short is truncated" "a truncated program" audit -e ./short
refused 1 "no program 'no-such-program' in PATH" "a command that is not there" audit -- no-such-program
refused 1 "cannot run ./fifo|is not a regular file" "a command that is no file" audit -- ./fifo
refused 1 "./arm64 is an arm64 program" "a command of another architecture" audit -- ./arm64

refused 1 "cannot write /nonexistent/x.pgp: .*No such file" "a profile that cannot be written: before training" \
	train -o /nonexistent/x.pgp -- /bin/true
refused 1 "cannot write /proc/x.pgt: .*" "nor a trace" record -o /proc/x.pgt -- /bin/true
refused 1 "directory: Is a directory" "nor a directory" train -o ./directory -- /bin/true
refused 1 "cannot write /nonexistent/x.pgp: .*No such file" "nor what is learnt of a trace" \
	learn -o /nonexistent/x.pgp no-such-trace
refused 1 "cannot write /nonexistent/units: .*No such file" "nor the list of units" \
	train -o x.pgp --units /nonexistent/units -- /bin/true
touch kept.pgp
if [ "$(id -u)" = 0 ] && chattr +a kept.pgp 2> /dev/null; then
	refused 1 "cannot replace kept.pgp: it is immutable" "nor over a file that stays" train -o kept.pgp -- /bin/true
	chattr -a kept.pgp
else
	skip "this file system has no attributes, or this is not root"
fi
if [ "$(id -u)" = 0 ] && mount --bind kept.pgp kept.pgp 2> /dev/null; then
	refused 1 "cannot replace kept.pgp: something is mounted" "nor over a mount" train -o kept.pgp -- /bin/true
	umount kept.pgp
else
	skip "nothing can be mounted here"
fi
[ "$(echo kept.pgp*)" = kept.pgp ] && [ "$(echo x.pgp*)" = "x.pgp*" ]
ok $? "nothing is left behind by that"

sleep 0 &
gone=$!
wait
refused 1 "there is no process $gone" "a process that ended" audit -p "$gone"

if [ -d /proc/2 ] && [ ! -s /proc/2/cmdline ] && [ "$(id -u)" = 0 ]; then
	refused 1 "process 2 runs no program" "a kernel thread" audit -p 2
else
	skip "there is no kernel thread to be seen"
fi

if [ -e /sys/module/perfguard ]; then
	for i in 1 2 3 4 5 6 7 8; do
		skip "the module is loaded ($i)"
	done
	finish
fi
for verb in "audit -e /bin/sh" "train -o x.pgp -e /bin/sh" "audit -p $$" "audit -- /bin/true" watch status "top --once" "disarm --all"; do
	# shellcheck disable=SC2086
	refused 3 "(module is not loaded; load it|/dev/perfguard; load the module|kernel .* is too old)" "$verb without the module" $verb
done
finish
