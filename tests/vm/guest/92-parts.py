# SPDX-License-Identifier: GPL-2.0
"""Each part of a unit's time has its own limit; who only waits for a CPU is starved, not late."""

import os
import pathlib
import signal
import subprocess
import time

from family import NUMBER, Family
from perfguard import MS, collect, done, is_in, note, ok, wait_until
from profile import Context, Profile, Type, types
from record import ACCOUNT
from scripted import NAP, SCRIPTED, SPIN, WAIT, Scripted

ALL, OWN, CPU, BLOCKED, STOPPED = 1, 2, 3, 4, 6
NAMES = {ALL: "all", OWN: "own", CPU: "cpu", BLOCKED: "blocked", STOPPED: "being stopped"}
SIGNAL = 1          # a cause of stops
NANOSLEEP = "230"
LATE, ENDED = 1, 2
OVERDUE = 2
US = 30_000         # what a unit computes or sleeps
LIMIT = 10 * MS
LONG = 60_000 * MS
TRIES = 8           # by then the host has left the program its CPU once
SHORT = (WAIT, 0, 20), (1, 0, 0)
LIMIT_STOPPED = 400 * MS
STOP_S = 1.2


class Trial:
    """The program, guarded by a profile of one type with these limits."""

    def __init__(self, family, program, depth, threshold=0, own=0, cpu=0, blocked=0, interrupt=0,
                 batch=0, event=-1, novel=0):
        self.family, self.program = family, program
        profile = Profile(SCRIPTED, [program.boundary()], [(program.offsets[1], 0)],
                          [Type(threshold, 1, parts_ns=(own, cpu, blocked, 0),
                                interrupt_ns=interrupt, batch_ns=batch,
                                novel_ns=novel)],
                          [Context(0, depth, [(0, 10, 10)])], event=event)
        self.profile, target, _ = profile.arm(family, "parts")
        family.record(target, ACCOUNT)

    def run(self, *steps, meanwhile=None):
        """(the unit's record, what the type counts) of a unit of these steps, between short ones"""
        first = self.family.stats()["next_alert"]
        script = [*SHORT, *SHORT, *steps, *SHORT, (WAIT, 0, 0)]
        self.program.begin(script)
        if meanwhile:
            meanwhile()
        self.program.finish(script)
        time.sleep(0.05)
        records = [one for one in self.family.alerts() if one["seq"] >= first]
        ended = [one for one in records if one["kind"] == ENDED and one["elapsed_ns"] > LIMIT]
        return ended[-1] if ended else None, records, types(self.family, self.profile)[0]


def text(record):
    if not record:
        return "in time"
    return (f"late by {NAMES[record['part']]}, {record['elapsed_ns'] / MS:.1f} ms, cpu "
            f"{record['cpu_ns'] / MS:.1f}, run queue {record['runqueue_ns'] / MS:.1f}, blocked "
            f"{record['blocked_ns'] / MS:.1f}")


def each(family, program, depth):
    """A limit of one part says nothing of the others."""
    for limits, step, part in (
            ({"own": LONG, "cpu": LIMIT}, SPIN, CPU), ({"own": LONG, "cpu": LIMIT}, NAP, None),
            ({"own": LONG, "blocked": LIMIT}, NAP, BLOCKED),
            ({"own": LONG, "blocked": LIMIT}, SPIN, None),
            ({"own": LIMIT, "cpu": LONG}, NAP, OWN), ({"threshold": LIMIT}, NAP, ALL),
            ({"own": 2 * LIMIT, "cpu": LIMIT}, SPIN, CPU)):
        trial = Trial(family, program, depth, **limits)
        record, records, _ = trial.run((WAIT, 0, 20), (1, 0, 0), (step, 0, US))
        what = "computes" if step == SPIN else "sleeps"
        note(f"{limits}, a unit {what} {US // 1000} ms: {text(record)}")
        ok((record["part"] if record else None) == part,
           f"a unit {what}: it is {'late by ' + NAMES[part] if part else 'in time'}")
        if record:
            ok(record["threshold_ns"] == min(limits.values()), "and the record says by what limit")
            ok(any(one["kind"] == LATE and one["found_by"] == OVERDUE and one["part"] == part
                   for one in records), "it was found while it ran")
        collect("disarm", "--all")


