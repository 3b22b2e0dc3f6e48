# SPDX-License-Identifier: GPL-2.0
"""In the guest: late units of a server that nothing delays, by the limit that they exceeded.

usage: false_alarms.py PROGRAM OUT

The server is armed with OUT/profile.pgp, or with what training gives if there is none, and watched
under each of SPANS.  OUT/alarms.json has the units, late units and starved ones of each, and the
requests and late ones.  Nothing is judged here.
"""

import collections
import json
import pathlib
import sys
import time

import programs
from sensitivity import PART, Load, rival_of

from guarded import ENDED, LATE, Armed, reload
from perfguard import collect, note

SECONDS = 60
SUMS = ("units", "late", "starved")
TAIL = 1.5          # exponent of Pareto's law, for the pauses between a connection's requests
# (name, exponent or 0 for pauses that are alike, whether another process wants the CPU)
SPANS = (("steady", 0, False), ("steady, a rival", 0, True),
         ("heavy-tailed", TAIL, False), ("heavy-tailed, a rival", TAIL, True))


def requests(armed):
    """Counters of the one target."""
    return {"requests": armed.family.table("REQUEST_GET", "REQUEST")[0]["requests"],
            "late_requests": armed.family.table("TARGET_GET", "TARGET")[0]["late_requests"]}


def watch(armed):
    """What the module counted in a while, and by which limit the late ones were."""
    armed.alerts()
    before = armed.sums(*SUMS) | requests(armed)
    time.sleep(SECONDS)
    after = armed.sums(*SUMS) | requests(armed)
    # A unit that is reported while it runs is reported once more at its end.
    parts = {(one["tid"], one["unit"]): PART[one["part"]] for one in armed.alerts()
             if one["kind"] in (LATE, ENDED)}
    return {what: after[what] - before[what] for what in before} | {
        "parts": collections.Counter(parts.values())}


def main():
    name, out = sys.argv[1], pathlib.Path(sys.argv[2])
    reload(65536)
    program, profile, done = programs.load(name), out / "profile.pgp", {}
    program.start()
    try:
        if not profile.exists():
            load = Load(name)
            result = collect("train", "--requests", "--max-slowdown", "none", "-o", profile, "-p",
                             program.pid, timeout=900)
            load.stop()
            if result.returncode:
                raise RuntimeError(result.stdout + result.stderr)
        armed = Armed(profile, "--requests")
        for seed, (span, tail, has_rival) in enumerate(SPANS, 8):
            load, rival = Load(name, tail, seed), has_rival and rival_of(program.pid)
            done[span] = watch(armed)
            note(f"{span}: {done[span]}")
            load.stop()
            if rival:
                rival.kill()
        (out / "alarms.json").write_text(json.dumps({"spans": done}))
    finally:
        program.stop()


main()
