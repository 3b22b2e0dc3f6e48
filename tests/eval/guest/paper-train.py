# SPDX-License-Identifier: GPL-2.0
"""In the guest, where instructions are counted: record a program under a load.

usage: paper-train.py PROGRAM OUT DATA STAGE SECONDS [LOAD]

The load is the labelled mix by one client, which pauses while structure is recorded, or, for
mariadb-client, a typist at it; and nothing interrupts the server but the kernel: the guest has
one processor, and what the client does on it is no part of a unit.  With LOAD, figure 7, it is
that figure's, with the server and its clients side by side as they are there.
STAGE is structure, or timing by the guards of OUT/profile.pgp; SECONDS are the guest's.
OUT/STAGE.pgt, .log and .json are the result, to be learnt from on the host.
"""

import json
import pathlib
import platform
import shutil
import subprocess
import sys
import time

import paper_loads
import paper_server

HERE = pathlib.Path(__file__).resolve().parent
# Events come from the first function that is armed on, and until the last one is not any more.
# That takes longer than the recording: without a pause there would be far too many of them.
PAUSE_SECONDS = {"structure": 0.01, "timing": 0}
# The same between two portions of figure 7's loads.
PORTION_PAUSE_SECONDS = {"structure": 0.5, "timing": 0}
COLLECT = str(HERE.parents[2] / "pg-collect")


class Client:
    """The labelled mix by one client, until it is stopped; recording ends first."""

    def __init__(self, name, stage):
        self.process = subprocess.Popen(
            ["nice", "-n", "19", sys.executable, "-B", str(HERE / "client.py"), name,
             "--seed", "1", "--pause", str(PAUSE_SECONDS[stage])],
            stdin=subprocess.DEVNULL, start_new_session=True)

    def stop(self):
        self.process.terminate()
        if self.process.wait(60):
            sys.exit(f"client: exit {self.process.returncode}")


class Typist:
    """A user at the terminal."""

    def __init__(self, terminal, stage):
        self.terminal = terminal
        terminal.pause = PAUSE_SECONDS[stage]
        terminal.thread.start()

    def stop(self):
        self.terminal.is_wanted = False
        self.terminal.thread.join()


def begin_load(program, name, stage, load):
    if load:
        return paper_loads.Portions(program, name, PORTION_PAUSE_SECONDS[stage])
    paper_server.give_processor(program.pid)
    return Typist(program, stage) if name == "mariadb-client" else Client(name, stage)


def main():
    name, out, data, stage, seconds, *load = sys.argv[1:]
    out = pathlib.Path(out)
    begin = time.monotonic()
    program = paper_server.start(name, data)
    client = begin_load(program, name, stage, load)
    trace = program.dir / "trace.pgt"
    timing = ["--timing", out / "profile.pgp"] if stage == "timing" else []
    command = [COLLECT, "record", "-v", "-o", trace, "--max-slowdown", "none",
               "--duration", f"{seconds}s", *timing,
               "-p", program.pid]
    up = time.monotonic()
    with open(out / f"{stage}.log", "w", encoding="utf-8") as log:
        code = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL,
                              stdout=log, stderr=log, check=False).returncode
    client.stop()
    if code:
        sys.exit((out / f"{stage}.log").read_text()[-600:] + f"record: exit {code}")
    with open(trace, "rb") as source, open(out / f"{stage}.pgt", "wb", buffering=0) as target:
        shutil.copyfileobj(source, target, 1 << 20)
    (out / f"{stage}.json").write_text(json.dumps(
        {"program": name, "kernel": platform.release(), "start_s": round(up - begin, 2),
         "record_s": round(time.monotonic() - up, 2), "seconds": float(seconds)}) + "\n")
    program.stop()


main()
