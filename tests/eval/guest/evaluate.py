# SPDX-License-Identifier: GPL-2.0
"""In the guest: start a program, send it the requests of the evaluation, and record it.

usage: evaluate.py PROGRAM OUT [--inline] [PHASE...]

  load    plain loads of a known number of requests, recorded
  one     the labelled mix by one client, recorded for pg-collect learn
  four    the same by four at once, trained on by pg-collect train

With --inline structure is recorded by jumps where it can be.

Each phase has a directory below OUT.  OUT/phases.json has the result of each; a phase that
fails has its error there, and the others continue.  Nothing is judged here.
"""

import json
import pathlib
import platform
import re
import shlex
import shutil
import subprocess
import sys
import time
import traceback

import commands
import programs
from commands import COLLECT, Failed

HERE = pathlib.Path(__file__).resolve().parent
CLIENT = [sys.executable, str(HERE / "client.py")]
PHASES = ["load", "one", "four"]
CONNECTIONS = {"one": 1, "four": 4}
# How long a recording lasts, in s; a training lasts as long as it does by itself.
RECORD_SECONDS = 40
WAYS = [word for word in sys.argv[3:] if word == "--inline"]


def run(what, command, out, seconds):
    """A command to its end; its output is kept in OUT/WHAT.log.  Returns its seconds."""
    started = time.monotonic()
    commands.run(out / f"{what}.log", seconds, *command)
    return time.monotonic() - started


def record(program, out, seconds, *options):
    """pg-collect record; its trace goes to OUT, by way of memory as OUT is slow."""
    trace = program.dir / "trace.pgt"
    took = run("record", [COLLECT, "record", "-o", trace, "-v", "--max-slowdown", "none",
                          *WAYS, *options, "-p", program.pid],
               out, seconds)
    with open(trace, "rb") as source, open(out / "trace.pgt", "wb", buffering=0) as target:
        shutil.copyfileobj(source, target, 1 << 20)
    trace.unlink()
    return round(took, 1)


class Client:
    """client.py at work until it is stopped."""

    def __init__(self, program, name, out, connections, seed):
        self.out = out
        self.log = open(out / "client.log", "w", encoding="utf-8")
        self.process = subprocess.Popen(
            [*CLIENT, name, "--connections", str(connections), "--seed", str(seed),
             "--pid", str(program.pid), "--out", str(out)],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        end = time.monotonic() + 60
        while not (out / "sockets.tsv").exists():
            if self.process.poll() is not None or time.monotonic() > end:
                self.stop()
            time.sleep(0.05)

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        try:
            code = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.log.close()
        if code:
            raise Failed("client: " + (self.out / "client.log").read_text()[-400:])


def threads(pid):
    """{tid: name} of a process."""
    return {int(task.name): (task / "comm").read_text().strip()
            for task in pathlib.Path(f"/proc/{pid}/task").iterdir()}


def do_mix(program, name, phase, out):
    """Units of labelled requests, with the data to assign units to requests."""
    client = Client(program, name, out, CONNECTIONS[phase], seed=CONNECTIONS[phase])
    try:
        if phase == "one":
            seconds = record(program, out, RECORD_SECONDS + 120,
                             "--duration", f"{RECORD_SECONDS}s")
        else:
            seconds = run("train", [COLLECT, "train", "-o", out / "profile.pgp", "-v",
                                    "--max-slowdown", "none", *WAYS,
                                    "--units", out / "units.tsv", "-p", program.pid],
                          out, 390)
    finally:
        client.stop()
    if (program.dir / "access.log").exists():
        shutil.copy(program.dir / "access.log", out / "access.log")
    realtime = time.clock_gettime_ns(time.CLOCK_REALTIME) - time.monotonic_ns()
    return {"seconds": seconds, "realtime_ns": realtime}


def count_load(program, name, number, out):
    """The structure of the units that a plain load makes."""
    title, command, requests = program.loads()[number]
    if command[0] == "@client":
        command = [*CLIENT, name, *command[1:]]
    load = [sys.executable, "-B", str(HERE / "load.py"), str(out), *command]
    seconds = record(program, out, 240, "--duration", "400s", "--workload", shlex.join(load))
    return {"title": title, "requests": requests, "record_seconds": seconds}


def do_phase(program, name, phase, out):
    if phase.startswith("load"):
        return count_load(program, name, int(phase[4:]), out)
    return do_mix(program, name, phase, out)


def main():
    name, out = sys.argv[1], pathlib.Path(sys.argv[2])
    wanted = [word for word in sys.argv[3:] if word not in WAYS] or PHASES
    program = programs.load(name)
    program.start()
    results = {"program": name, "kernel": platform.release(), "pid": program.pid, "phases": {}}
    phases = []
    for phase in wanted:
        many = range(len(program.loads()))
        phases += [f"load{number}" for number in many] if phase == "load" else [phase]
    for phase in phases:
        directory = out / phase
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        started = time.monotonic()
        try:
            result = do_phase(program, name, phase, directory)
        except Exception as error:  # pylint: disable=broad-except
            if not isinstance(error, Failed):
                traceback.print_exc()
            result = {"error": re.sub(r"\s+", " ", str(error))}
        result["phase_seconds"] = round(time.monotonic() - started, 1)
        result["threads"] = threads(program.pid)
        results["phases"][phase] = result
        (out / "phases.json").write_text(json.dumps(results, indent=1) + "\n")
        print(f"{name} {phase}: {result.get('error', 'done')} ({result['phase_seconds']} s)",
              flush=True)
    program.stop()


main()
