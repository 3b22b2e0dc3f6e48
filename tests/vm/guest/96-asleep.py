# SPDX-License-Identifier: GPL-2.0
"""The first unit of a thread that slept when it came to be watched is judged as any other."""

import os
import pathlib
import signal
import time

from family import Family
from perfguard import (IS_SLOW, LONG, MODULE, MS, TOP, Audit, collect, done, is_in, note, ok, run,
                       skip, wait_until)
from profile import Context, Profile, Type, types
from record import ACCOUNT, Program
from scripted import NAP, SCRIPTED, WAIT, Scripted

ASLEEP = str(TOP / "build/tests/vm/asleep")
KINDS = ("epoll", "poll", "read", "recv", "all", "futex")
# It waits for all it asks for: to be woken before would cut it short.
MISSED = "all"
UNIT_MS = 300
LIMIT = 100 * MS
NAP_US = 300_000
WAIT_MS = 10_000
LATE, ENDED = 1, 2
RESTART_SYSCALL = 219


def switches(pid, tid):
    text = pathlib.Path(f"/proc/{pid}/task/{tid}/status").read_text(encoding="ascii")
    return int(text.partition("voluntary_ctxt_switches:")[2].split()[0])


class Asleep(Program):
    def __init__(self):
        super().__init__(ASLEEP)
        word, *tids = self.answer().split()
        assert word == "asleep"
        self.tids = dict(zip(KINDS, map(int, tids)))

    def switches(self):
        return {kind: switches(self.pid, tid) for kind, tid in self.tids.items()}

    def unit(self, kind):
        """A unit of the thread; what its wait returned."""
        self.send(f"{kind} {UNIT_MS}")
        return self.answer().split()[1:]


def wanted(kind):
    return {"epoll": "1", "poll": "1", "all": "8", "futex": "0"}.get(kind, "4")


def audited():
    program = Asleep()
    before = program.switches()
    audit = Audit("--duration", LONG, "--slower-than", f"{UNIT_MS // 2}ms", "-p", program.pid)
    note(f"{audit.next('ready')['loops']} loops")
    ok(program.switches() == before, "no thread is woken for being watched")
    for kind in KINDS:
        ok(program.unit(kind) == [wanted(kind)], f"{kind}: the wait returns what it does")
    time.sleep(1)
    audit.finish()
    ended = {line["tid"] for line in audit.kind("ended") if line["elapsed_ns"] >= UNIT_MS * MS}
    for kind in KINDS:
        if IS_SLOW:
            skip(f"{kind}: the first unit is reported", "not all loops are found in time")
        elif kind != MISSED:
            ok(program.tids[kind] in ended, f"{kind}: the first unit is reported")
    program.end()


def is_restarted(pid):
    """A thread sleeps in restart_syscall."""
    return any(task.joinpath("syscall").read_text(encoding="ascii").split()[0] ==
               str(RESTART_SYSCALL) for task in pathlib.Path(f"/proc/{pid}/task").iterdir())


def stop(pid):
    os.kill(pid, signal.SIGSTOP)
    ok(wait_until(lambda: is_in(pid, "T")), "it is stopped in its wait")
    os.kill(pid, signal.SIGCONT)


def watch(pid):
    """It is watched, and is so no more: the drain wakes it."""
    audit = Audit("--duration", LONG, "-p", pid)
    audit.next("ready")
    audit.finish()


def guarded(what, prepare=None):
    """The same of a profile that is armed: by its boundary, and with its guards."""
    family = Family()
    program = Scripted()
    short = (WAIT, 0, 20), (1, 0, 0)
    depth = program.run([*short, (WAIT, 0, 0)])[0][1][0][0][1]
    profile = Profile(SCRIPTED, [program.boundary()], [(program.offsets[1], 0)],
                      [Type(0, 1, parts_ns=(LIMIT, 0, 0, 0))], [Context(0, depth, [(0, 10, 10)])])
    script = [(WAIT, 0, WAIT_MS), (1, 0, 0), (NAP, 0, NAP_US), *short, (WAIT, 0, 0)]
    program.begin(script)
    time.sleep(0.5)
    if prepare:
        prepare(program.pid)
        ok(wait_until(lambda: is_restarted(program.pid)),
           f"{what}: its wait goes on as restart_syscall")
    number, target, _ = profile.arm(family, "asleep")
    family.record(target, ACCOUNT)
    first = family.stats()["next_alert"]
    program.finish(script)
    time.sleep(0.1)
    records = [one for one in family.alerts() if one["seq"] >= first]
    kinds = [one["kind"] for one in records]
    counts = types(family, number)[0]
    note(f"{len(records)} records, {counts['late']} late, {counts['units']} in time")
    ok(LATE in kinds and kinds[-1] == ENDED and records[-1]["type_id"] == 1 and
       counts["late"] == 1 and counts["units"] == 1,
       f"{what}: the first unit is reported late while it runs, and is of its type")
    collect("disarm", "--all")
    program.end()


def disarmed():
    """What sleeps still when the target goes leaves nothing behind, and notices nothing."""
    program = Asleep()
    audit = Audit("--duration", LONG, "-p", program.pid)
    audit.next("ready")
    begun = time.monotonic()
    ok(collect("disarm", "--all").returncode == 0, "disarmed while they sleep")
    audit.finish()
    ok(wait_until(lambda: run("rmmod", "perfguard").returncode == 0, 30),
       f"and the module goes, {time.monotonic() - begun:.1f} s later")
    for kind in KINDS:
        ok(program.unit(kind) == [wanted(kind)], f"{kind}: the wait went on")
    program.end()
    run("insmod", MODULE)


audited()
guarded("slept when a profile was armed")
guarded("was stopped before that", stop)
guarded("was watched before that", watch)
disarmed()
done()
