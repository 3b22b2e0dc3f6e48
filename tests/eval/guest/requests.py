# SPDX-License-Identifier: GPL-2.0
"""In the guest: what the module says of a server's requests, and what its clients waited.

usage: requests.py PROGRAM OUT

OUT/requests.json has the sums before and after a load, each request that the module has recorded
meanwhile, and when each client asked and was answered.  Nothing is judged here.
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
from family import Family  # noqa: E402
from perfguard import Audit, note  # noqa: E402
from recorded import Recorded  # noqa: E402

CONNECTIONS = 16
REQUESTS = 4000
PAUSE = 0.004           # between a connection's requests, s
SPAN = 100000           # more than all takes, s of the guest's


def client(name, seed, connections, requests, *more):
    return [sys.executable, "-B", str(HERE / "client.py"), name, "--connections",
            str(connections), "--pause", str(PAUSE), "--seed", str(seed), "--requests",
            str(requests), *more]


def sums(family):
    """Of the one target that is audited."""
    row = family.table("REQUEST_GET", "REQUEST")[0]
    return {name: value for name, value in row.items() if isinstance(value, int)}


def measure(name, program, out):
    connections = min(CONNECTIONS, program.most_connections)
    warm = subprocess.Popen(client(name, 1, connections, 10**6), stdin=subprocess.DEVNULL)
    audit = Audit("--duration", SPAN, *program.target())
    ready = audit.next("ready")
    warm.terminate()
    warm.wait(60)
    if not ready:
        raise RuntimeError(audit.finish().errors)
    family = Family()
    before, recorded = sums(family), Recorded(family)
    subprocess.run(client(name, 2, connections, REQUESTS, "--pid", str(program.pid), "--out",
                          str(out), "--stamps"), check=True, timeout=1500)
    found = {"connections": connections, "before": before, "after": sums(family),
             "recorded": recorded.finish()}
    audit.finish()
    with open(out / "requests.tsv", encoding="ascii") as rows:
        found["asked"] = [{key: int(value) for key, value in row.items() if key != "label"} |
                          {"label": row["label"]} for row in csv.DictReader(rows, delimiter="\t")]
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
