# SPDX-License-Identifier: GPL-2.0
# A server for the tests here; to be sourced behind tap.sh.
# shellcheck shell=bash

nats_pid=

# free_port: one that nobody listens on now.
free_port()
{
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# nats_start PORT DIR [OPTION...]: with what is in DIR.
nats_start()
{
	local port=$1 dir=$2

	shift 2
	nats-server -a 127.0.0.1 -p "$port" -js -sd "$dir" "$@" > "$dir.log" 2>&1 &
	nats_pid=$!
	for _ in {1..100}; do
		grep -q 'Server is ready' "$dir.log" && return
		sleep 0.1
	done
	return 1
}

# nats_kill [SIGNAL]
nats_kill()
{
	[ -n "$nats_pid" ] || return 0
	kill "-${1:-KILL}" "$nats_pid" 2> /dev/null
	wait "$nats_pid" 2> /dev/null
	nats_pid=
}
