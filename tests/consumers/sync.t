#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Profiles shared by way of a NATS server: each machine gets what all have learnt of the programs that
# it has, once, and is harmed by none of them.
# shellcheck disable=SC2317 # functions are called by the trap

# shellcheck source-path=SCRIPTDIR source=../cli/tap.sh
. "${0%/*}/../cli/tap.sh"
# shellcheck source-path=SCRIPTDIR source=nats-server.sh
. "${0%/*}/nats-server.sh"

here=$(cd "${0%/*}" && pwd)
make_profile=${MAKE_PROFILE:-$here/../../${BUILD:-build}/tests/unit/make-profile}

if [ -z "$(command -v nats-server)" ]; then
	echo "1..0 # SKIP no nats-server: scripts/setup --consumers"
	exit
fi
plan 18
trap 'nats_kill; rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
umask 022
port=$(free_port)
library=$(ldd /bin/true | sed -nE 's/.*=> (.*libc\.so\.6) .*/\1/p')
cp /bin/true program
build_id=$(readelf -n program | sed -n 's/.*Build ID: //p')

# machine NAME: with directories of its own
machine()
{
	mkdir -p "$1/trained" "$1/profiles"
	printf '%s\n' "machine = $1" "nats = nats://127.0.0.1:$port" "profiles = $scratch/$1/profiles" \
		"trained = $scratch/$1/trained" > "$1/conf"
}

# sync MACHINE [OPTION...]
sync_of()
{
	local name=$1

	shift
	run sync -v --config "$name/conf" "$@"
}

# units FILE: that it is of
units()
{
	"$program" show --json "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["loops"][0]["units"])'
}

# put KEY TEXT: into the bucket, as somebody else
put()
{
	python3 -B - "$here" "$port" "$@" <<- 'END'
		import sys
		sys.path.insert(0, sys.argv[1])
		import nats_client
		answer = nats_client.Client(int(sys.argv[2])).request(
		    "$KV.perfguard-profiles." + sys.argv[3], sys.argv[4].encode("latin-1"))
		sys.exit(b"error" in answer[3])
	END
}

for name in a b c; do
	machine "$name"
done
joint=fleet-program-${build_id:0:16}.pgp
"$make_profile" here a/trained/own.pgp "$scratch/program" "$library"
"$make_profile" here b/trained/other.pgp "$scratch/program" "$library"
one=$(units a/trained/own.pgp)

sync_of a
[ "$code" = 1 ] && grep -q "cannot connect to nats://127.0.0.1:$port" err
ok $? "without a server it fails, and says so"
nats_start "$port" "$scratch/js"
sync_of a
[ "$code" = 0 ] && [ "$(units "a/profiles/$joint")" = "$one" ]
ok $? "one machine: the profile is its own ($one units)"
sed 's/^/# /' err
sync_of b
[ "$code" = 0 ] && [ "$(units "b/profiles/$joint")" = $((2 * one)) ]
ok $? "another one: of both"
sync_of c
[ "$code" = 0 ] && [ "$(units "c/profiles/$joint")" = $((2 * one)) ]
ok $? "one that has trained nothing gets it"
sync_of a
[ "$code" = 0 ] && [ "$(units "a/profiles/$joint")" = $((2 * one)) ]
ok $? "and the first one the other's, its own counted once"
for name in a b c; do
	"$program" show --json "$name/profiles/$joint" | sed -E 's/"(created|changed)_s":[0-9]+,//g; s/"(time|created|changed)":"[^"]*",//g; s/"path":"[^"]*",//'
done | sort -u > shown
[ "$(wc -l < shown)" = 1 ]
ok $? "all have the same"
[ "$(stat -c %a "a/profiles/$joint")" = 600 ]
ok $? "which only its owner reads"

# Nothing new.
before=$(stat -c '%i %y' "a/profiles/$joint")
sync_of a
[ "$code" = 0 ] && [ "$(stat -c '%i %y' "a/profiles/$joint")" = "$before" ]
ok $? "where nothing is new, nothing is written"
cp "a/trained/own.pgp" "a/profiles/$joint"
sync_of a
[ "$code" = 0 ] && cmp -s a/trained/own.pgp "a/profiles/$joint"
ok $? "what was adapted to this machine since then stays"

