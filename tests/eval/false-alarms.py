#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""How many units of real servers are late that nothing delays, by the limit that they exceed.

usage: false-alarms.py [--program NAME] [--kernel KERNEL] [--again]

Without options: all programs on 6.12.  --again judges what an earlier run recorded, without a VM.
The table goes to the standard output and to tests/eval/results/alarms.md.

Exit: 0 all requirements were met, 1 not so, 2 usage
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE / "guest"), str(TOP / "tests/vm/guest")]

import measured  # noqa: E402
from binomial import interval  # noqa: E402
from measured import share_text  # noqa: E402

PAGE = HERE / "results/alarms.md"
FILE = "alarms.json"
PROGRAMS = ("redis", "nginx", "nginx_proxy", "memcached", "apache", "mariadb")
SECONDS = 2400
RATE = 0.001
PARTS = {"cpu": "computing", "blocked": "blocked", "block_io": "block I/O", "own": "own time",
         "all": "by the clock"}

HOW = f"""\
A server is trained on under four connections that pause 4 ms between requests, and armed (the
profile is that of `make eval-sensitivity` where there is one). Nothing delays it; it is watched for
a minute each with the same pauses and with pauses by Pareto's law (exponent 1.5, the same mean), alone
and with a process that computes all the time on the same CPU. The guest's clock counts instructions
(`scripts/vm --icount`).

* **false alarms**: late units, with the 95 % interval; declared are {100 * RATE:g} %.
* The parts are the limits that they exceeded, the one that was exceeded by most.
* **starved**: units that were late only by the run queue, which is no alarm.
* **late requests**: of those that were answered (`arm --requests`), by the limit of the type of unit
  that read them, which is of all their time but what they waited for a CPU. The server that
  `nginx_proxy` asks has the same CPU, so a rival holds that up, too: such a request has waited for
  others, and no false alarm is what it is.
"""


def judge(found):
    """[(row of the table, whether it is as asked)]"""
    rows = []
    for span, counts in found["spans"].items():
        units = counts["units"] + counts["late"]
        late, asked = counts["late_requests"], counts["requests"]
        good = all(of > 0 and interval(number, of)[0] <= RATE
                   for number, of in ((counts["late"], units), (late, asked)))
        rows.append((
            [found["program"], span, share_text(counts["late"], units)] +
            [str(counts["parts"].get(part, 0)) for part in PARTS] +
            [f"{counts['starved']:,}", share_text(late, asked), "yes" if good else "no"], good))
    return rows


def main():
    arguments = measured.arguments(PROGRAMS)
    for program in [] if arguments.again else arguments.program or PROGRAMS:
        measured.measure(program, arguments.kernel, FILE, SECONDS,
                         [("--icount", HERE / "guest/false_alarms.py", program)])
    founds = measured.founds(PROGRAMS, arguments.kernel, FILE)
    judged = [one for found in founds for one in judge(found)]
    table = measured.table(["program", "load", "false alarms", *PARTS.values(), "starved",
                            "late requests", "as asked"], [row for row, _ in judged])
    print(table)
    measured.page(PAGE, "False alarms", f"Linux {arguments.kernel}, by `make eval-alarms`", founds,
                  f"{HOW}\n{table}")
    return 0 if len(founds) == len(PROGRAMS) and all(good for _, good in judged) else 1


if __name__ == "__main__":
    sys.exit(main())
