# SPDX-License-Identifier: GPL-2.0
"""In the guest: are units recognised that are of no kind that training saw?

usage: novel.py PROGRAM OUT

LEFT_OUT kinds of requests in turn are left out of a load of four connections that a server is trained
on, and guarded, by jumps.  Then there is the same load for a while, and one of the kind left out alone.
OUT/novel.json has the units of each, and how many of them were novel.  Nothing is judged here.
"""

import contextlib
import json
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "vm/guest")]

import programs  # noqa: E402

from perfguard import COLLECT, note, run, status  # noqa: E402

LEFT_OUT = 4
TRAINED = "36s"
SPAN = 5            # s
PROFILE = "/tmp/novel.pgp"


@contextlib.contextmanager
def load(name, *which):
    process = subprocess.Popen([sys.executable, "-B", str(HERE / "client.py"), name,
                                "--connections", "4", "--seed", "7", *which],
                               stdin=subprocess.DEVNULL)
    try:
        time.sleep(1)
        yield
    finally:
        process.terminate()
        if process.wait(60):
            raise RuntimeError("the load failed")


def check(result):
    if result.returncode:
        raise RuntimeError(result.stderr[-800:])


def span():
    """Units of a while, and the novel ones among them."""
    (before,) = status("profile")
    time.sleep(SPAN)
    (after,) = status("profile")
    return [after[what] - before[what] for what in ("units", "novel")]


def measure(name, pid, label):
    with load(name, "--without", label):
        check(run(COLLECT, "train", "-o", PROFILE, "-p", pid, "--duration", TRAINED,
                  "--max-slowdown", "none", "--inline"))
        check(run(COLLECT, "arm", "--budget", "none", "--inline", "-p", pid, PROFILE))
        time.sleep(1)
        known = span()
    with load(name, "--label", label):
        unknown = span()
    check(run(COLLECT, "disarm", "--all"))
    note(f"without {label}: {known}, alone: {unknown}")
    return {"label": label, "known": known, "unknown": unknown}


def main():
    name, out = sys.argv[1], pathlib.Path(sys.argv[2])
    program = programs.load(name)
    program.start()
    labels = program.mix(0, 1, 1).labels
    step = max(len(labels) // LEFT_OUT, 1)
    try:
        found = [measure(name, program.pid, label) for label in labels[::step][:LEFT_OUT]]
    finally:
        program.stop()
    (out / "novel.json").write_text(json.dumps({"kinds": found}))


main()
