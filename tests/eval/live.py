#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Whether a profile is right on a machine of half the speed, once its limits were learnt there.

usage: live.py [--program NAME] [--kernel KERNEL] [--again]

Without options: all programs on 6.12.  --again judges what an earlier run recorded, without a VM.
The table goes to the standard output and to tests/eval/results/live.md.

Exit: 0 all requirements were met, 1 not so, 2 usage
"""

import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE / "guest"), str(TOP / "tests/vm/guest")]

import measured  # noqa: E402
from binomial import interval  # noqa: E402
from measured import alarms, share_text  # noqa: E402

PAGE = HERE / "results/live.md"
FILE = "live.json"
PROGRAMS = ("redis", "nginx")
SECONDS = 1800
RATE = 0.001
TIMED = 100             # units of a type in training, to compare its limits
SLOWER = (1.5, 2.5)     # limits learnt, by those of training
AGAIN = 1.25            # limits after a slow span, by those before

HOW = f"""\
A server is trained on for a minute where an instruction takes 1 ns (`scripts/vm --icount`), under
four connections that pause 4 ms between requests. Its profile is armed on a machine of half the
speed (`--icount=1`, 2 ns), `pg-collect learn --live` learns the limits there, for a minute, and then
once more, for a minute in a third of which each unit takes about twice its time.

* **false alarms**: late units of half a minute, with the 95 % interval; declared are {100 * RATE:g} %.
* **limits**: of own time, by those of training or before the slow span, the median over types with
  {TIMED} timed units in training, and the largest.
"""


def judge(found):
    """[(program, profile, false alarms, limits, whether it is met)]"""
    rows, before = [], None
    types = [kind for kind, (nr, _, _) in found["as trained"]["limits"].items() if nr >= TIMED]
    for name, bounds in (("as trained", None), ("learnt", SLOWER), ("learnt again", (0, AGAIN))):
        state = found[name]
        late, units, _ = alarms(state["alarms"])
        limits = {kind: state["limits"][kind][2] for kind in types if kind in state["limits"]}
        if not bounds:
            rows.append((found["program"], name, share_text(late, units), "-", ""))
        else:
            ratios = [limits[kind] / before[kind] for kind in limits if kind in before]
            middle = statistics.median(ratios)
            good = interval(late, units)[0] <= RATE and bounds[0] <= middle <= bounds[1]
            rows.append((found["program"], name, share_text(late, units),
                         f"{middle:.2f}, at most {max(ratios):.2f}", "yes" if good else "no"))
        before = limits
    return rows


def main():
    arguments = measured.arguments(PROGRAMS)
    script = HERE / "guest/live.py"
    for program in [] if arguments.again else arguments.program or PROGRAMS:
        measured.measure(program, arguments.kernel, FILE, SECONDS,
                         [("--icount", script, "train", program),
                          ("--icount=1", script, "learn", program)])
    founds = measured.founds(PROGRAMS, arguments.kernel, FILE)
    rows = [row for found in founds for row in judge(found)]
    table = measured.table(["program", "profile", "false alarms", "limits", "as asked"], rows)
    print(table)
    measured.page(PAGE, "Limits of another machine",
                  f"Linux {arguments.kernel}, by `make eval-live`", founds, f"{HOW}\n{table}")
    return 0 if len(founds) == len(PROGRAMS) and all(row[4] != "no" for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
