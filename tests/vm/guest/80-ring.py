# SPDX-License-Identifier: GPL-2.0
"""With the collector away the last alerts are kept, and the rest is counted."""

import json
import signal

import guarded
from family import Family
from perfguard import MODULE, MS, Audit, Victim, collect, done, note, ok, run, wait_until

UNITS = 150
# A reader at the lowest priority may have to wait for the end of some such units.
CHURNS, CHURN_MS = 2, 1500


def kept():
    """A ring of the usual size has room for all that is reported of units that compute for long."""
    run("rmmod", "perfguard")
    run("insmod", MODULE)
    family, victim = Family(), Victim()
    audit = Audit("--duration", 900, "--slower-than", "10ms", "-p", victim.pid)
    audit.next("ready")
    victim.do("nothing")
    audit.process.send_signal(signal.SIGSTOP)
    since = family.stats()["next_alert"]
    for _ in range(CHURNS):
        victim.do(f"churn {CHURN_MS}")
        victim.do("nothing")
    wait_until(lambda: sum(one["kind"] == guarded.ENDED for one in family.alerts(since)) >= CHURNS)
    lines = [json.loads(line) for line in
             collect("watch", "--json", "--since", since, "--duration", "5").stdout.splitlines()]
    lines = [line for line in lines if line["kind"] in ("late", "ended", "lost")]
    kinds = [line["kind"] for line in lines]
    note(f"{kinds} in {family.stats()['ring_bytes'] >> 10} KiB")
    ok(kinds.count("late") > 3 * CHURNS and "lost" not in kinds and
       [line["seq"] for line in lines] == list(range(since, since + len(lines))) and
       sum(line["kind"] == "ended" and line["elapsed_ns"] >= CHURN_MS * MS
           for line in lines) == CHURNS,
       "nothing that was reported of units with deep stacks is lost before it is read")
    audit.process.send_signal(signal.SIGCONT)
    audit.finish()
    victim.end()


guarded.reload(512)     # it is to be full soon
family, victim = Family(), Victim()
audit = Audit("--duration", 900, "--slower-than", "10ms", "-p", victim.pid)
audit.next("ready")
victim.do("nothing")
audit.process.send_signal(signal.SIGSTOP)
for _ in range(UNITS):
    victim.do("sleep 25")
# Those that no look met have no stack, and take little room.
wait_until(lambda: victim.do("sleep 25") and family.stats()["lost_overwritten"])

lines = [json.loads(line) for line in
         collect("watch", "--json", "--since", "1", "--duration", "3").stdout.splitlines()]
alerts = [line for line in lines if line["kind"] in ("late", "ended")]
lost = sum(line["lost"] for line in lines if line["kind"] == "lost" and line.get("lost"))
numbers = [line["seq"] for line in alerts]
note(f"{len(alerts)} alerts kept, {lost} reported lost, numbers {numbers[:1]} to {numbers[-1:]}")
ok(len(alerts) >= 20, "the last alerts are still there")
ok(numbers == list(range(numbers[0], numbers[0] + len(numbers))), "their numbers have no gap")
ok(lost == numbers[0] - 1 and lost > 0, "what is gone before them is counted")
reported = {(line["tid"], line["unit"]) for line in alerts if line["kind"] == "late"}
ended = {(line["tid"], line["unit"]) for line in alerts if line["kind"] == "ended"}
first = min(unit for _, unit in reported)
missing = {unit for unit in reported if unit[1] > first} - ended
note(f"no end of {missing}: {[line for line in alerts if line['unit'] in {u for _, u in missing}]}"
     if missing else f"units {first} to {max(unit for _, unit in reported)}")
ok(not missing, "each late unit has its end")
order = {}
for line in alerts:
    order.setdefault((line["tid"], line["unit"]), []).append(line["kind"])
ok(all(kinds == sorted(kinds, key="late ended".index) for kinds in order.values()),
   "and the end comes last")

audit.process.send_signal(signal.SIGCONT)
wait_until(lambda: audit.next("ended", 1) is None)
victim.do("sleep 25")
victim.do("nothing")    # when it is read, the unit before has ended
while (line := audit.next("ended")) and line["seq"] <= numbers[-1]:
    pass
ok(line, "the collector that comes back goes on")
audit.finish()
ok(audit.code == 0, "and ends cleanly")
counted = audit.kind("lost")
note(f"the collector says: {counted[-1] if counted else None}")
ok(any(line.get("lost") or line.get("alerts") for line in counted),
   "and says how many it missed")
victim.end()
kept()
done()
