# SPDX-License-Identifier: GPL-2.0
"""What was mapped for jumps goes when nothing jumps there any more."""

import pathlib
import time

from inlined import HEADS, INLINE, INLINED, Setting, is_ready, mapped
from perfguard import IS_SLOW, done, note, ok, wait_until
from record import OWNED, RECORD, changed_bytes

SECONDS = 20 if IS_SLOW else 10     # in which threads have come by


def holders():
    """How many hold the module."""
    return int(pathlib.Path("/sys/module/perfguard/refcnt").read_text())


def again(setting, kind="pid"):
    """Watch the same program by another target."""
    setting.target = setting.recorder.watch(
        kind, setting.program.pid if kind == "pid" else INLINED, OWNED | RECORD)
    setting.recorder.sites(setting.target, INLINED, setting.program.offsets(), INLINE)


def forgotten():
    """A process is as it was before, as often as it is watched."""
    setting = Setting()
    program, recorder = setting.program, setting.recorder
    held = holders()
    for turn in range(3):
        program.do("run 1")
        ok(program.bytes() == HEADS and len(mapped(program.pid)) == 2,
           "a process has landings and areas" + (", again" if turn else ""))
        ok(holders() > held, "which hold the module")
        recorder.ask("forget", setting.target)
        program.do("run 1")
        ok(wait_until(lambda: not mapped(program.pid), SECONDS), "both go with the target")
        ok(wait_until(lambda: holders() < held, SECONDS), "and hold the module no more")
        ok(program.do("run 10").split()[0] == "0" and not changed_bytes(program.pid, INLINED),
           "results are right, and no byte is changed")
        again(setting)
    setting.end()


def children():
    """Those of a child go as well; it may have no target."""
    setting = Setting()
    program = setting.program
    program.do("run 1")
    child = int(program.do("fork"))
    program.do("child 1")
    ok(len(mapped(child)) == 2, "a child has its parent's landings and areas")
    setting.recorder.ask("forget", setting.target)
    program.do("run 1")
    program.do("child 1")
    ok(wait_until(lambda: not mapped(program.pid) + mapped(child), SECONDS), "they go in both")
    ok(program.do("run 10").split()[0] == "0" and program.do("child 10") == "0",
       "and results are right")
    program.do("reap")
    setting.end()


def nap():
    """A signal comes upon a thread, its handler sleeps, and there is nobody else to go on.
    Returns whether landings stayed mapped, and the wrong results."""
    setting = Setting()
    program = setting.program
    program.do("run 1")
    program.send("nap 3000")
    time.sleep(1)
    setting.recorder.ask("forget", setting.target)
    time.sleep(1)
    stays = any("landings" in name for name in mapped(program.pid))
    wrong = int(program.answer())
    # A child has what its parent has, or nothing.
    program.do("fork")
    wrong += int(program.do("child 10"))
    program.do("reap")
    setting.end()
    note(f"the signal came upon code {'within' if stays else 'outside of'} a landing")
    return stays, wrong


def signals():
    """What a thread may return to from a signal stays."""
    naps = [nap() for _ in range(6)]
    while len({stays for stays, _ in naps}) == 1 and len(naps) < 40:
        naps.append(nap())
    ok(any(stays for stays, _ in naps), "landings stay that a signal has come upon")
    ok(not all(stays for stays, _ in naps), "where it came upon others they go while it is handled")
    ok(not any(wrong for _, wrong in naps), "results are right after either")


def storm():
    """Under threads, signals, forks, vforks and execs."""
    setting = Setting("exe")
    program, recorder = setting.program, setting.recorder
    program.send(f"storm {600 * SECONDS}")
    times = went = 0
    while not is_ready(program):
        recorder.read(50)
        recorder.ask("forget", setting.target)
        times += 1
        went += wait_until(lambda: not mapped(program.pid), 1)
        again(setting, "exe")
    wrong, rounds, forks, execs = map(int, program.answer().split())
    note(f"{times} times forgotten, of which all was unmapped {went} times: {rounds} rounds, {forks} "
         f"forks, {execs} execs")
    ok(not wrong and forks and execs, f"no result was wrong of {rounds} rounds")
    recorder.ask("forget", setting.target)
    ok(changed_bytes(program.pid, INLINED) == 0, "and no byte is changed at the end")
    setting.end()
    ok(wait_until(lambda: holders() == 0, SECONDS), "nothing holds the module when all have ended")


forgotten()
children()
signals()
storm()
done()