# Who started it hears of what is new, and only then.
cat > parent <<- 'END'
	trap 'echo new >> heard' HUP
	"$1" sync --child --config c/conf
	"$1" sync --child --config c/conf
END
rm -f "c/profiles/$joint" heard
bash parent "$program"
[ "$(cat heard)" = new ]
ok $? "SIGHUP for what is new, once"

# Others.
"$make_profile" example a/trained/absent.pgp
sync_of a
find a/profiles b/profiles -name 'fleet-*' > found
sync_of b
[ "$code" = 0 ] && [ "$(find b/profiles -name 'fleet-*' | wc -l)" = 1 ]
ok $? "a program that is not here is not fetched"
grep -q . found
ok $? "though it was published"

# What is harmful.  A label is HASH SIZE PROGRAM.
put "profile.$build_id.evil" "0123456789abcdef 10 $scratch/program" && put "part.$build_id.evil.0" "0123456789"
ok $? "somebody publishes bytes that are no profile"
sync_of b
[ "$code" = 0 ] && grep -q "by machine evil is left out: its parts are not of one profile" err &&
	[ "$(units "b/profiles/$joint")" = $((2 * one)) ]
ok $? "they are left out, and the others are joined"
put "profile.$build_id.evil" "0123456789abcdef 99999999999 $scratch/program"
put "profile.$build_id.worse" "x"
put "profile.%2e%2e%2fetc.worse" "0123456789abcdef 10 $scratch/program"
put "profile.$build_id.mute" "0123456789abcdef 10 $scratch/program"
rm -f b/profiles/.fleet* "b/profiles/$joint"
sync_of b
[ "$code" = 0 ] && grep -q "by machine mute is left out: cannot fetch a profile" err &&
	[ "$(units "b/profiles/$joint")" = $((2 * one)) ] && [ "$(find b/profiles -type f | wc -l)" = 2 ]
ok $? "so are labels that are none, that have no parts, or too many"
python3 - a/trained/own.pgp damaged <<- 'END'
	import sys
	data = bytearray(open(sys.argv[1], "rb").read())
	for at in range(5000, len(data), 997):
	    data[at] ^= 0x55
	open(sys.argv[2], "wb").write(data)
END
cp damaged c/trained/damaged.pgp
sync_of c
[ "$code" = 1 ] && grep -q "damaged.pgp is not published" err && [ -e "c/profiles/$joint" ]
ok $? "one that is damaged is not published; what others have is fetched all the same"
rm c/trained/damaged.pgp

nats_kill TERM
cat > deny.conf <<- 'END'
	authorization { users = [ { user: m, password: p, permissions: { publish: [
		"$JS.API.STREAM.INFO.KV_perfguard-profiles", "$JS.API.STREAM.NAMES", "$JS.API.DIRECT.GET.KV_perfguard-profiles.>",
		"$JS.API.STREAM.MSG.GET.KV_perfguard-profiles", "$JS.API.CONSUMER.CREATE.KV_perfguard-profiles.>",
		"$JS.API.CONSUMER.CREATE.KV_perfguard-profiles", "$JS.API.CONSUMER.DELETE.KV_perfguard-profiles.>",
		"$JS.FC.>", "$KV.perfguard-profiles.*.*.c", "$KV.perfguard-profiles.*.*.c.*" ],
		subscribe: ["_INBOX.>"] } } ] }
END
nats_start "$port" "$scratch/js" -c deny.conf
sed -i "s#nats://#nats://m:p@#" c/conf a/conf
rm -f c/profiles/.fleet*
"$make_profile" here c/trained/own.pgp "$scratch/program" "$library"
sync_of c
[ "$code" = 0 ] && [ "$(units "c/profiles/$joint")" = $((3 * one)) ]
ok $? "a machine that may write what is its own, and read"
sed 's/^/# /' err
"$make_profile" again a/trained/own.pgp 1 > /dev/null 2>&1 || "$make_profile" here a/trained/new.pgp /bin/true "$library"
sync_of a
[ "$code" = 1 ] && grep -q "is not published: cannot publish a profile" err
ok $? "cannot write another one's"
sed 's/^/# /' err
finish