def interrupted(family, program, depth):
    """Whoever computes for many ticks of the timer was interrupted, and may take longer for it."""
    def late(interrupt):
        trial = Trial(family, program, depth, cpu=US * 1000 - MS // 2, interrupt=interrupt)
        record, _, _ = trial.run((WAIT, 0, 20), (1, 0, 0), (SPIN, 0, US))
        note(f"a unit computes {US // 1000} ms, limit {US / 1000 - 0.5} ms and, interrupted, "
             f"{interrupt / MS:.0f} more: {text(record)}")
        collect("disarm", "--all")
        return record is not None

    # Where the host takes its CPU away the unit is longer than it should be.
    ok(late(0) and not all(late(MS) for _ in range(TRIES)), "an interrupted unit may take longer")


def batched(family, program, depth):
    """Two events of one wait: only the second one's unit may take longer for that."""
    def late(batch):
        trial = Trial(family, program, depth, cpu=US * 1000 - MS // 2, batch=batch, event=0)
        _, records, _ = trial.run((WAIT, 0, 20), *2 * ((1, 0, 0), (SPIN, 0, US)))
        units = [one["unit"] for one in records if one["kind"] == ENDED]
        note(f"two events of {US // 1000} ms, limit {US / 1000 - 0.5} ms and, batched, "
             f"{batch / MS:.0f} more: units {units} are late")
        collect("disarm", "--all")
        return units

    both = late(0)
    ok(len(both) == 2 and any(late(MS) == both[:1] for _ in range(TRIES)),
       "a batched unit may take longer, and no other")


def novel(family, program, depth):
    """A unit in a context that the profile does not have may be of no type: it has a limit too."""
    for limit, is_late in ((0, True), (LONG, False), (2 * LIMIT, True)):
        trial = Trial(family, program, depth + 8, own=LIMIT, novel=limit)
        record, _, kind = trial.run((WAIT, 0, 20), (1, 0, 0), (NAP, 0, US))
        note(f"limit {LIMIT // MS} ms, of a unit of no type {limit // MS}: {text(record)}")
        ok((record is not None) == is_late and kind["units"] == 0,
           f"it is {'late' if is_late else 'in time'}, and does not count for its type")
        if record:
            ok(record["threshold_ns"] == max(LIMIT, limit), "and the record says by what limit")
        collect("disarm", "--all")


def starved(family, program, depth):
    """Others take the CPU: the unit's own time is as ever."""
    rivals = [subprocess.Popen(["taskset", "-c", "0", "sh", "-c", "while :; do :; done"])
              for _ in range(3)]
    os.sched_setaffinity(program.pid, {0})
    trial = Trial(family, program, depth, own=2 * US * 1000, cpu=2 * US * 1000)
    record, _, kind = trial.run((WAIT, 0, 20), (1, 0, 0), (SPIN, 0, US))
    if record:
        note(text(record))
    ok(not record and kind["starved"] >= 1 and kind["late"] == 0 and
       kind["runqueue_ns"] > US * 1000,
       f"a unit among three rivals for its CPU is starved, not late: {kind['starved']} starved, "
       f"{kind['late']} late, {kind['runqueue_ns'] / MS:.0f} ms in the run queue")
    collect("disarm", "--all")
    trial = Trial(family, program, depth, threshold=2 * US * 1000)
    record, _, kind = trial.run((WAIT, 0, 20), (1, 0, 0), (SPIN, 0, US))
    note(text(record))
    ok(record and record["part"] == ALL and kind["starved"] == 0,
       "by a limit of all of its time it is late")
    collect("disarm", "--all")
    for rival in rivals:
        rival.kill()
        rival.wait()


def calls(pid):
    """The system calls that a process's threads are in."""
    return [task.joinpath("syscall").read_text(encoding="ascii").split()[0]
            for task in pathlib.Path(f"/proc/{pid}/task").iterdir()]


def stopped(family, program, depth):
    """It is late by no limit that it was stopped, and that is in no mean of its type."""
    def stop():
        wait_until(lambda: NANOSLEEP in calls(program.pid))
        program.process.send_signal(signal.SIGSTOP)
        wait_until(lambda: is_in(program.pid, "T"))
        time.sleep(STOP_S)
        program.process.send_signal(signal.SIGCONT)

    for limits in ({"own": LIMIT_STOPPED}, {"threshold": LIMIT_STOPPED},
                   {"own": LONG, "blocked": LIMIT_STOPPED}):
        trial = Trial(family, program, depth, **limits)
        record, records, kind = trial.run((WAIT, 0, 20), (1, 0, 0), (NAP, 0, 4 * US),
                                          meanwhile=stop)
        if not ok(record, "a unit that was stopped is reported"):
            continue
        note(f"{text(record)}, stopped {record['stopped_ns'] / MS:.1f}")
        ok(record["stopped_ns"] >= STOP_S * 1e9 and record["stop_cause"] == SIGNAL and
           record["stopped_by"] == signal.SIGSTOP, "with how long, and by what signal")
        ok(record["part"] == STOPPED and kind["stopped"] == 1 and kind["late"] == 0 and
           kind["elapsed_ns"] < STOP_S * 1e9,
           f"it is not late, and its type has no part of it: {kind['elapsed_ns'] / MS:.0f} ms of "
           f"{kind['units']} units")
        ok(any(one["kind"] == LATE and one["part"] == STOPPED and one["is_stopped"]
               for one in records), "it was reported while it was stopped")
        collect("disarm", "--all")


def main():
    family = Family()
    program = Scripted()
    depth = program.run([*SHORT, (WAIT, 0, 0)])[0][1][0][0][1]
    ok("A_RECORD_PART" in NUMBER, "the family has the part")
    each(family, program, depth)
    interrupted(family, program, depth)
    batched(family, program, depth)
    novel(family, program, depth)
    starved(family, program, depth)
    stopped(family, program, depth)
    program.end()
    done()


main()
