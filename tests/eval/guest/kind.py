# SPDX-License-Identifier: GPL-2.0
"""In the guest: train on a program of some kind for a minute, and count false alarms.

usage: kind.py kind:NAME traps|jumps OUT

pg-collect check says whether the program's work is in units.  Where it is, the program is trained
on by a workload of REQUESTS requests a stage, armed, and asked JUDGED other requests of the same
kinds.  OUT/kind.json has what came of it, OUT/inline-kind.json where guards are jumps.  Nothing is
judged here.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[2]
sys.path[:0] = [str(HERE), str(TOP / "tests/vm/guest")]

import programs  # noqa: E402
from guarded import Armed, reload, show  # noqa: E402
from perfguard import collect, note, run  # noqa: E402

CONNECTIONS = 4
PAUSE = 0.02        # between a connection's requests, s
REQUESTS = 3000
JUDGED = 20000
PROFILE = pathlib.Path("/tmp/kind.pgp")
SUMS = ("units", "late", "starved", "novel")


def client(name, seed, requests):
    return [sys.executable, "-B", str(HERE / "client.py"), name, "--connections",
            str(CONNECTIONS), "--pause", str(PAUSE), "--seed", str(seed), "--requests",
            str(requests)]


def check(program, name):
    """What check says while there is load."""
    load = subprocess.Popen(client(name, 1, 10**6), stdin=subprocess.DEVNULL)
    time.sleep(5)
    result = collect("check", *program.target(), timeout=600)
    load.terminate()
    load.wait(60)
    note(result.stdout)
    return result.returncode


def measure(name, program, ways):
    done = {"check": check(program, name)}
    result = collect("train", "-o", PROFILE, *ways, *program.target(), "--workload",
                     " ".join(client(name, 2, REQUESTS)), timeout=1500)
    done["said"] = result.stdout + result.stderr
    note(done["said"][-2000:])
    if result.returncode:
        return done
    armed, known = Armed(PROFILE, *ways), show(PROFILE)
    done |= {"types": known["types"], "guards": len(known["guards"])}
    before, types = armed.sums(*SUMS), armed.types()
    result = run(*client(name, 3, JUDGED), timeout=1500)
    if result.returncode:
        raise RuntimeError(result.stderr)
    after = armed.sums(*SUMS)
    done["late"] = {number: kind["late"] - types[number]["late"]
                    for number, kind in armed.types().items()}
    return done | {"judged": {what: after[what] - before[what] for what in SUMS},
                   "requests": JUDGED}


def main():
    name, way = sys.argv[1:3]
    ways = ["--inline"] if way == "jumps" else []
    out = pathlib.Path(sys.argv[3], "inline-kind.json" if ways else "kind.json")
    reload(65536)
    program = programs.load(name)
    program.start()
    try:
        out.write_text(json.dumps(measure(name, program, ways)))
    finally:
        program.stop()
        if PROFILE.exists():
            shutil.copy(PROFILE, out.parent)


main()
