# SPDX-License-Identifier: GPL-2.0
"""What is done at random to what is guarded: armed, disarmed, looked at, unloaded, and what the
machine may do besides."""

import collections
import os
import pathlib
import random
import subprocess
import time

from family import Refused
from perfguard import COLLECT, MODULE, collect, note, ok, run, wait_until

SECONDS = float(os.environ.get("SECONDS", 20))
SEED = int(os.environ.get("SEED", time.time_ns() % 10**6))
SECOND_CPU = pathlib.Path("/sys/devices/system/cpu/cpu1/online")


def unloaded():
    return wait_until(lambda: run("rmmod", "perfguard").returncode == 0, 60)


class Chaos:
    """What is done, and how often it could be; what is guarded, and how, subclasses say."""

    def __init__(self):
        note(f"SEED={SEED}")
        self.random = random.Random(SEED)
        self.done = collections.Counter()
        self.longest = (0, "")
        self.collectors = []
        self.clock_offset = time.time() - time.monotonic()
        self.verbs = [self.arm, self.arm, self.disarm, self.watch, self.audit, self.stop,
                      self.end_collector, self.pressure, self.hotplug, self.clock, self.unload,
                      self.side_by_side]
        self.deck = []

    def arm(self):
        """Count in done["guarded"] if processes are guarded then."""
        raise NotImplementedError

    def pid(self):
        """Of a process that is guarded, or was, or may be."""
        raise NotImplementedError

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

    def _collector(self, *words):
        if len(self.collectors) < 4:
            self.collectors.append(subprocess.Popen([COLLECT, *words], stdin=subprocess.DEVNULL,
                                                    stdout=subprocess.DEVNULL,
                                                    stderr=subprocess.DEVNULL))

    def watch(self):
        self._collector("watch", "--json")

    def audit(self):
        self._collector("audit", "--json", "--duration", "900", "--slower-than", "1ms",
                        "-p", str(self.pid()))

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
        """What can be reclaimed is."""
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
        begun = time.monotonic()
        try:
            verb()
            self.done[verb.__name__] += 1
        except (Refused, OSError) as error:
            self.done[f"{verb.__name__}: {error.strerror}"] += 1
        self.longest = max(self.longest, (time.monotonic() - begun, verb.__name__))

    def _end(self):
        for one in self.collectors:
            one.send_signal(18)
            one.kill()
            one.wait()
        if SECOND_CPU.exists():
            SECOND_CPU.write_text("1", encoding="ascii")
        time.clock_settime(time.CLOCK_REALTIME, time.monotonic() + self.clock_offset)
        self.disarm()

    def go_on(self, is_over):
        """All of that, for SECONDS or until something is wrong."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and not is_over():
            self.once()
        self._end()
        note(", ".join(f"{count} {what}" for what, count in sorted(self.done.items())))
        note(f"longest: {self.longest[1]}, {self.longest[0]:.1f} s")

    def judge(self):
        ok(self.done["guarded"] > 0, "and it was guarded meanwhile")
        ok(unloaded() and run("insmod", MODULE).returncode == 0, "the module goes and comes back")
