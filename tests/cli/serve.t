#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What the service refuses in its configuration, and what watch prints of a spool.

# shellcheck source-path=SCRIPTDIR source=tap.sh
. "${0%/*}/tap.sh"

plan 18
umask 022

conf=$(cd "${0%/*}/../.." && pwd)/scripts/perfguard.conf
cd "$scratch" || exit 1

refused 1 "cannot open nothing.conf: No such file" "no configuration" serve --config nothing.conf
printf 'budget = 2\nbugdet = 3\n' > bad.conf
refused 2 "bad.conf:2: there is no key 'bugdet'; there are profiles, arm, budget" \
	"a key that is not known" serve --config bad.conf
refused 2 "bad.conf:2: " "only checked" serve --check --config bad.conf
printf 'spool-size = 1\nkeep-armed = x\n' > bad.conf
run serve --check --config bad.conf
[ "$code" = 2 ] && [ "$(wc -l < err)" = 2 ] && grep -q 'bad.conf:1: ' err && grep -q 'bad.conf:2: ' err
ok $? "each error is a line"
printf 'metrics = 192.0.2.77:9959\n' > bad.conf
refused 2 "metrics cannot be at port 9959 of 192.0.2.77: Cannot assign requested address" \
	"metrics at an address of another machine" serve --config bad.conf
refused 2 "metrics cannot be at port 9959 of 198.51.100.1: " "that are asked for by an option, too" \
	serve --config bad.conf --metrics 198.51.100.1:9959
refused 2 "--metrics is none, or PORT .*not 'localhost:1'" "at no address" serve --metrics localhost:1
install -m 644 "$conf" installed.conf
run serve --check --config installed.conf
[ "$code" = 0 ] && [ ! -s err ] && grep -q "is well" out
ok $? "the one that is installed is well"
chmod o+w installed.conf
refused 2 "others than root can write installed.conf" "one that anybody can write" \
	serve --check --config installed.conf
# shellcheck disable=SC2016 # awk expands it
awk '/^#[a-z[]/ { sub(/^#/, "") } { print }' "$conf" > all.conf
run serve --check --config all.conf
[ "$code" = 0 ] && [ "$(grep -c = all.conf)" -gt 20 ]
ok $? "so is all that it has commented out"
run serve --check --config all.conf
keys=$(printf 'x = 1\n' > bad.conf; "$program" serve --check --config bad.conf 2>&1 | sed 's/.*there are //; s/,//g')
missing=
for key in $keys; do
	grep -qE "^#$key = " "$conf" || [ "$key" = arm ] || missing+=" $key"
	grep -q "Li $key = " "$(dirname "$conf")/../Documentation/man/perfguard.conf.5" || missing+=" $key"
done
[ -n "$keys" ] && [ -z "$missing" ]
ok $? "both it and the man page have every key"
[ -z "$missing" ] || echo "# without$missing"
if [ -e /sys/module/perfguard ]; then
	skip "the module is loaded"
else
	printf 'spool = %s/spool\n' "$scratch" > good.conf
	refused 3 "(module is not loaded; load it|kernel .* is too old)" "no service without the module" \
		serve --config good.conf
fi

refused 1 "cannot open spool: " "no spool" watch --spool spool
head -c 8192 /dev/zero > spool
refused 1 "spool is not a spool, or is damaged" "what is none" watch --spool spool
refused 2 "--since 'x' is no time such as" "since whenever" watch --spool spool --since x
refused 2 "--spool goes with --since, -n, --json, --brief and --unwind only" "a window" watch --spool spool --window 2s
refused 2 "--unwind needs --spool" "unwinding nothing" watch --unwind
refused 2 "--since '2h' is no sequence number" "a time for the module" watch --since 2h
finish
