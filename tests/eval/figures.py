#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Make Documentation/figures.md, the headline figures, from what was measured last.

    tests/eval/figures.py          write the page
    tests/eval/figures.py --check  exit 1 if it is not that of the results

The results are those in tests/eval/results and tests/vm/cost.recorded; nothing is measured here.
"""

import pathlib
import statistics
import sys

import results

TOP = pathlib.Path(__file__).resolve().parents[2]
PAGE = TOP / "Documentation/figures.md"
KERNELS = ["6.1", "6.12"]

HEAD = """\
# Headline figures

Written by `make figures` from the last measurements; not to be edited. `tests/eval/results/` has
the full tables, their dates and how they were measured: `slow.md` (`make eval`), `paper.md`
(`make eval-paper`), `training.md` (`make eval-training`), `guards.md` (`make eval-guards`) and
`bench.md` (`make bench`).
"""

COST = [  # row of tests/vm/cost.recorded, what it is
    ("account-epoll_wait", "`epoll_wait` of an audited thread: the end and the begin of a unit"),
    ("guarded-account", "the same of a guarded thread: its unit is inferred, judged and counted"),
    ("guarded-event", "the same, and a `read` that begins the unit's event"),
    ("target-read", "a wait call in the middle of a unit, here `read`"),
    ("first-mov", "a hit of a guard on a `mov`, beside an empty uprobe"),
]


def table(head, align, rows):
    return ["| " + " | ".join(row) + " |" for row in (head, align, *rows)]


def cost():
    recorded = {tuple(line.split()[:2]): line.split()[2]
                for line in (TOP / "tests/vm/cost.recorded").read_text().splitlines()
                if line and not line.startswith("#")}
    return ["## Cost", "", "Instructions of the guest that are added, kernel and user mode "
            "(`tests/vm/cost`; the gate of `make check`):", "",
            *table(["", *(f"Linux {k}" for k in KERNELS)], ["---", "---:", "---:"],
                   [[what, *("+" + recorded[k, row] for k in KERNELS)] for row, what in COST])]


def memory():
    bench = results.read(results.FOLDER / "bench.json", KERNELS)
    figures = {k: bench[k]["figures"]["figures"] for k in KERNELS if "figures" in bench[k]}
    rows = [["the module, a profile with 200 guards, and 1,000 guarded threads, KiB",
             *(f"{(f['module-bytes'] / 1024 + f['profile-first'] + f['threads-first']):,.0f}"
               for f in figures.values())],
            ["a guarded thread, bytes",
             *(f"{f['thread-bytes-first']:.0f}" for f in figures.values())]]
    return ["## Memory", "", *table(["", *(f"Linux {k}" for k in figures)],
                                    ["---", *["---:"] * len(figures)], rows)]


def slow():
    rows = []
    for bug, runs in results.read(results.FOLDER / "slow.json").items():
        run = runs[0]
        turns = run["turns"]
        ranks = [turn.get("rank") for turn in turns]
        rows.append([bug, run["title"], f"{sum(turn['found'] for turn in turns)} of {len(turns)}",
                     "yes" if ranks and all(rank == 1 for rank in ranks) else "no",
                     f"{run['normal']['late']} of {run['normal']['units']:,}"])
    return ["## Real slow programs", "",
            "Debian's own programs on Linux 6.12, trained on their normal load, then made slow three "
            "times each. False alarms are late units of a normal load that training has not seen; "
            "the declared rate is 0.1 %.", "",
            *table(["case", "what is slow", "reported", "root cause on the hot path",
                    "false alarms"], ["---", "---", "---", "---", "---:"], rows)]


def paper():
    part = results.read(results.FOLDER / "paper.json", ["6.12"])["6.12"]
    rows = []
    for name in ("apache", "mariadb"):
        held = part[f"load-{name}"]["profiles"]["held"]
        means = [100 * statistics.mean(figures.get("counted") or figures["overheads"])
                 for figures in held.values()]
        rows.append([name, f"{min(means):.2f} to {max(means):.2f} %",
                     f"{100 * part[f'train-{name}']['deviation']:.1f} %"])
    return ["## Guarding a server under load", "",
            "Linux 6.12, 1 to 16 clients: what guarding adds to the server's instructions at the "
            "default budget of 2 %, and how much the times of a type's units deviate.", "",
            *table(["server", "overhead", "deviation"], ["---", "---:", "---:"], rows)]


def main():
    text = "\n".join([HEAD, *cost(), "", *memory(), "", *slow(), "", *paper()]) + "\n"
    if "--check" in sys.argv[1:]:
        return PAGE.read_text() != text
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
