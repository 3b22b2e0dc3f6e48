#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Alerts of a spool into a stream of NATS JetStream: each once, whatever is killed meanwhile; what
# was lost is counted.  The server is Debian's; spools are made (tests/unit/make-spool.c), so no
# module is needed.
# shellcheck disable=SC2317,SC2120 # functions are called through within, and by the trap

# shellcheck source-path=SCRIPTDIR source=../cli/tap.sh
. "${0%/*}/../cli/tap.sh"
# shellcheck source-path=SCRIPTDIR source=nats-server.sh
. "${0%/*}/nats-server.sh"

here=$(cd "${0%/*}" && pwd)
make_spool=${MAKE_SPOOL:-$here/../../${BUILD:-build}/tests/unit/make-spool}
forwarders=()

if [ -z "$(command -v nats-server)" ]; then
	echo "1..0 # SKIP no nats-server: scripts/setup --consumers"
	exit
fi
plan 26
cleanup()
{
	local pid

	for pid in "${forwarders[@]}" "${writer:-}"; do
		[ -z "$pid" ] || kill -KILL "$pid" 2> /dev/null
	done
	nats_kill
	rm -rf "$scratch"
}
trap cleanup EXIT
cd "$scratch" || exit 1
umask 022
port=$(free_port)

# configure LINE...: of machine 0
configure()
{
	printf '%s\n' "spool = $scratch/spools/0/spool" "machine = m0" "$@" > conf
}

# forward: in the background; its pid is $!, and it does not outlive the test
forward()
{
	"$program" forward -v --config conf >> forward.out 2>&1 &
	forwarders+=($!)
}

# select_from COLUMNS TABLE: of the spool
select_from()
{
	python3 - "$@" <<- 'END'
		import sqlite3, sys
		db = sqlite3.connect("spools/0/spool")
		print(*db.execute(f"SELECT {sys.argv[1]} FROM {sys.argv[2]}").fetchone())
	END
}

# counts COLUMN...: of the cursor
counts()
{
	local IFS=,

	select_from "$*" forwards
}

# within SECONDS COMMAND...: it succeeds until then
within()
{
	local end=$((SECONDS + $1))

	shift
	until "$@" > within.out 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.2
	done
}

# same: what the spool has is in the stream, each alert once
same()
{
	python3 -B "$here/check_stream.py" "$port" perfguard-alerts perfguard spools
}

# is_state PATTERN: so the forwarder says it is
is_state()
{
	counts state | grep -qE -- "$1"
}

passed_on()
{
	[ "$(counts passed lost)" = "$1" ]
}

shown()
{
	sed 's/^/# /' "$@"
}

configure "nats = http://127.0.0.1"
refused 2 "nats is nats://HOST:PORT or tls://HOST:PORT" "a URL of another protocol" forward --config conf
configure
refused 2 "there is no line 'nats = ...'" "nothing to forward to" forward --config conf
configure "nats = nats://127.0.0.1:$port"
refused 1 "cannot open .*spool" "no spool" forward --config conf
refused 2 "--to is nats or otlp, not 'post'" "another output" forward --config conf --to post

# No server yet.
mkdir spools
"$make_spool" spools 1 300 0
forward
within 10 is_state "cannot connect to nats://127.0.0.1:$port"
ok $? "without a server it says so, and tries again"
grep -qE "^CapEff:\s0+$" "/proc/${forwarders[0]}/status"
ok $? "it has no capabilities"
refused 1 "another process passes on to nats" "a second one for the same cursor" forward --config conf

# The writer of the spool does not wait for a forwarder that does not run on.
kill -STOP "${forwarders[0]}"
begin=$(date +%s%N)
"$make_spool" spools 1 500 0
took=$((($(date +%s%N) - begin) / 1000000))
kill -CONT "${forwarders[0]}"
[ "$took" -lt 1500 ]
ok $? "500 alerts were kept in $took ms while it was stopped"

nats_start "$port" "$scratch/js"
within 20 passed_on "800 0"
ok $? "when the server is there, all are passed on ($(counts passed lost))"
same > same.out
ok $? "and are in the stream, on the subject of the machine, with their keys"
shown same.out
grep -q "the stream perfguard-alerts was made" forward.out
ok $? "which was made"

# Alerts come, the server is killed and comes back, and so is the forwarder.
"$make_spool" spools 1 4000 8 &
writer=$!
for round in 1 2 3; do
	sleep 0.8
	nats_kill KILL
	kill -KILL "${forwarders[-1]}"
	wait "${forwarders[-1]}" 2> /dev/null
	forward
	sleep 0.7
	nats_start "$port" "$scratch/js"
	sleep 0.8
	kill -KILL "${forwarders[-1]}"
	wait "${forwarders[-1]}" 2> /dev/null
	forward
