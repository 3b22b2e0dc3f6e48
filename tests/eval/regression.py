#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Whether a type of units that computes a twentieth more is found, in the VM.

usage: regression.py [--kernel KERNEL] [--again]

--again judges what an earlier run recorded, without a VM.  The table goes to the standard output and
to tests/eval/results/regression.md.

Exit: 0 all requirements were met, 1 not so, 2 usage
"""

import argparse
import json
import pathlib
import statistics
import sys

import vm

HERE = pathlib.Path(__file__).resolve().parent
BUILD = vm.TOP / "build/eval"
PAGE = HERE / "results/regression.md"
SECONDS = 5400
WITHIN = 5000           # units of the type
TRIES = 20
CALM = 1_000_000

HOW = """\
A server of five types of requests (`tests/vm/guarded.c`), whose work varies by 5 %, is trained on,
armed and watched by `pg-collect watch`. A million units come without a change; then, 20 times, one
of the types in turn has so much more work that it computes 5 % longer, until that is reported, and
then not any more, until that is reported. The guest's clock counts instructions (`scripts/vm --icount`).
"""


def judge(done):
    """[(what, found, asked, whether it is met)]"""
    tries = done["tries"]
    right = [row for row in tries
             if len(row["found"]) == 1 and row["found"][0]["type"] == row["type"] and
             row["found"][0]["slow"] and row["found"][0]["part"] == "cpu"]
    soon = [row for row in right if row["units"] <= WITHIN]
    units = [row["units"] for row in right]
    back = [row for row in right if [(one["type"], one["slow"]) for one in row["back"]] ==
            [(row["type"], False)]]
    calm = done["calm"]
    return [
        ("computing, by the mean before", f"{min(row['factor'] for row in tries):.3f} to "
         f"{max(row['factor'] for row in tries):.3f}", "1.05",
         max(row["factor"] for row in tries) <= 1.055),
        ("reported, of the type and the part", f"{len(right)} of {len(tries)}",
         f"{TRIES} of {TRIES}", len(right) == len(tries) == TRIES),
        (f"within {WITHIN:,} of its units", f"{len(soon)} of {len(tries)}", f"{TRIES} of {TRIES}",
         len(soon) == len(tries)),
        ("units of it, median and most", f"{statistics.median(units):,.0f}, {max(units):,}"
         if units else "-", f"{WITHIN:,}", bool(units) and max(units) <= WITHIN),
        ("its end reported", f"{len(back)} of {len(tries)}", "-", True),
        (f"reported in {calm['units']:,} units without a change", str(len(calm["found"])), "0",
         not calm["found"] and calm["units"] >= CALM),
    ]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kernel", default="6.12")
    parser.add_argument("--again", action="store_true")
    arguments = parser.parse_args()
    out = BUILD / arguments.kernel / "regression"
    path = out / "regression.json"
    if not arguments.again:
        out.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        trouble = vm.run_script(arguments.kernel, out, SECONDS, ["-m", "2048", "--icount"],
                                HERE / "guest/regression.py", "/out")
        if trouble:
            vm.say(f"regression: {trouble}")
            return 1
    rows = judge(json.loads(path.read_text()))
    table = "| | found | asked |\n|---|---|---|\n" + "".join(
        f"| {what} | {found} | {asked} |\n" for what, found, asked, _ in rows)
    print(table)
    PAGE.write_text(
        f"# A type that has become slower\n\nLinux {arguments.kernel}, by `make eval-regression`; "
        f"commit {vm.commit('kmod', 'user', 'include')}.\n\n{HOW}\n{table}")
    return 0 if all(row[3] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
