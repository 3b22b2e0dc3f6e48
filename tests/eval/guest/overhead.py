# SPDX-License-Identifier: GPL-2.0
"""In the guest, with time counted in instructions: the cost of guarding a subject.

usage: overhead.py SUBJECT OUT

The same requests are sent without and with the guards of OUT/profile.pgp, and of OUT/floor.pgp, which
has none and so costs what the boundaries of units do, several times in turn; OUT/overhead.json has
the CPU time of the program each time.
"""

import itertools
import json
import pathlib
import platform
import sys

import subjects
from commands import COLLECT, run
from cpu import Meter

ROUNDS = 3
PROFILES = {"off": None, "floor": "floor.pgp", "on": "profile.pgp"}
SEED = 200


def main():
    subject, out = subjects.load(sys.argv[1]), pathlib.Path(sys.argv[2])
    number = subject.cost_requests
    log = out / "overhead.log"
    subject.dir.mkdir(parents=True, exist_ok=True)
    subject.start()
    meter = Meter(subject.pid)
    # Each has a seed of its own, as what was made once cannot be made again.
    seeds = itertools.count(SEED)
    subject.ask(number, next(seeds))
    spent = {way: [] for way in PROFILES}
    for _ in range(ROUNDS):
        for way, profile in PROFILES.items():
            if profile:
                run(log, 600, COLLECT, "arm", "--budget", "none", *subject.armed_by(),
                    out / profile)
            # The program pays once for the changes of its memory by arming.
            subject.ask(number // 10 + 1, next(seeds))
            before = meter.read()
            subject.ask(number, next(seeds))
            spent[way].append(meter.read() - before)
            if profile:
                run(log, 600, COLLECT, "disarm", "--all")
        (out / "overhead.json").write_text(json.dumps(
            {"kernel": platform.release(), "requests": number, **spent}) + "\n")
    subject.stop()


main()
