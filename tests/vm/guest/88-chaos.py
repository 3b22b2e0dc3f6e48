# SPDX-License-Identifier: GPL-2.0
"""Everything at once, at random: the targets live and compute what they should, and the module
goes when it is told to.

By hand SECONDS=3600 makes it last for an hour, CYCLES=1000 loads, arms, disarms and unloads so
often, and SEED=N repeats the order of what was done."""

import os
import pathlib
import random
import shutil
import threading

from chaos import SECONDS, SEED, Chaos, unloaded
from family import Family
from hostile import HOSTILE, LIBM, Hostile, work
from perfguard import IS_SLOW, MODULE, collect, done, note, ok, run

CYCLES = int(os.environ.get("CYCLES", 2))
FEW = 20 if IS_SLOW else 100
TMP = pathlib.Path("/tmp/chaos")
PROGRAM, LIBRARY = TMP / "program", TMP / "library.so"


def replace(source, path):
    """As a package's upgrade does: another file of the same name."""
    shutil.copy(source, TMP / "new")
    os.rename(TMP / "new", path)


class Traffic(threading.Thread):
    """A program that is asked without end, and started again when it was killed."""

    LINES = {
        f"work {FEW}": work(FEW),
        "forks 8": sum(work(i) & 127 for i in range(8)),
        "execs 4": sum(work(i) & 127 for i in range(4)),
        f"reload {LIBRARY} 4": sum(range(4)),
    }

    def __init__(self, seed):
        super().__init__(daemon=True)
        self.random = random.Random(seed)
        self.is_over = threading.Event()
        self.answers = self.kills = 0
        self.is_killed = False
        self.wrong = []
        self.program = Hostile(PROGRAM)

    def ask(self, line, wanted):
        try:
            got = self.program.asked(line)
        except (BrokenPipeError, ValueError):
            got = None
        if got is None and self.is_killed:
            self.is_killed = False
            self.program.end()
            self.program = Hostile(PROGRAM)
        elif got != wanted:
            self.wrong.append((line, got, self.program.process.poll()))
        else:
            self.answers += 1

    def run(self):
        while not self.is_over.is_set() and not self.wrong:
            self.ask(*self.random.choice(list(self.LINES.items())))

    def kill(self):
        if not self.is_killed:
            self.is_killed = True
            self.kills += 1
            self.program.process.kill()

    def end(self):
        self.is_over.set()
        self.join()
        self.ask("work 1", work(1))
        self.program.end()


class Programs(Chaos):
    """Programs that fork, execute and load libraries, which are killed and upgraded, too."""

    def __init__(self):
        super().__init__()
        self.traffic = [Traffic(SEED + i) for i in range(2)]
        # Where the guards are does not change.
        self.profile = self.traffic[0].program.profile(str(PROGRAM))
        self.verbs += [self.kill, self.upgrade]

    def pid(self):
        return self.random.choice(self.traffic).program.pid

    def arm(self):
        guards = self.profile.guards
        try:
            self.profile.guards = guards[:self.random.randint(1, len(guards))]
            _, _, processes = self.profile.arm(Family(), "chaos")
            self.done["guarded"] += processes > 0
        finally:
            self.profile.guards = guards

    def kill(self):
        self.random.choice(self.traffic).kill()

    def upgrade(self):
        replace(HOSTILE, PROGRAM)
        replace(os.path.realpath(LIBM), LIBRARY)


def chaos():
    disorder = Programs()
    for one in disorder.traffic:
        one.start()
    disorder.go_on(lambda: any(one.wrong for one in disorder.traffic))
    for one in disorder.traffic:
        one.end()
    wrong = [each for one in disorder.traffic for each in one.wrong]
    note(f"{[one.answers for one in disorder.traffic]} answers, "
         f"{[one.kills for one in disorder.traffic]} kills; wrong: {wrong}")
    ok(not wrong and all(one.answers for one in disorder.traffic), "all answers were right")
    disorder.judge()


def cycles():
    """Load, arm, traffic, disarm, unload."""
    program = Hostile(PROGRAM)
    profile = program.profile(str(PROGRAM))
    bad = 0
    for i in range(CYCLES):
        if i and i % 100 == 0:
            note(f"{i} cycles, {bad} bad")
        profile.arm(Family(), "cycle")
        bad += program.asked(f"work {FEW}") != work(FEW)
        collect("disarm", "--all")
        bad += not unloaded()
        bad += program.asked(f"work {FEW}") != work(FEW)
        bad += run("insmod", MODULE).returncode
    program.end()
    ok(bad == 0, f"{CYCLES} times loaded, armed, disarmed and unloaded")


def main():
    shutil.rmtree(TMP, ignore_errors=True)
    TMP.mkdir()
    replace(HOSTILE, PROGRAM)
    replace(os.path.realpath(LIBM), LIBRARY)
    if SECONDS:
        chaos()
    cycles()
    done()


main()
