# SPDX-License-Identifier: GPL-2.0
"""Each unit of a loop is late, at the highest rate there is: none of them is lost uncounted.

SECONDS=60 does it for a minute, by hand."""

import json
import os
import pathlib
import subprocess
import time

from family import NLM_F_DUMP, NUMBER, Family, number
from perfguard import (COLLECT, IS_SLOW, PATIENCE, TOP, Audit, done, note, ok, run, status,
                       wait_until)
from record import Program

SECONDS = float(os.environ.get("SECONDS", 4))
THREADS = 2
AT_ONCE = 1000 if IS_SLOW else 20000


class Flood(Program):
    """tests/vm/flood: does as many units as it is asked for."""

    def __init__(self):
        super().__init__(TOP / "build/tests/vm/flood", THREADS)
        self.pid = int(self.answer())
        time.sleep(0.3)

    def work(self, units):
        """So many of each thread; how many that were."""
        return THREADS * units if self.do(str(units)) == "ok" else 0


class Watch:
    """pg-collect watch --json, into a file, as it may say much."""

    def __init__(self, path, *options):
        self.path = path
        with open(path, "wb") as file:
            self.process = subprocess.Popen([COLLECT, "watch", "--json", *options],
                                            stdin=subprocess.DEVNULL, stdout=file)

    def lines(self):
        return pathlib.Path(self.path).read_bytes().count(b"\n")

    def is_silent(self):
        before = self.lines()
        time.sleep(1)
        return self.lines() == before

    def end(self):
        """Once it has no more to say, its lines."""
        wait_until(self.is_silent)
        self.process.send_signal(2)
        self.process.wait(PATIENCE)
        with open(self.path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]


def count(lines):
    """(late units reported singly, folded, lost)"""
    singly = {(line["tid"], line["unit"]) for line in lines if line["kind"] in ("late", "ended")}
    return (len(singly), sum(line["count"] for line in lines if line["kind"] == "repeated"),
            sum(line["lost"] or 0 for line in lines if line["kind"] == "lost"))


def suppressed():
    """Units that the rate limit of the target held back, by the module's own count."""
    return sum(line["suppressed"] for line in status("target"))


def behind():
    """Those who read alerts more slowly than they come are not held by them."""
    flood, family, reader = Flood(), Family(), Family()
    audit = Audit("--duration", 3600, "--slower-than", "1ns", "-p", flood.pid)
    audit.next("ready")
    watch = Watch("/tmp/behind", "--window", "0")
    start = family.stats()["next_alert"]
    wait_until(lambda: flood.work(100) and family.stats()["next_alert"] > start)
    flood.send(str(10**9))
    wait_until(lambda: family.stats()["next_alert"] > start + 300)
    wanted = reader.send(NUMBER["CMD_ALERT_GET"], NLM_F_DUMP, b"")
    end = family.stats()["next_alert"]
    wait_until(lambda: family.stats()["next_alert"] > end)
    seqs = [number(dict(one)[NUMBER["A_RECORD_SEQ"]]) for one in reader.receive(wanted)
            if NUMBER["A_RECORD_SEQ"] in dict(one)]
    ok(seqs and max(seqs) < end, f"a dump of the alerts ends where it began: {seqs[-1:]}, {end}")
    wait_until(watch.lines)
    watch.process.send_signal(2)
    before = watch.lines()
    watch.process.wait(PATIENCE)
    after = watch.lines() - before
    # What it had read, and not written to the file yet, is there.
    ok(after < 64, f"watch reads no more when it is told to end: {after} alerts")
    flood.end()
    audit.finish()
    reader.close()


def main():
    flood, family = Flood(), Family()
    before = {name: family.stats()[name] for name in ("lost_memory", "lost_overwritten")}
    folding = Watch("/tmp/folded")
    single = Watch("/tmp/single", "--window", "0")
    time.sleep(1)
    audit = Audit("--duration", 3600, "--slower-than", "1ns", "-p", flood.pid)
    ok(audit.next("ready"), "an audit for which each unit is late")
    generated, start = 0, time.monotonic()
    while time.monotonic() < start + SECONDS:
        generated += flood.work(AT_ONCE)
    seconds = time.monotonic() - start
    note(f"{generated} late units in {seconds:.1f} s, {generated / seconds:.0f} a second")
    held = suppressed()
    lost = {name: family.stats()[name] - value for name, value in before.items()}
    time.sleep(1)
    audit.finish()
    counted = sum(loop["late"] for loop in audit.loops())
    # The unit that a thread slept in when the audit came is not among them.
    ok(generated - THREADS <= counted <= generated, f"the audit counts {counted} of {generated}")
    for name, watch in (("folded", folding), ("singly", single)):
        reported, folded, missed = count(watch.end())
        note(f"{name}: {reported} reported, {folded} folded, {missed} lost in the ring, "
             f"{held} held back by the rate limit, {lost}")
        # What the ring lost may be the end of a unit of which the alert was read.
        excess = reported + folded + missed + held + lost["lost_memory"] - counted
        ok(reported > 0 and 0 <= excess <= missed,
           f"{name}: what was reported, folded and counted lost is what there was")
    ok(wait_until(lambda: run("rmmod", "perfguard").returncode == 0) and
       run("insmod", os.environ["PERFGUARD_KO"]).returncode == 0, "the module goes and comes back")
    ok(flood.work(10) == 10 * THREADS, "the program goes on")
    flood.end()
    behind()
    done()


main()
