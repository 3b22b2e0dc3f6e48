# SPDX-License-Identifier: GPL-2.0
"""In the guest: what recording the structure of a server, and guarding it, takes by traps and by jumps.

usage: inline.py PROGRAM OUT

Four connections ask without a pause, all the time.  The structure is recorded by traps, then by
jumps, with no bound on how much slower the server may become; then it is trained for a minute that
may make it LIMIT slower, in each way; then trained without a bound and guarded.  Before, between and after
nothing is done.  OUT/inline.json has what was served, and what CPU time
that took, in each span; and of the guards what the profile predicts and the module counted.  Nothing is
judged here.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "vm/guest"))

import programs  # noqa: E402

from perfguard import COLLECT, note, run, status  # noqa: E402

QUIET = 6           # s, of a span in which nothing is recorded
RECORDED = "24s"    # in all, the coverage that comes first included
TRAINED = "36s"     # the same, and timing
MINUTE = "60s"
LIMIT = "15%"
TRACE = "/tmp/inline.trace"
STAGE = re.compile(r"structure: (\d+) events")


def cpu_ns(pid):
    """That all threads of a process have used."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
    return total


class Client:
    """The load, and how much of it was served when."""

    def __init__(self, name, pid, out):
        self.out = out
        self.process = subprocess.Popen(
            [sys.executable, "-B", str(HERE / "client.py"), name, "--connections", "4", "--seed",
             "7", "--pid", str(pid), "--out", str(out)], stdin=subprocess.DEVNULL)

    def end(self):
        """When each request was answered, ns."""
        self.process.terminate()
        if self.process.wait(60):
            raise RuntimeError("the load failed")
        lines = (self.out / "requests.tsv").read_text().splitlines()[1:]
        return sorted(int(line.split("\t")[4]) for line in lines)


class Span:
    """A time, and what the server computed in it."""

    def __init__(self, pid):
        self.pid = pid
        self.begin = self.now()

    def now(self):
        return time.monotonic_ns(), cpu_ns(self.pid)

    def end(self, **more):
        end = self.now()
        return {"from_ns": self.begin[0], "to_ns": end[0], "cpu_ns": end[1] - self.begin[1], **more}


def quiet(pid):
    span = Span(pid)
    time.sleep(QUIET)
    return span.end()


def record(pid, options):
    """The span in which sites were on, as far as progress shows it, and its events."""
    command = [COLLECT, "record", "-v", "-o", TRACE, "-p", str(pid), "--duration", RECORDED,
               "--max-slowdown", "none", *options]
    span, found, said = None, None, []
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            said.append(line)
            match = STAGE.search(line)
            if "hot functions are left out" in line:
                span = None
            if match and span:
                found = span.end(events=int(match[1]) - first)
            elif match and int(match[1]) > 100:
                span, first = Span(pid), int(match[1])
    os.unlink(TRACE)
    if process.returncode or not found:
        raise RuntimeError("".join(said))
    note("".join(line for line in said if "structure" in line or "warning" in line)[-800:])
    return found


def profile_of(path):
    """What there is to say of a profile: of its loop with the most units."""
    known = json.loads(run(COLLECT, "show", "--json", path).stdout)
    main_loop = max(known["predictions"], key=lambda one: one["units"])
    return {"types": len(known["types"]), "guards": len(known["guards"]),
            "timed": sum(one["times"]["nr"] for one in known["types"]),
            "structure": sum(one["units"] for one in known["loops"]),
            "end": main_loop["accuracy_end"], "half": main_loop["accuracy_half"],
            "hits": main_loop["hits"], "unmerged": main_loop["accuracy_unmerged"]}


def check(result):
    if result.returncode:
        raise RuntimeError(result.stderr[-800:])
    return result


def train(pid, way, options):
    """The span of a training that may make it a little slower, and what it learnt."""
    path = f"/tmp/{way}-within.pgp"
    span = Span(pid)
    check(run(COLLECT, "train", "-o", path, "-p", pid, "--duration", MINUTE, "--max-slowdown",
              LIMIT, *options))
    span = span.end()
    return {**span, "within": profile_of(path)}


def guard(pid, way, options):
    """Train it, and guard it by that for a while; the span of guarding."""
    path = f"/tmp/{way}.pgp"
    check(run(COLLECT, "train", "-o", path, "-p", pid, "--duration", TRAINED, "--max-slowdown",
              "none", *options))
    check(run(COLLECT, "arm", "--budget", "none", *options, "-p", pid, path))
    time.sleep(1)
    span = quiet(pid)
    (counted,), (target,) = status("profile"), status("target")
    jumps = sum(one["jumps"] for one in status("process"))
    check(run(COLLECT, "disarm", "--all"))
    return {**span, **profile_of(path), "jumps": jumps, "armed_units": counted["units"],
            "armed_novel": counted["novel"], "armed_late": target["late"]}


def main():
    name, out = sys.argv[1], pathlib.Path(sys.argv[2])
    program = programs.load(name)
    program.start()
    client = Client(name, program.pid, out)
    spans = []
    try:
        time.sleep(2)
        for way, options in (("traps", []), ("jumps", ["--inline"])):
            spans.append(("nothing", quiet(program.pid)))
            spans.append((way, record(program.pid, options)))
            time.sleep(2)
        for way, options in (("training by traps", []), ("training by jumps", ["--inline"])):
            spans.append(("nothing", quiet(program.pid)))
            spans.append((way, train(program.pid, way.rpartition(" ")[2], options)))
            time.sleep(1)
        for way, options in (("guards by traps", []), ("guards by jumps", ["--inline"])):
            spans.append(("nothing", quiet(program.pid)))
            spans.append((way, guard(program.pid, way.rpartition(" ")[2], options)))
            time.sleep(1)
        spans.append(("nothing", quiet(program.pid)))
    finally:
        answered = client.end()
        program.stop()
    for _, span in spans:
        span["requests"] = sum(span["from_ns"] <= at < span["to_ns"] for at in answered)
    (out / "inline.json").write_text(json.dumps({"spans": spans}))


main()
