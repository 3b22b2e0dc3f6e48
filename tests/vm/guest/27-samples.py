# SPDX-License-Identifier: GPL-2.0
"""A late unit's stack is taken again while it lasts, with the lock it waits for."""

import pathlib
import time

from family import NUMBER, Family, number, parse, u64
from perfguard import (EXACT, IS_SLOW, LONG, VICTIM, Audit, MS, Victim, done, functions, note,
                       ok, wait_until)

THRESHOLD = 50 * MS
SLACK = 20 * MS
MAX_STACKS = 16
RING_BYTES = (4096 + 512) * 1024        # of alerts, and of waits
LATE, ENDED = 1, 2
FUTEX, NANOSLEEP, CLOCK_GETTIME = 202, 230, 228
STUCK_SECONDS = 20
CROWD = 10 if IS_SLOW else 60
KILLED = 10                     # their records are in one ring, however many stacks they have


def fields(attributes, set_name):
    names = {value: name.removeprefix(f"A_{set_name}_").lower()
             for name, value in NUMBER.items() if name.startswith(f"A_{set_name}_")}
    return {names.get(kind, kind): payload for kind, payload in attributes}


def read_records(since):
    """The alert ring as it is read: records with their stacks put together."""
    records = []
    for message in family.dump("ALERT_GET", u64(NUMBER["A_RECORD_SEQ"], since)):
        row = fields(message, "RECORD")
        if "kind" in row:
            records.append({name: number(value) for name, value in row.items()
                            if len(value) <= 8})
            records[-1]["stacks"] = []
        if "stack" not in row:
            continue
        part = fields(parse(row["stack"]), "STACK")
        stacks = records[-1]["stacks"]
        index = number(part["index"])
        if "regs" in part:
            stacks.append({name: number(value) for name, value in part.items()
                           if len(value) <= 8})
            stacks[-1].update(read=0, is_in_order=index == len(stacks) - 1)
        stack = stacks[index]
        if "chunk" in part:
            stack["is_in_order"] &= number(part["chunk_offset"]) == stack["read"]
            stack["read"] += len(part["chunk"])
    return records


def next_record():
    return family.stats()["next_alert"]


READ = {}


def records_of(pid, since):
    """The process's records since then; the ring may have dropped the first ones since."""
    READ.update({record["seq"]: record
                 for record in read_records(max(READ, default=0) + 1)})
    return [record for seq, record in sorted(READ.items())
            if record.get("pid") == pid and seq >= since]


def unit_of(pid, since):
    """All records of the process's one unit since then, when it has ended."""
    wait_until(lambda: any(record["kind"] == ENDED for record in records_of(pid, since)))
    return records_of(pid, since)


def nr_ended(one, since):
    """Threads whose long unit has ended."""
    return len({record["tid"] for record in records_of(one.pid, since)
                if record["kind"] == ENDED and record["elapsed_ns"] > 900 * MS})


def nr_replaced(since):
    """Records since then that newer ones replaced before they were read."""
    return max(0, max(READ, default=0) + 1 - since) - sum(seq >= since for seq in READ)


def nr_sleeping(pid):
    """Threads that sleep in clock_nanosleep()."""
    tasks = pathlib.Path(f"/proc/{pid}/task").iterdir()
    return sum((task / "syscall").read_text().startswith(f"{NANOSLEEP} ") for task in tasks)


def is_of_its_call(stack, syscall):
    """Whether a stack is of the call that its functions make.  Without a steady clock, as on a
    busy host, the time is read by a call; on its way from one to the other it may do anything."""
    if "sleep_here" in stack:
        return (syscall == NANOSLEEP) == ("clock_nanosleep" in stack)
    return "spin_here" not in stack or syscall in (None, CLOCK_GETTIME)


def own_stacks(records):
    return [stack for record in records for stack in record["stacks"] if not stack.get("tid")]


def holders(records):
    return [stack for record in records for stack in record["stacks"] if stack.get("tid")]


def begin_of(records):
    """When the unit began, by the first stack, which is taken at once."""
    return records[0]["stacks"][0]["at_ns"] - records[0]["elapsed_ns"]


def check_form(records, what):
    """Whatever the unit: sizes, bounds, order."""
    stacks = [stack for record in records for stack in record["stacks"]]
    times = [stack["at_ns"] for stack in own_stacks(records)]
    ok(all(stack["read"] == stack["size"] and stack["is_in_order"] for stack in stacks),
       f"{what}: the bytes of {len(stacks)} stacks come in order")
    ok(all(len(record["stacks"]) <= MAX_STACKS for record in records) and
       times == sorted(set(times)), f"{what}: at most {MAX_STACKS} a record, the oldest first")


