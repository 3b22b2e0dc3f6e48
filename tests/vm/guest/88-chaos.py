# SPDX-License-Identifier: GPL-2.0
"""Everything at once, at random: the targets live and compute what they should, and the module
goes when it is told to.

By hand SECONDS=3600 makes it last for an hour, CYCLES=1000 loads, arms, disarms and unloads so
often, and SEED=N repeats the order of what was done."""

import collections
import os
import pathlib
import random
import shutil
import subprocess
import threading
import time

from family import Family, Refused
from hostile import HOSTILE, LIBM, Hostile, work
from perfguard import COLLECT, IS_SLOW, MODULE, collect, done, note, ok, run, wait_until

SECONDS = float(os.environ.get("SECONDS", 20))
CYCLES = int(os.environ.get("CYCLES", 2))
SEED = int(os.environ.get("SEED", time.time_ns() % 10**6))
FEW = 20 if IS_SLOW else 100
TMP = pathlib.Path("/tmp/chaos")
PROGRAM, LIBRARY = TMP / "program", TMP / "library.so"
SECOND_CPU = pathlib.Path("/sys/devices/system/cpu/cpu1/online")


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


class Chaos:
    """What is done, at random; how often it could be."""

    def __init__(self):
        self.random = random.Random(SEED)
        self.done = collections.Counter()
        self.traffic = [Traffic(SEED + i) for i in range(2)]
        # Where the guards are does not change.
        self.profile = self.traffic[0].program.profile(str(PROGRAM))
        self.collectors = []
        self.clock_offset = time.time() - time.monotonic()
        self.verbs = [self.arm, self.arm, self.disarm, self.kill, self.upgrade, self.watch,
                      self.audit, self.stop, self.end_collector, self.pressure, self.hotplug,
                      self.clock, self.unload, self.side_by_side]
        self.deck = []

    def arm(self):
        guards = self.profile.guards
        try:
            self.profile.guards = guards[:self.random.randint(1, len(guards))]
            _, _, processes = self.profile.arm(Family(), "chaos")
            self.done["guarded"] += processes > 0
        finally:
            self.profile.guards = guards

    def disarm(self):
        collect("disarm", "--all")

    def side_by_side(self):
        """Armed, disarmed and listed by several at once."""
        others = [subprocess.Popen([COLLECT, *words], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
                  for words in (("disarm", "--all"), ("status",), ("disarm", "--all"))]
        try:
            self.arm()
        finally:
            for one in others:
                one.wait()

    def kill(self):
        self.random.choice(self.traffic).kill()

    def upgrade(self):
        replace(HOSTILE, PROGRAM)
        replace(os.path.realpath(LIBM), LIBRARY)

    def _collector(self, *words):
        if len(self.collectors) < 4:
            self.collectors.append(subprocess.Popen([COLLECT, *words], stdin=subprocess.DEVNULL,
                                                    stdout=subprocess.DEVNULL,
                                                    stderr=subprocess.DEVNULL))

    def watch(self):
        self._collector("watch", "--json")

    def audit(self):
        self._collector("audit", "--json", "--duration", "900", "--slower-than", "1ms",
                        "-p", str(self.random.choice(self.traffic).program.pid))

    def stop(self):
        if self.collectors:
            self.random.choice(self.collectors).send_signal(self.random.choice((18, 19)))

    def end_collector(self):
        if self.collectors:
            one = self.collectors.pop(self.random.randrange(len(self.collectors)))
            one.send_signal(18)
            one.send_signal(self.random.choice((2, 9, 15)))
            one.wait()

    def pressure(self):
        pathlib.Path("/proc/sys/vm/drop_caches").write_text("3", encoding="ascii")
        run("sh", "-c", "head -c 64M /dev/zero | tail -c 1")

    def hotplug(self):
        if SECOND_CPU.exists():
            is_on = SECOND_CPU.read_text(encoding="ascii").strip() == "1"
            SECOND_CPU.write_text("0" if is_on else "1", encoding="ascii")

    def clock(self):
        step = self.random.choice((-3600, 3600, 1, -1))
        time.clock_settime(time.CLOCK_REALTIME, time.time() + step)

    def unload(self):
        """Refused while something is armed."""
        if run("rmmod", "perfguard").returncode == 0:
            self.done["unloaded"] += 1
            if run("insmod", MODULE).returncode:
                raise RuntimeError("the module does not come back")

    def once(self):
        """Each of them comes before one comes again."""
        if not self.deck:
            self.deck = self.random.sample(self.verbs, len(self.verbs))
        verb = self.deck.pop()
        try:
            verb()
            self.done[verb.__name__] += 1
        except (Refused, OSError) as error:
            self.done[f"{verb.__name__}: {error.strerror}"] += 1

    def end(self):
        for one in self.collectors:
            one.send_signal(18)
            one.kill()
            one.wait()
        if SECOND_CPU.exists():
            SECOND_CPU.write_text("1", encoding="ascii")
        time.clock_settime(time.CLOCK_REALTIME, time.monotonic() + self.clock_offset)
        self.disarm()


def unloaded():
    return wait_until(lambda: run("rmmod", "perfguard").returncode == 0, 60)


def chaos():
    disorder = Chaos()
    for one in disorder.traffic:
        one.start()
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and not any(one.wrong for one in disorder.traffic):
        disorder.once()
    disorder.end()
    for one in disorder.traffic:
        one.end()
    note(", ".join(f"{count} {what}" for what, count in sorted(disorder.done.items())))
    wrong = [each for one in disorder.traffic for each in one.wrong]
    note(f"{[one.answers for one in disorder.traffic]} answers, "
         f"{[one.kills for one in disorder.traffic]} kills; wrong: {wrong}")
    ok(not wrong and all(one.answers for one in disorder.traffic), "all answers were right")
    ok(disorder.done["guarded"] > 0, "and it was guarded meanwhile")
    ok(unloaded() and run("insmod", MODULE).returncode == 0, "the module goes and comes back")


def cycles():
    """Load, arm, traffic, disarm, unload."""
    program = Hostile(PROGRAM)
    profile = program.profile(str(PROGRAM))
    bad = 0
    for _ in range(CYCLES):
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
    note(f"SEED={SEED}")
    chaos()
    cycles()
    done()


main()