done
wait "$writer"
writer=
within 30 passed_on "4800 0"
ok $? "server and forwarder killed, $round times: all are passed on ($(counts passed lost retries))"
same > same.out
ok $? "none is missing, none is there twice"
shown same.out

# The server hangs: no acknowledgments, while connections live.
kill -STOP "$nats_pid"
"$make_spool" spools 1 100 0
within 30 is_state "no acknowledgment"
ok $? "a server that hangs: it waits for acknowledgments, not for ever ($(counts state))"
kill -CONT "$nats_pid"
within 30 passed_on "4900 0"
ok $? "and goes on"
same > same.out
ok $? "those in flight were not stored twice"
shown same.out

# A message that no server takes.
"$make_spool" spools 1 1 0 1000000 3000
kill -TERM "${forwarders[-1]}"
wait "${forwarders[-1]}"
ok $? "it ends on SIGTERM"
nats_kill TERM
printf 'max_payload = 2048\n' > small.conf
nats_start "$port" "$scratch/js" -c small.conf
"$make_spool" spools 1 9 0
code=0
"$program" forward --config conf --once 2> err || code=$?
[ "$code" = 0 ] && [ "$(counts passed refused lost)" = "4909 1 0" ] && grep -q "1 alerts were refused" err
ok $? "what is larger than the server takes is refused, counted, and those behind it pass ($(counts passed refused lost))"
nats_kill TERM

# The spool is full before they were passed on: 1000 more, of which 200 stay.
"$make_spool" spools 1 1000 0 200
kept=$(select_from 'count(*)' alerts)
[ "$(counts passed lost)" = "4909 $((1000 - kept))" ]
ok $? "what the spool drops before it was passed on is lost, and counted ($(counts passed lost), $kept kept)"
nats_start "$port" "$scratch/js"
"$program" forward --config conf --once 2> err
[ "$(counts passed lost)" = "$((4909 + kept)) $((1000 - kept))" ]
ok $? "the others are passed on"

# A machine that may publish, and make nothing.
nats_kill TERM
cat > deny.conf <<- 'END'
	authorization { users = [ { user: m, password: p, permissions: {
		publish: ["perfguard.alerts.m0"], subscribe: ["_INBOX.>"] } } ] }
END
nats_start "$port" "$scratch/js" -c deny.conf
configure "nats = nats://m:p@127.0.0.1:$port"
"$make_spool" spools 1 10 0
"$program" forward --config conf --once 2> err
[ "$(counts passed)" = "$((4919 + kept))" ]
ok $? "a user who may only publish suffices, once the stream is there"
nats_kill TERM
nats_start "$port" "$scratch/empty" -c deny.conf
"$make_spool" spools 1 10 0
forward
within 20 is_state "no stream takes perfguard.alerts.>, and perfguard-alerts cannot be made"
ok $? "where it is not, and may not be made, that is said"
shown within.out
kill -TERM "${forwarders[-1]}"
wait "${forwarders[-1]}"
configure "nats = nats://m:wrong@127.0.0.1:$port"
forward
within 20 is_state "cannot connect to 127.0.0.1:$port: Authentication"
ok $? "a wrong password is said, without it ($(counts state))"
kill -TERM "${forwarders[-1]}"
nats_kill TERM

# TLS.
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost \
	-addext 'subjectAltName = DNS:localhost,IP:127.0.0.1' 2> /dev/null
nats_start "$port" "$scratch/js" --tls --tlscert cert.pem --tlskey key.pem
configure "nats = tls://localhost:$port" "nats-ca = $scratch/cert.pem"
code=0
timeout 20 "$program" forward --config conf --once 2> err || code=$?
[ "$code" = 0 ] && [ "$(counts passed)" = "$((4929 + kept))" ]
ok $? "by TLS, with an authority of one's own"
shown err
nats_kill TERM
nats_start "$port" "$scratch/js" --tls --tlscert cert.pem --tlskey key.pem --tlsverify --tlscacert cert.pem
"$make_spool" spools 1 10 0
configure "nats = tls://localhost:$port" "nats-ca = $scratch/cert.pem" \
	"nats-certificate = $scratch/cert.pem" "nats-key = $scratch/key.pem"
code=0
timeout 20 "$program" forward --config conf --once 2> err || code=$?
[ "$code" = 0 ] && [ "$(counts passed)" = "$((4939 + kept))" ]
ok $? "and with a certificate of the machine"
shown err
configure "nats = tls://localhost:$port"
"$make_spool" spools 1 10 0
forward
within 20 is_state "cannot connect"
ok $? "a server whose authority is not trusted gets nothing"
finish
