# SPDX-License-Identifier: GPL-2.0
"""In the guest: a profile goes over to another build of its program.

usage: carry.py PROGRAM OLD NEW OUT

The program OLD is trained on and guarded by that; the profile is carried to NEW, which is guarded
by it.  OUT/carry.json has of either which types the units of each label of requests had, and of the
new one what the carrying said, the late units of a calm span, and which units that were delayed
were reported.  Nothing is judged here.
"""

import json
import pathlib
import sys
import time

import programs
from programs.program import ask
from sensitivity import Delayer, Load, Watch, common_function, false_alarms, pair

from guarded import Armed, show
from perfguard import collect, note

REQUESTS = 60       # of each label
CALM = 20           # s
DELAYED = 20        # s
DELAYS = 4          # a second: of more not all are reported
SIZES = (30, 60)    # of delays, by the mean of a unit
LIVE = 60           # s


def must(*command, **options):
    result = collect(*command, **options)
    note(result.stdout + result.stderr)
    if result.returncode:
        raise RuntimeError(result.stdout + result.stderr)
    return result.stdout


def start(name, exe):
    program = programs.load(name)
    program.exe = exe
    program.start()
    return program


def by_label(program, armed):
    """{label: {type: units}}"""
    found = {}
    mix = program.mix(0, 1, 99)
    with program.connect() as connection:
        for label in mix.labels:
            before = armed.types()
            for _ in range(REQUESTS):
                ask(mix, connection, mix.choose(label))
            time.sleep(0.2)
            found[label] = {kind: row["units"] + row["late"] - before[kind]["units"] -
                            before[kind]["late"] for kind, row in armed.types().items()}
    return found


def delayed(armed, profile, calm):
    """A row for each unit that was delayed by far more than it takes."""
    kinds = armed.types()
    mean_ns = sum(one["elapsed_ns"] for one in kinds.values()) / \
        max(sum(one["units"] for one in kinds.values()), 1)
    recorder = armed.stream()
    path, offset, share = common_function(profile)
    every = max(int(sum(row[0] for row in calm.values()) / CALM * share / DELAYS), 1)
    delayer = Delayer((path, offset), every, mean_ns, False, SIZES)
    watch = Watch(armed)
    try:
        watch.follow(recorder, DELAYED)
    finally:
        rows = delayer.end()
    watch.follow(recorder, 1)
    recorder.ask("close")
    return pair(rows, watch)


def carried(profile):
    return [one["id"] for one in show(profile)["types"] if one["is_carried"]]


def old_build(name, exe, profile):
    program = start(name, exe)
    load = Load(name)
    must("train", "-o", profile, "--max-slowdown", "none", "-p", program.pid, timeout=900)
    load.stop()
    armed = Armed(profile)
    found = {"types": len(show(profile)["types"]), "labels": by_label(program, armed),
             "bytes": profile.stat().st_size}
    collect("disarm", "--all")
    program.stop()
    return found


def new_build(name, exe, before, profile):
    program = start(name, exe)
    found = {"said": must("learn", "--carry", before, "-o", profile, "-e", exe)}
    armed = Armed(profile)
    found |= {"types": len(show(profile)["types"]), "carried": carried(profile),
              "labels": by_label(program, armed)}
    load = Load(name)
    time.sleep(2)
    found["calm"] = false_alarms(armed, CALM)
    found["delayed"] = delayed(armed, profile, found["calm"])
    must("learn", "--live", "--duration", f"{LIVE}s", "-o", profile)
    found["carried after"] = carried(profile)
    load.stop()
    program.stop()
    return found


def main():
    name, old, new, out = sys.argv[1], sys.argv[2], sys.argv[3], pathlib.Path(sys.argv[4])
    before, after = out / "carry-old.pgp", out / "carry-new.pgp"
    before.unlink(missing_ok=True)
    after.unlink(missing_ok=True)
    done = {"old": old_build(name, old, before)}
    (out / "carry.json").write_text(json.dumps(done))
    done["new"] = new_build(name, new, before, after)
    (out / "carry.json").write_text(json.dumps(done))


main()
