# SPDX-License-Identifier: GPL-2.0
"""In the guest: a profile goes to a slower machine.

usage: live.py train|learn PROGRAM OUT

train: a program is trained on under a steady load; OUT/profile.pgp is what that gave.
learn: that profile is armed as it is, then once its limits were learnt from the units there, then
once more after a pass in a third of which each unit took about twice its time.  OUT/live.json has the
false alarms and the limits of each.  Nothing is judged here.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import time

import programs
from sensitivity import Delayer, Load, common_function, false_alarms

from guarded import Armed, show
from perfguard import COLLECT, collect, note

PROFILE = pathlib.Path("/tmp/live.pgp")
SPAN = 30           # that is watched, s
PASS = 60           # of learning, s
SLOW = 20           # of that


def limits():
    """{type: [units that were timed, mean and limit of its own time]}"""
    return {one["id"]: [one["times"]["nr"], one["mean_ns"]["own"], one["limits_ns"]["own"]]
            for one in show(PROFILE)["types"] if one["times"]["nr"]}


def state():
    """The profile as it is now, armed."""
    return {"alarms": false_alarms(Armed(PROFILE), SPAN), "limits": limits()}


def learn(mean_ns=0, place=None):
    """What a pass said; with a place, each unit that comes by it is slow for a while."""
    process = subprocess.Popen([COLLECT, "learn", "-o", PROFILE, "--live", "--duration",
                                f"{PASS}s"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True)
    if place:
        time.sleep(SLOW)
        path, offset, _ = place
        delayer = Delayer((path, offset), 1, mean_ns, False, (1, 2))
        time.sleep(SLOW)
        delayer.end()
    said = process.communicate()[0]
    if process.returncode:
        raise RuntimeError(said)
    note(said)
    return said


def measure():
    done = {"as trained": state(), "said": learn()}
    done["learnt"] = state()
    kinds = done["learnt"]["limits"].values()
    mean_ns = sum(nr * mean for nr, mean, _ in kinds) / sum(nr for nr, _, _ in kinds)
    done["said of a slow span"] = learn(mean_ns, common_function(PROFILE))
    done["learnt again"] = state()
    return done


def main():
    stage, name, out = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    program = programs.load(name)
    program.start()
    load = Load(name)
    try:
        if stage == "train":
            result = collect("train", "-o", out / "profile.pgp", "--max-slowdown", "none", "-p",
                             program.pid, timeout=900)
            if result.returncode:
                raise RuntimeError(result.stdout + result.stderr)
        else:
            shutil.copy(out / "profile.pgp", PROFILE)
            (out / "live.json").write_text(json.dumps(measure()))
    finally:
        load.stop()
        program.stop()


main()
