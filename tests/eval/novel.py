#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Whether units are recognised that are of no kind that training saw, on servers in the VM.

usage: novel.py [--program NAME] [--kernel KERNEL] [--again]

Without options: all programs on 6.12.  --again judges what an earlier run recorded, without a VM.
The table goes to the standard output and to tests/eval/results/novel.md.

Exit: 0 all requirements were met, 1 not so, 2 usage
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "guest"), str(HERE.parents[1] / "tests/vm/guest")]

import measured  # noqa: E402

PAGE = HERE / "results/novel.md"
FILE = "novel.json"
PROGRAMS = ("redis", "nginx", "memcached", "apache", "mariadb")
SECONDS = 900
LEAST = 0.95        # of the units of a kind that training left out

HOW = f"""\
A server is trained by `train --inline` on a load of four connections in which one kind of requests does not
occur, and guarded by `arm --inline`. Then come requests of that kind alone. Their units fit no type
("novel"): asked is that this is found of {LEAST:.0%}. Kinds are the labels of the
[page of training](training.md); some need the same code as others, so that there is nothing to find.

* **novel before**: of the units of the load without that kind
* **novel**: of the units while only that kind was asked for
"""


def share(counted):
    units, novel = counted
    return novel / units if units else 0


def judge(found):
    return [(found["program"], kind["label"], f"{share(kind['known']):.2%}",
             f"{kind['unknown'][0]:,}", f"{share(kind['unknown']):.1%}",
             "yes" if share(kind["unknown"]) >= LEAST else "no") for kind in found["kinds"]]


def main():
    arguments = measured.arguments(PROGRAMS)
    for program in [] if arguments.again else arguments.program or PROGRAMS:
        measured.measure(program, arguments.kernel, FILE, SECONDS,
                         [(None, HERE / "guest/novel.py", program)])
    founds = measured.founds(PROGRAMS, arguments.kernel, FILE)
    rows = [row for found in founds for row in judge(found)]
    table = measured.table(["program", "kind left out", "novel before", "units", "novel",
                            "as asked"], rows)
    print(table)
    measured.page(PAGE, "Units of a kind that training did not see",
                  f"Linux {arguments.kernel}, by `make eval-novel`", founds, f"{HOW}\n{table}")
    return 0 if len(founds) == len(PROGRAMS) and all(row[-1] == "yes" for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
