#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A forwarder that is ended while it waits for an answer, as by each reload of the service: nothing
# has failed then, and nobody is to read that something did.

# shellcheck source-path=SCRIPTDIR source=tap.sh
. "${0%/*}/tap.sh"

here=$(cd "${0%/*}" && pwd)
make_spool=${MAKE_SPOOL:-$here/../../${BUILD:-build}/tests/unit/make-spool}
server=

plan 8
trap '[ -z "$server" ] || kill "$server"; rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

# wait_for PATTERN FILE
wait_for()
{
	for _ in {1..200}; do
		grep -q "$1" "$2" && return
		sleep 0.05
	done
	return 1
}

# ended OUTPUT SCHEME: the forwarder to OUTPUT is ended when the server has got an alert
ended()
{
	local code=0 pid port

	rm -rf spools
	mkdir spools
	"$make_spool" spools 1 10 0
	python3 "$here/silent_server.py" "$1" > said &
	server=$!
	wait_for . said
	read -r port < said
	printf '%s\n' "spool = $scratch/spools/0/spool" "machine = m0" "$1 = $2://127.0.0.1:$port" > conf
	"$program" forward -v --config conf --to "$1" > out 2> err &
	pid=$!
	wait_for taken said
	ok $? "$1: a server takes alerts, and does not answer"
	kill "$pid"
	wait "$pid" || code=$?
	kill "$server"
	wait "$server" 2> /dev/null
	server=
	ok "$code" "$1: ended by then, it exits as it does at any time"
	[ ! -s err ]
	ok $? "$1: without a message of a failure"
	sed 's/^/# stderr: /' err
	python3 - "$1" <<- 'END'
		import sqlite3, sys
		db = sqlite3.connect("spools/0/spool")
		row = db.execute("SELECT state, retries, passed, refused FROM forwards WHERE name = ?",
		                 sys.argv[1:]).fetchone()
		print("#", row)
		sys.exit(row != ("ended before an answer came: what was sent is sent again", 0, 0, 0))
	END
	ok $? "$1: its state says so, and that nothing is lost; it is not counted as tried again"
}

ended otlp http
ended nats nats
finish
