#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What pg-collect arm refuses before it asks the module, and that nothing else
# hides behind it.

# shellcheck source-path=SCRIPTDIR source=tap.sh
. "${0%/*}/tap.sh"

plan 25

make_profile=${MAKE_PROFILE:-$(cd "${0%/*}/../.." && pwd)/${BUILD:-build}/tests/unit/make-profile}
cd "$scratch" || exit 1

"$make_profile" example example.pgp && "$make_profile" recorded recorded.pgp &&
	"$make_profile" random random.pgp 7 && "$make_profile" here here.pgp /bin/true /bin/cat &&
	"$make_profile" here same.pgp /bin/true /bin/cat
ok $? "profiles to arm"
head -c 5000 example.pgp > cut.pgp
: > empty
mkdir directory

refused 1 "cannot open nothing.pgp: No such file" "a profile that is not there" arm nothing.pgp
refused 1 "is not a profile" "a program" arm /bin/sh
refused 1 "is empty, not a profile" "an empty file" arm empty
refused 1 "directory" "a directory" arm directory
refused 1 "cut.pgp is damaged: it is cut short" "a profile that is cut short" arm cut.pgp
refused 1 "recorded.pgp has no types: nothing was learnt" "one before learning" arm recorded.pgp
refused 1 "random.pgp contradicts itself" "one whose numbers do not fit together" arm random.pgp
refused 1 "example.pgp needs /usr/sbin/exampled, which cannot be opened: No such file" \
	"a program that is not here" arm example.pgp

cp /bin/cat library.so
"$make_profile" here gone.pgp /bin/true "$scratch/library.so"
rm library.so
refused 1 "gone.pgp needs $scratch/library.so, which cannot be opened" "a library that is not here" arm gone.pgp
cp /bin/ls library.so
refused 1 "was trained with $scratch/library.so of build id [0-9a-f]{40}, but here it has build id [0-9a-f]{40}" \
	"a library of another build" arm gone.pgp
cp /bin/ls program
"$make_profile" here other.pgp "$scratch/program" /bin/cat
cp /bin/cat program
refused 1 "was trained with $scratch/program of build id [0-9a-f]{40}, but here it has build id [0-9a-f]{40}" \
	"a program of another build" arm other.pgp
echo "#!/bin/sh" > program
refused 1 "needs $scratch/program, which is a script" "a script in its place" arm other.pgp
rm -f program
mkfifo program
refused 1 "needs $scratch/program, which is not a regular file" "a pipe in its place" arm other.pgp

cp here.pgp open.pgp
chmod 0646 open.pgp
refused 1 "other users can write .*open.pgp" "a profile that everybody can write" arm open.pgp
if [ "$(id -u)" = 0 ]; then
	cp here.pgp nobody.pgp
	chown nobody nobody.pgp
	refused 1 "other users can write .*nobody.pgp" "a profile of another user" arm nobody.pgp
else
	skip "only root has files of others"
fi
refused 1 "here.pgp and .*same.pgp are both of /bin/true; give one" "two profiles of one program" \
	arm here.pgp same.pgp
refused 1 "both of" "the same profile twice" arm here.pgp ./here.pgp
for budget in 0 -1 100.1 2x; do
	refused 2 "--budget wants none, or a number above 0 and up to 100" "a budget of $budget" \
		arm --budget "$budget" here.pgp
done
run arm nothing.pgp cut.pgp
[ "$code" = 1 ] && [ "$(wc -l < err)" = 2 ] && [ ! -s out ]
ok $? "two bad files: a line for each"

if [ -e /sys/module/perfguard ]; then
	skip "the module is loaded"
	skip "the module is loaded"
	finish
fi
refused 3 "(module is not loaded; load it|kernel .* is too old)" "a good profile without the module" arm here.pgp
run arm nothing.pgp here.pgp
[ "$code" = 3 ] && [ "$(wc -l < err)" = 2 ] && grep -q "nothing.pgp" err
ok $? "a good and a bad one: both are reported"
finish
