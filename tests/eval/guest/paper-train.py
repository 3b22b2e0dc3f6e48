# SPDX-License-Identifier: GPL-2.0
"""In the guest, where instructions are counted: record a program under the labelled mix.

usage: paper-train.py PROGRAM OUT DATA STAGE SECONDS

One client, or, for mariadb-client, a typist at it; and nothing interrupts the server but the
kernel: the guest has one processor, and what the client does on it is no part of a unit.
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

import paper_server

HERE = pathlib.Path(__file__).resolve().parent
COLLECT = str(HERE.parents[2] / "pg-collect")


class Client:
    """The labelled mix by one client, until it is stopped; what records goes first."""

    def __init__(self, name):
        self.process = subprocess.Popen(
            ["nice", "-n", "19", sys.executable, "-B", str(HERE / "client.py"), name,
             "--seed", "1"],
            stdin=subprocess.DEVNULL, start_new_session=True)

    def stop(self):
        self.process.terminate()
        if self.process.wait(60):
            sys.exit(f"client: exit {self.process.returncode}")


class Typist:
    """Somebody at the terminal."""

    def __init__(self, terminal):
        self.terminal = terminal
        terminal.thread.start()

    def stop(self):
        self.terminal.is_wanted = False
        self.terminal.thread.join()


def main():
    name, out, data, stage, seconds = sys.argv[1:]
    out = pathlib.Path(out)
    begin = time.monotonic()
    program = paper_server.start(name, data)
    paper_server.give_processor(program.pid)
    client = Typist(program) if name == "mariadb-client" else Client(name)
    trace = program.dir / "trace.pgt"
    timing = ["--timing", out / "profile.pgp"] if stage == "timing" else []
    command = [COLLECT, "record", "-v", "-o", trace, "--duration", f"{seconds}s", *timing,
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
