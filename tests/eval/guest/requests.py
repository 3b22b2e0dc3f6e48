# SPDX-License-Identifier: GPL-2.0
"""In the guest: what the module says of a server's requests, and what its clients waited.

usage: requests.py PROGRAM OUT

OUT/requests.json has the sums before and after a load, the slowest requests, and when each client
asked and was answered.  Nothing is judged here.
"""

import csv
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[2]
sys.path[:0] = [str(HERE), str(TOP / "tests/vm/guest")]

import programs  # noqa: E402
from family import NUMBER, Family, number, parse  # noqa: E402
from perfguard import Audit, note  # noqa: E402

CONNECTIONS = 16
REQUESTS = 4000
PAUSE = 0.004           # between a connection's requests, s
SPAN = 100000           # more than all takes, s of the guest's


def client(name, seed, requests, *more):
    return [sys.executable, "-B", str(HERE / "client.py"), name, "--connections",
            str(CONNECTIONS), "--pause", str(PAUSE), "--seed", str(seed), "--requests",
            str(requests), *more]


def sums(family):
    """Of the one target that is audited."""
    row = family.table("REQUEST_GET", "REQUEST")[0]
    return {name: value for name, value in row.items() if isinstance(value, int)}


def slowest(family):
    """[{elapsed_ns, begin_ns, ...}]"""
    names = {NUMBER[f"A_SLOW_REQUEST_{name}_NS"]: f"{name.lower()}_ns" for name in
             ("ELAPSED", "QUEUED", "WORKING", "PEERS", "BEGIN")}
    return [{names[kind]: number(data) for kind, data in parse(payload) if kind in names}
            for message in family.dump("REQUEST_GET") for kind, payload in message
            if kind == NUMBER["A_REQUEST_SLOW"]]


def measure(name, program, out):
    warm = subprocess.Popen(client(name, 1, 10**6), stdin=subprocess.DEVNULL)
    audit = Audit("--duration", SPAN, *program.target())
    ready = audit.next("ready")
    warm.terminate()
    warm.wait(60)
    if not ready:
        raise RuntimeError(audit.finish().errors)
    family = Family()
    before = sums(family)
    subprocess.run(client(name, 2, REQUESTS, "--pid", str(program.pid), "--out", str(out)),
                   check=True, timeout=1500)
    found = {"connections": CONNECTIONS, "before": before, "after": sums(family),
             "slow": slowest(family)}
    audit.finish()
    with open(out / "requests.tsv", encoding="ascii") as rows:
        found["asked"] = [[int(row["sent_ns"]), int(row["answered_ns"])]
                          for row in csv.DictReader(rows, delimiter="\t")]
    note(f"{found['before']} {found['after']}")
    return found


def main():
    name, out = sys.argv[1], pathlib.Path(sys.argv[2])
    program = programs.load(name)
    program.start()
    try:
        (out / "requests.json").write_text(json.dumps(measure(name, program, out)))
    finally:
        program.stop()


main()
