# SPDX-License-Identifier: GPL-2.0
"""Limits are learnt again on the machine where a profile is armed; a slow span is not learnt.

Requests of twice the work stand for a machine of half the speed.
"""

import json
import os
import pathlib
import re
import subprocess
import time

from guarded import Armed, Guarded, show
from perfguard import COLLECT, collect, done, note, ok, skip

SCALE = 4
TRAINING = 6000
SECONDS = 24
ADAPT_SECONDS = 12
SLOW_SECONDS = 7
UNITS = 4000
PROFILE = pathlib.Path("/tmp/live.pgp")


class Load:
    """Requests one after the other, until it is stopped."""

    def __init__(self, server, seed, scale):
        self.process = subprocess.Popen(
            ["sh", "-c", f"while {server.command(seed, UNITS, 'steady', scale)}; do :; done"],
            start_new_session=True)

    def stop(self):
        # The shell may have started another one meanwhile; once it is gone there is no more.
        for _ in range(2):
            subprocess.run(["pkill", "-KILL", "-s", str(self.process.pid)], check=False)
            self.process.wait()


FEW = 50


def limits(least=100):
    """Of types with so many timed units."""
    return {one["id"]: one["limits_ns"]["own"] for one in show(PROFILE)["types"]
            if one["times"]["nr"] >= least}


def shares(server, seed, scale):
    """Of the units of a run, how many are late."""
    armed = Armed(PROFILE)
    server.load(seed, UNITS, "steady", scale)
    kinds = armed.types().values()
    late, units = sum(one["late"] for one in kinds), sum(one["units"] for one in kinds)
    note(f"{late} of {late + units} units are late")
    return late / (late + units)


def learn(server, scale, *slower):
    """What 'learn --live' says, under such a load."""
    load = Load(server, 5, scale)
    process = subprocess.Popen(
        [COLLECT, "learn", "-o", str(PROFILE), "--live", "--duration", f"{SECONDS}s"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for one in slower:
        time.sleep(SECONDS / 3)
        load.stop()
        load = Load(server, 6, one)
        time.sleep(SLOW_SECONDS)
        load.stop()
        load = Load(server, 7, scale)
    text = process.communicate()[0]
    load.stop()
    for line in text.splitlines():
        note(line)
    return process.returncode, text


def says_slower(server):
    """After enough units that one of 128 of them says something."""
    server.load(10, 4 * UNITS, "steady", 2 * SCALE)
    result = collect("diff", "--live", "--json", PROFILE)
    slower = [one["times"]["cpu"] for one in json.loads(result.stdout)["types"]
              if one["change"] == "slower"]
    note(collect("diff", "--live", PROFILE).stdout)
    ok(result.returncode == 0 and slower and
       all(1.3 <= one["after_ns"] / one["before_ns"] <= 2.3 for one in slower),
       "diff says which types are slower than in training, and by how much")


def learns(server, before):
    """The limits, once they are learnt under twice the load."""
    code, text = learn(server, 2 * SCALE)
    pace = re.search(r"compute ([0-9.]+) times", text)
    ok(code == 0 and pace and 1.3 <= float(pace[1]) <= 2.3,
       "learnt there, and at what pace units are")
    # Of how many a second one is timed depends on how many the load makes in the span.
    after = limits(FEW)
    ratios = sorted(after[kind] / before[kind] for kind in before if kind in after)
    note([round(ratio, 2) for ratio in ratios])
    ok(set(after) >= set(before) and 1.3 <= ratios[len(ratios) // 2] <= 2.5 and
       ratios[0] >= 0.8 and ratios[-1] <= 3, "limits are twice as long, except where they were few")
    ok(shares(server, 8, 2 * SCALE) < 0.01, "with them hardly any unit is late")
    return after


def omits_slow(server, after):
    code, text = learn(server, 2 * SCALE, 6 * SCALE)
    # Half of the span does not count.
    again = limits(30)
    note({kind: round(again[kind] / after[kind], 2) for kind in after if kind in again})
    ok(code == 0 and text.count("slow in") >= len(after) / 2, "a slow span is recognised")
    ok(set(after) <= set(again) and all(again[kind] <= 1.5 * after[kind] for kind in after),
       "and not learnt")


def adapts(server):
    before = PROFILE.read_bytes()
    load = Load(server, 9, 2 * SCALE)
    process = subprocess.Popen(
        [COLLECT, "arm", "--adapt", "-v", "--duration", f"{ADAPT_SECONDS}s", str(PROFILE)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said, passes = "", 0
    # The second pass takes twice as long, and begins with what the first one learnt.
    while passes < 2 and (line := process.stdout.readline()):
        said += line
        passes += "limits are learnt from the next" in line
    process.terminate()
    said += process.communicate()[0]
    load.stop()
    for line in said.splitlines():
        note(line)
    ok(passes == 2 and said.count("units compute") == 1 and PROFILE.read_bytes() != before,
       "arm --adapt learns by itself")
    ok(collect("learn", "-o", PROFILE, "--live", "--duration", "1s").returncode == 0,
       "and has armed what it learnt")


def main():
    server = Guarded()
    trained = server.train(PROFILE, TRAINING, "steady", "--hits", 1, scale=SCALE)
    ok(trained.returncode == 0, "trained")
    before = limits()
    ok(shares(server, 3, SCALE) < 0.01, "hardly any unit is late as in training")
    ok(shares(server, 4, 2 * SCALE) > 0.3, "but many are where all take twice as long")
    says_slower(server)
    omits_slow(server, learns(server, before))
    adapts(server)
    collect("disarm", "--all")
    result = collect("learn", "-o", PROFILE, "--live", "--duration", "1s")
    ok(result.returncode == 1 and "is not armed as it is" in result.stderr,
       "a profile has to be armed as it is in its file")
    server.end()


if os.environ.get("EXACT"):
    main()
else:
    skip("limits are learnt", "what the host does besides would be learnt")
done()
