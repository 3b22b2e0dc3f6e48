#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What a minute of training is worth on a program of each of ten kinds, in the VM.

usage: ten-kinds.py [--program NAME] [--inline] [--kernel KERNEL] [--again | --packages]

Without options: all programs on 6.12, with guards that are traps; with --inline, with guards that jump
where they can.  --again judges what an earlier run recorded, without a VM;
--packages prints the packages to install.  The table goes to the standard output and to
tests/eval/results/kinds.md.

Exit: 0 all requirements were met, 1 not so, 2 usage
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE / "guest"), str(TOP / "tests/vm/guest")]

import kinds  # noqa: E402
import measured  # noqa: E402
from binomial import interval  # noqa: E402
from measured import share_text, weighted_median  # noqa: E402

PAGE = HERE / "results/kinds.md"
FILE = "kind.json"
SECONDS = 2400
RATE = 0.001
FACTOR = 3          # limit by mean of the median unit
CANNOT = 3          # exit of pg-collect check

HOW = f"""\
A program of each of ten kinds (`tests/eval/guest/kinds/`), which no other evaluation uses.
`pg-collect check` says whether its work is in units of event loops; where it is,
`pg-collect train --workload` learns from 3,000 requests a stage, of four connections that pause 20 ms
between requests. The program is then armed and asked 20,000 other requests of the same kinds. The
guest's clock counts instructions (`scripts/vm --icount`).

* **timed units**: those of training that limits are learnt from, and of how many types.
* **limit by mean**: of a unit's own time, the median over types by units; asked is at most {FACTOR}.
* **false alarms**: late units, with the 95 % interval; declared are {100 * RATE:g} %.
* **inline**: trained and armed with `--inline`: guards are jumps where they can be.
* **novel**: units that took a way that no type has.
"""


def limit_by_mean(types):
    """The median over types by units; None without a type that has limits."""
    pairs = [(kind["limits_ns"]["own"] / kind["mean_ns"]["own"], kind["times"]["nr"])
             for kind in types if kind["limits_ns"]["own"] and kind["mean_ns"]["own"]]
    return weighted_median(pairs) if pairs else None


def judge(kind, found):
    """(row of the table, whether all is as asked)"""
    start = [kind, found["program"].removeprefix("kind:")]
    if found["check"] == CANNOT:
        return start + ["`check`: it cannot be done", "-", "-", "-", "-", "yes"], True
    if "judged" not in found:
        return start + ["training failed", "-", "-", "-", "-", "no"], False
    types = [one for one in found["types"] if one["times"]["nr"]]
    factor, judged = limit_by_mean(types), found["judged"]
    units = judged["units"] + judged["late"]
    good = factor is not None and factor <= FACTOR and units > 0 and \
        interval(judged["late"], units)[0] <= RATE
    return start + [
        f"{sum(one['times']['nr'] for one in types):,} of {len(types)}",
        f"{units / found['requests']:.2f}", "-" if factor is None else f"{factor:.2f}",
        share_text(judged["late"], units), f"{judged['novel']:,}", "yes" if good else "no"], good


def main():
    names = [f"kind:{name}" for name in kinds.NAMES.values()]
    if sys.argv[1:] == ["--packages"]:
        print(*sorted({package for name in kinds.NAMES.values()
                       for package in kinds.load(name).packages}), sep="\n")
        return 0
    arguments = measured.arguments(names, inline=True)
    file = measured.inline_file(FILE) if arguments.inline else FILE
    for name in [] if arguments.again else arguments.program or names:
        measured.measure(name, arguments.kernel, file, SECONDS,
                         [("--icount", HERE / "guest/kind.py", name,
                           "jumps" if arguments.inline else "traps")])
    kind_of = {f"kind:{name}": kind for kind, name in kinds.NAMES.items()}
    founds = measured.founds_both(names, arguments.kernel, FILE)
    judged = [judge(kind_of[found["program"].partition(",")[0]], found) for found in founds]
    table = measured.table(["kind", "program", "timed units, types", "units a request",
                            "limit by mean", "false alarms", "novel", "as asked"],
                           [row for row, _ in judged])
    print(table)
    measured.page(PAGE, "A minute of training, ten kinds of programs",
                  f"Linux {arguments.kernel}, by `make eval-kinds`", founds, f"{HOW}\n{table}")
    return 0 if len(judged) >= len(names) and all(good for _, good in judged) else 1


if __name__ == "__main__":
    sys.exit(main())
