# SPDX-License-Identifier: GPL-2.0
"""In the guest: guard a program by profiles, and record what the module infers for its units.

usage: guards.py PROGRAM OUT

OUT/plan.json has the steps; a profile's name stands for OUT/NAME.pgp:
  record          names of profiles: each is armed in turn, and all calls are recorded with
                  what its guards infer, to OUT/NAME.pgt
  record_seconds  how long, each
  alarms          the same: only its guards, under a normal load; the module's counters
                  before and after are in OUT/alarms-NAME.json
  alarm_seconds   how long, each

All the time the labelled mix is sent by four clients.  OUT/done.json has the result of each
step; nothing is judged here.
"""

import json
import os
import pathlib
import platform
import re
import shutil
import signal
import subprocess
import sys
import time

import programs
from commands import COLLECT, PROGRAMS, Failed, count, run

HERE = pathlib.Path(__file__).resolve().parent
CONNECTIONS = 4
# Not the seed of any training; each client that comes has the next one, and so other keys.
FIRST_SEED = 100
# After arming, until all threads go by the profile.
SETTLE_SECONDS = 1
# Additional time for arming and recording, in this emulation.
PROGRAM_SECONDS = 150
PROFILE_SECONDS = 40


class Client:
    """client.py at work until it is stopped."""

    def __init__(self, name, seed):
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "client.py"), name, "--connections", str(CONNECTIONS),
             "--seed", str(seed)], stdin=subprocess.DEVNULL, start_new_session=True)

    def stop(self):
        ended = self.process.poll()
        if ended is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            code = self.process.wait()
        if code or ended is not None:
            raise Failed(f"client: exit {code}")


def record(program, name, plan, seed, out):
    """Traces go to OUT by way of memory, as OUT is slow."""
    names = plan["record"]
    traces = [program.dir / f"{profile}.pgt" for profile in names]
    pairs = [word for profile, trace in zip(names, traces)
             for word in (out / f"{profile}.pgp", trace)]
    client = Client(name, seed)
    try:
        time.sleep(SETTLE_SECONDS)
        run(out / "record.log",
            PROGRAM_SECONDS + len(names) * (plan["record_seconds"] + PROFILE_SECONDS),
            PROGRAMS / "record-guards", plan["record_seconds"], *pairs)
    finally:
        client.stop()
        for trace in filter(pathlib.Path.exists, traces):
            with open(trace, "rb") as source, \
                    open(out / trace.name, "wb", buffering=0) as target:
                shutil.copyfileobj(source, target, 1 << 20)
            trace.unlink()


def alarms(program, name, profile, plan, seed, out):
    log = out / f"alarms-{profile}.log"
    run(log, PROFILE_SECONDS, COLLECT, "arm", "--budget", "none", out / f"{profile}.pgp")
    client = Client(name, seed)
    try:
        time.sleep(SETTLE_SECONDS)
        before = count(program.pid, log)
        time.sleep(plan["alarm_seconds"])
        after = count(program.pid, log)
    finally:
        client.stop()
    (out / f"alarms-{profile}.json").write_text(
        json.dumps({"before": before, "after": after, "seconds": plan["alarm_seconds"]}) + "\n")


def main():
    name, out = sys.argv[1], pathlib.Path(sys.argv[2])
    plan = json.loads((out / "plan.json").read_text())
    program = programs.load(name)
    program.start()
    results = {"program": name, "kernel": platform.release(), "steps": {}}
    steps = [(f"alarms-{profile}",
              lambda seed, it=profile: alarms(program, name, it, plan, seed, out))
             for profile in plan["alarms"]]
    if plan["record"]:
        steps.append(("record", lambda seed: record(program, name, plan, seed, out)))
    for seed, (step, do) in enumerate(steps, FIRST_SEED):
        started = time.monotonic()
        error = ""
        try:
            do(seed)
        except (Failed, OSError, ValueError) as failure:
            error = re.sub(r"\s+", " ", str(failure))
        seconds = round(time.monotonic() - started, 1)
        results["steps"][step] = {"error": error, "seconds": seconds}
        (out / "done.json").write_text(json.dumps(results, indent=1) + "\n")
        print(f"{name} {step}: {error or 'done'} ({seconds} s)", flush=True)
    run(out / "disarm.log", 60, COLLECT, "disarm", "--all")
    program.stop()


main()