def spread(records, doublings=0):
    """No two stacks are further apart than they may be, where the guest's time is its own."""
    begin = begin_of(records)
    times = [stack["at_ns"] - begin for stack in own_stacks(records)]
    times.append(records[-1]["elapsed_ns"])
    gaps = [(after - before, before) for before, after in zip(times, times[1:])]
    bad = [gap for gap in gaps
           if gap[0] > (min(max(gap[1] / 8, 2 * MS), 1000 * MS)) * 2 ** doublings + SLACK]
    note(f"stacks at {[round(moment / MS) for moment in times]} ms")
    return not bad or not EXACT


def is_seen(one, command="nothing", number=1):
    """Whether so many units of a command are counted."""
    before = family.targets()[0]["units"]
    one.do(command)
    time.sleep(0.05)
    one.do(command)
    time.sleep(0.05)
    return family.targets()[0]["units"] >= before + number


family = Family()
audit = Audit("--duration", LONG, "--slower-than", "50ms", "--top", 1000, "-e", VICTIM)
wait_until(family.targets)      # there is no loop yet that it could be ready for
victim, stuck = Victim(), Victim()
ok(wait_until(lambda: is_seen(victim) and is_seen(stuck)), "the units of both are seen")

# One that never ends; the checks of it are below.
stuck_since, stuck_begun = next_record(), time.monotonic()
stuck.send("held plain 1000000")
held = stuck.answer().split()
stuck_lock, stuck_holder = int(held[1], 16), int(held[2])

since = next_record()
# With all its checks on, a kernel takes few stacks in a second.
victim.do("both 6000" if IS_SLOW else "both 650")
unit = unit_of(victim.pid, since)
check_form(unit, "a long unit")
kinds = [record["kind"] for record in unit]
# How often it is looked at is the host's, too; only that it is looked at is not.
ok(kinds == [LATE] * (len(kinds) - 1) + [ENDED] and
   (4 if EXACT else 2) <= len(kinds) <= 9, f"it is reported {len(kinds)} times")
ok(len(own_stacks(unit)) >= (15 if EXACT else 2), f"it has {len(own_stacks(unit))} stacks")
# Reported just before its end, it has none to take since.
ok(unit[-1]["stacks"] or unit[-1]["elapsed_ns"] < 1.2 * unit[-2]["elapsed_ns"] or not EXACT,
   "its end has those since its last report")
ok(spread(unit), "they are spread over its time")
audit.next_long("ended", 1000)
lines = [line for line in audit.lines if line["kind"] in ("late", "ended") and
         line["pid"] == victim.pid and line["unit"] == unit[0]["unit"]]
names = [set(functions(stack)) for line in lines for stack in line["stacks"]]
slept = sum("sleep_here" in stack for stack in names)
spun = sum("spin_here" in stack for stack in names)
# Before both and behind them it may be seen on its way.
others = sum(not stack & {"sleep_here", "spin_here"} for stack in names)
ok((others <= 1 and spun >= 3 and slept > spun if EXACT else others <= len(names) / 2) and
   not any("epoll_wait" in stack for stack in names),
   f"{slept} of them sleep, {spun} spin, and none is of the wait after it")
wrong = [(stack, own.get("syscall")) for stack, own in zip(names, own_stacks(unit))
         if not is_of_its_call(stack, own.get("syscall"))]
ok(not wrong, f"they show whether it is in a system call: {wrong or 'all'}")

since = next_record()
victim.do("deep 3000")
unit = unit_of(victim.pid, since)
check_form(unit, "with a deep stack")
# On its way to its sleep and back, which takes long on a busy host, it has less.
sizes = [stack["size"] for stack in own_stacks(unit)
         if EXACT or stack.get("syscall") == NANOSLEEP]
ok(sizes and min(sizes) > 39000, "the stacks are large")
ok(spread(unit, doublings=5), "what had to go leaves the others spread over its time")

