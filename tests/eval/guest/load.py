# SPDX-License-Identifier: GPL-2.0
"""The workload of a recording that is counted: run by pg-collect record, once in each stage.

usage: load.py OUT COMMAND...

In the first stage the command runs once.  In the second, the recording of structure restarts
when it knows which functions are hot; so the command runs for warming up until this is over, and
then once to be counted.  OUT/counted.tsv has when that began and ended (CLOCK_MONOTONIC, ns).
"""

import pathlib
import re
import subprocess
import sys
import time

WARM_SECONDS = 5
WARM_MOST_SECONDS = 60


def is_under_way(said):
    """Whether the recording is past its rehearsal, by what it said."""
    left_out = said.rfind("left out")
    return re.search(r"structure: [1-9]\d* events", said[max(left_out, 0):]) is not None


def main():
    out, command = pathlib.Path(sys.argv[1]), sys.argv[2:]
    stage = out / "second-stage"
    if not stage.exists():
        subprocess.run(command, check=True)
        stage.touch()
        return
    begin = time.monotonic()
    while time.monotonic() - begin < WARM_MOST_SECONDS:
        subprocess.run(command, check=True)
        said = (out / "record.log").read_text(errors="replace")
        if time.monotonic() - begin > WARM_SECONDS and is_under_way(said):
            break
    time.sleep(1)
    begin_ns = time.monotonic_ns()
    subprocess.run(command, check=True)
    time.sleep(0.5)
    (out / "counted.tsv").write_text(f"{begin_ns}\t{time.monotonic_ns()}\n")


main()
