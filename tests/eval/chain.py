#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Whether a slow statement's request is followed from nginx over php-fpm to MariaDB, in the VM.

usage: chain.py [--kernel KERNEL] [--again | --packages]

--again judges what an earlier run recorded, without a VM; --packages prints the packages to install.
The table goes to the standard output and to tests/eval/results/chain.md.

Exit: 0 all requirements were met, 1 not so, 2 usage
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE / "guest"), str(TOP / "tests/vm/guest")]

import measured  # noqa: E402
import slow_judge  # noqa: E402
import subjects  # noqa: E402
from programs import php  # noqa: E402

PAGE = HERE / "results/chain.md"
FILE = "chain.json"
PROGRAM = "php"
SECONDS = 3600
ENOUGH = 0.95
LEAST_RUNS = 20         # by each way

HOW = f"""\
nginx asks php-fpm by a local socket, and that asks MariaDB, by a connection of its own for each page:
by TCP, or by a local socket. All three are Debian's, as they come ({{versions}}), trained
one after the other while pages with six statements are asked for, and armed with `--request-limit {{limit}}`. Then
pages with slow statements are asked for, one at a time: a SHA1 of a long string, a pattern that is
tried in all ways, a join without an index, ORDER BY of many rows. The same again with MariaDB disarmed.

* **whole**: an alert about nginx's request, while it lasted, named php-fpm's process and, of the one
  that it waited for, MariaDB's, as in whose own units the time goes; or, where MariaDB was not
  guarded, ended with its address.
* **unit named**: that MariaDB's unit was named, too, and
* **function**: an alert about just this unit has, on its hot path, a function that the statement is
  slow by, one of those that `make eval` asks for.
* **by the first alert**: so many were whole in the first alert already; else it was the next one, once
  the time had doubled.
* Asked is that {ENOUGH:.0%} of the runs are whole and, where MariaDB is guarded, have the function.
"""

CAUSES = {bug.trigger: bug.root_cause for bug in subjects.load("mariadb").bugs.values()}


def links(alert):
    """The processes that have the request, from the first one after it."""
    there = alert.get("there")
    while there:
        yield there
        there = there.get("there")


def is_whole(alert, run, found):
    chain, end = list(links(alert)), found["database"][run["way"]]
    if alert["cause"] != f"waiting for {found['pool at']}" or not chain or \
            chain[0]["cause"] != f"waiting for {end}":
        return False
    if not run["is_guarded"]:
        return len(chain) == 1
    return len(chain) == 2 and chain[1]["pid"] == found["database"]["pid"] and \
        chain[1]["cause"] == "in its own units"


def judge_run(run, found):
    """{what is asked: whether it is so}"""
    lasting = [line for line in run["lines"] if line["kind"] == "request" and
               line["pid"] == found["nginx"] and line["state"] == "lasts"]
    whole = [alert for alert in lasting if is_whole(alert, run, found)]
    last = list(links(whole[-1]))[-1] if whole else {}
    about = [line for line in run["lines"] if line["kind"] in ("late", "ended") and
             last.get("unit") and (line["tid"], line["unit"]) == (last["tid"], last["unit"])]
    return {"whole": bool(whole), "unit": bool(last.get("unit")),
            "function": any(slow_judge.distance(line["hot_path"], CAUSES[run["statement"]])
                            is not None for line in about),
            "first": bool(whole) and whole[0] is lasting[0]}


def judge(found):
    """([row of the table], whether all is as asked)"""
    rows, good = [], True
    for is_guarded in True, False:
        for way in php.WAYS:
            runs = [run for run in found["runs"]
                    if (run["way"], run["is_guarded"]) == (way, is_guarded)]
            judged = [judge_run(run, found) for run in runs]
            sums = {key: sum(one[key] for one in judged)
                    for key in ("whole", "unit", "function", "first")}
            asked = ("whole", "function") if is_guarded else ("whole",)
            met = runs and all(sums[key] >= ENOUGH * len(runs) for key in asked)
            good = good and met and (len(runs) >= LEAST_RUNS or not is_guarded)
            took = [run["took"] for run in runs] or [0]
            rows.append([{"tcp": "TCP", "unix": "local socket"}[way], "yes" if is_guarded else "no",
                         str(len(runs)), f"{min(took):.1f} to {max(took):.1f} s", str(sums["whole"]),
                         *((str(sums[key]) if is_guarded else "-") for key in ("unit", "function")),
                         str(sums["first"]), "yes" if met else "no"])
    return rows, good


def main():
    if sys.argv[1:] == ["--packages"]:
        print(*php.Server.packages, sep="\n")
        return 0
    arguments = measured.arguments((PROGRAM,))
    if not arguments.again:
        measured.measure(PROGRAM, arguments.kernel, FILE, SECONDS,
                         [(None, HERE / "guest/chain.py")])
    results = measured.founds((PROGRAM,), arguments.kernel, FILE)
    if not results:
        return 1
    rows, good = judge(results[0])
    text = measured.table(["php-fpm asks MariaDB by", "guarded", "runs", "a page took", "whole",
                           "unit named", "function", "by the first alert", "as asked"], rows)
    print(text)
    measured.page(PAGE, "One request over three processes",
                  f"Linux {arguments.kernel}, by `make eval-chain`", results,
                  f"{HOW.format(**results[0])}\n{text}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