for kind in ("plain", "recursive", "robust", "pi"):
    since = next_record()
    victim.send(f"held {kind} 400")
    word, address, holder = victim.answer().split()
    released_ns = int(victim.answer().split()[1])
    victim.answer()
    unit = unit_of(victim.pid, since)
    waits = [stack for stack in own_stacks(unit) if stack.get("syscall") == FUTEX]
    locks = [stack.get("lock") for stack in waits]
    lock = int(address, 16)
    # Before and after it the thread may be in other calls: to wake, to wait for the other's end.
    if lock in locks:
        last = len(locks) - 1 - locks[::-1].index(lock)
        waits, locks = [part[locks.index(lock):last + 1] for part in (waits, locks)]
    known = [stack for stack in waits if stack.get("holder") == int(holder)]
    ok(set(locks) == {lock}, f"{kind} mutex: the address of the lock is reported")
    # From its release until the thread runs, nobody holds it or the thread itself; a stack that
    # was begun just before may be of that time.
    unknown = [stack for stack in waits if stack not in known and stack["at_ns"] < released_ns]
    ok(known and len(unknown) <= 1 and
       not [stack for stack in waits if stack.get("holder", int(holder)) != int(holder)],
       f"{kind} mutex: its holder is reported, {len(known)} of {len(waits)}")
    # Where it just comes or goes, it moves on while its stack is read.
    ok(len(known) >= len(holders(unit)) >= len(known) - 2 and holders(unit) and
       all(stack["tid"] == int(holder) for stack in holders(unit)),
       f"{kind} mutex: and the holder's stack is there")
check_form(unit, "with a lock's holder")

# Many units at a time: more stacks than there is room for.
crowd = Victim("crowd", str(CROWD))
ok(wait_until(lambda: is_seen(crowd, "1", CROWD)), "a unit of each of its threads is counted")
since = next_record()
crowd.do("2500")
wait_until(lambda: nr_ended(crowd, since) + nr_replaced(since) >= CROWD)
ended, replaced = nr_ended(crowd, since), nr_replaced(since)
ok(ended and ended + replaced >= CROWD,
   f"{ended} of {CROWD} units at a time are reported to their end, {replaced} were replaced")
records = records_of(crowd.pid, since)
note(f"{len(records)} records with {sum(len(record['stacks']) for record in records)} stacks, "
     f"{family.stats()['ring_bytes']} bytes in the rings, "
     f"{family.stats()['crowded_stacks']} found no room")
if EXACT:
    ok(family.stats()["crowded_stacks"], "what found no room is counted")
ok(all(len(record["stacks"]) <= MAX_STACKS for record in records), "each with what it may have")
crowd.end()
crowd = Victim("crowd", str(KILLED))
wait_until(lambda: is_seen(crowd, "1", KILLED))
since = next_record()
crowd.do("100000")
wait_until(lambda: nr_sleeping(crowd.pid) >= KILLED)
time.sleep(2)
crowd.end()
ok(wait_until(lambda: nr_ended(crowd, since) == KILLED),
   "what a killed process kept is reported with the ends of its units")
ok(family.stats()["ring_bytes"] <= RING_BYTES, "the rings keep their size")

# The one that is stuck.
time.sleep(max(0, stuck_begun + STUCK_SECONDS - time.monotonic()))
unit = records_of(stuck.pid, stuck_since)
times = [record["elapsed_ns"] for record in unit]
note(f"reported at {[round(moment / MS) for moment in times]} ms")
ok(all(record["kind"] == LATE and record["unit"] == unit[0]["unit"] for record in unit) and
   all(after >= 2 * before for before, after in zip(times, times[1:])) and
   times[-1] > STUCK_SECONDS * 1000 * MS / 4,
   "a unit that never ends is reported again when its time has doubled")
check_form(unit, "the stuck one")
ok(all(len(own_stacks([record])) >= (5 if EXACT else 1) for record in unit[4:]),
   "each time with stacks since the time before")
# The first ones may be of the way to the lock.
stacks = own_stacks(unit)
while stacks and stacks[0].get("syscall") != FUTEX:
    stacks.pop(0)
note(f"{len(own_stacks(unit)) - len(stacks)} stacks before it waits, {len(stacks)} then, "
     f"{len(holders(unit))} of the holder")
ok(all((stack.get("syscall"), stack.get("lock"), stack.get("holder")) ==
       (FUTEX, stuck_lock, stuck_holder) for stack in stacks) and
   stacks[0]["at_ns"] - begin_of(unit) < STUCK_SECONDS * 1000 * MS / 4 and
   len(holders(unit)) == len(stacks), "and each with the lock's holder")
# One stack a second by now: not within the first seconds after a report.
while time.monotonic() - stuck_begun < \
        1.3 * records_of(stuck.pid, stuck_since)[-1]["elapsed_ns"] / (1000 * MS) + 3:
    time.sleep(0.5)
stuck.end()
unit = unit_of(stuck.pid, stuck_since)
ok(unit[-1]["kind"] == ENDED and (unit[-1]["stacks"] or not EXACT),
   "killed, it has an end, with the stacks since then")
victim.end()
audit.finish()
ok(audit.code == 0, "the audit ends cleanly")
done()
