# SPDX-License-Identifier: GPL-2.0
"""In the guest: what is reported of requests that are late by one known cause.

usage: causes.py CAUSE NAME OUT

OUT/causes.json has, for each injection, what the client waited and all that was reported until
the next one: of its request, and of units.  Nothing is judged here.
"""

import json
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[2]
sys.path[:0] = [str(HERE), str(TOP / "tests/vm/guest")]

import injected  # noqa: E402
from perfguard import Audit, note  # noqa: E402

INJECTIONS = 20
BEFORE = 30             # requests that nothing delays, so that places and keys are known
LIMIT_MS = 100
SETTLED = 0.3           # until the end of a request is reported, s
SPAN = 100000           # more than all takes, s of the guest's


def reported(audit, since):
    """What was reported meanwhile."""
    audit.next("", 0.5)
    return audit.lines[since:], len(audit.lines)


def inject(injection, audit):
    """[{what the client waited, what was reported}] of each."""
    found = []
    _, since = reported(audit, 0)
    for _ in range(INJECTIONS):
        begin = time.monotonic_ns()
        injection.inject()
        took = time.monotonic_ns() - begin
        time.sleep(SETTLED)
        injection.usual()
        lines, since = reported(audit, since)
        found.append({
            "took_ns": took,
            "requests": [line for line in lines if line["kind"] == "request" and
                         line["client"] == injection.address()],
            "units": [line for line in lines if line["kind"] in ("late", "ended")]})
        note(f"{took / 1e6:.0f} ms: {[one['cause'] for one in found[-1]['requests']]}")
    return found


def measure(injection):
    audit = Audit("--duration", SPAN, "--slower-than", f"{LIMIT_MS}ms", *injection.server.target())
    if not audit.next("ready"):
        raise RuntimeError(audit.finish().errors)
    for _ in range(BEFORE):
        injection.usual()
        time.sleep(0.01)
    found = inject(injection, audit)
    audit.finish()
    return {"address": injection.address(), "injections": found,
            "requests": audit.kind("requests")}


def main():
    cause, name, out = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    subprocess.run(["sysctl", "-qw", "kernel.task_delayacct=1"], check=True)
    injection = injected.load(cause, name)
    injection.start()
    try:
        found = measure(injection)
        found["named"] = injection.named
        (out / "causes.json").write_text(json.dumps(found))
    finally:
        injection.stop()


main()
