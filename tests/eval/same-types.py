#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Whether recording by jumps finds the types that recording by traps finds, on servers in the VM.

usage: same-types.py [--program NAME] [--kernel KERNEL] [--again]

Without options: all programs on 6.12.  --again judges what an earlier run recorded, without a VM.
The table goes to the standard output and to tests/eval/results/same-types.md.

Exit: 0 all requirements were met, 1 not so, 2 usage
"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "guest"), str(HERE.parents[1] / "tests/vm/guest")]

import measured  # noqa: E402
import required  # noqa: E402
import score  # noqa: E402
from rand_index import adjusted_rand_index, confusions  # noqa: E402

PAGE = HERE / "results/same-types.md"
FILE = "phases.json"
SECONDS = 300
ALIKE = 0.95        # adjusted Rand index between both
WAYS = {"traps": [], "jumps": ["--inline"]}

HOW = f"""\
One client sends the same sequence of labelled requests to a server twice, while its structure is
recorded by traps, and by jumps (`record --inline`); types are learnt from each recording by itself.

* **by labels**: the adjusted Rand index of the types of units and the labels of their requests, as on
  [the page of training](training.md), which asks for as much
* **alike**: the same of the types that a request's unit has in the one recording and in the other, over
  the requests that are in both; asked is at least {ALIKE}
"""


def directory(program, kernel, way):
    return measured.BUILD / kernel / f"{program}-{way}"


def record(program, kernel, way):
    measured.measure(program, kernel, FILE, SECONDS, [(None, HERE / "guest/evaluate.py", program)],
                     directory(program, kernel, way).name, [*WAYS[way], "one"])


def kinds(mix):
    """{place of a request in the sequence: (label, type)}"""
    return {request.order: (request.label, unit.type) for unit, request in mix.matching.pairs}


def compare(ways):
    """[(type by traps, type by jumps)] of the requests that are in both."""
    traps, jumps = map(kinds, ways)
    both = traps.keys() & jumps.keys()
    if any(traps[place][0] != jumps[place][0] for place in both):
        raise score.NoResult("the sequences of requests differ")
    return [(traps[place][1], jumps[place][1]) for place in sorted(both)]


def judge(program, kernel):
    """(rows of the table, whether all is as asked)"""
    mixes = []
    for way in WAYS:
        out = directory(program, kernel, way)
        mixes.append(score.Mix(out / "one", json.loads((out / FILE).read_text())["phases"]["one"]))
    pairs = compare(mixes)
    alike = adjusted_rand_index(pairs)
    for _, text in confusions([(str(one), other) for one, other in pairs], 4):
        print(f"# {program}: {text}")
    least = required.RAND_INDEX[program] or 0
    rows, good = [], alike >= ALIKE
    for way, mix in zip(WAYS, mixes):
        labelled = mix.labelled()
        index = adjusted_rand_index(labelled)
        good = good and index >= least
        rows.append([program, way, f"{len(mix.units):,}", str(len({kind for _, kind in labelled})),
                     f"{index:.3f}", f"{least or '-'}"])
    rows[0] += ["", ""]
    rows[1] += [f"{alike:.3f} of {len(pairs):,}", "yes" if good else "no"]
    return rows, good


def main():
    arguments = measured.arguments(required.PROGRAMS)
    for program in [] if arguments.again else arguments.program or required.PROGRAMS:
        for way in WAYS:
            record(program, arguments.kernel, way)
    rows, good, founds = [], [], []
    for program in required.PROGRAMS:
        paths = [directory(program, arguments.kernel, way) / FILE for way in WAYS]
        if not all(path.exists() for path in paths):
            continue
        founds += [json.loads(path.read_text()) for path in paths]
        try:
            some, met = judge(program, arguments.kernel)
        except (score.NoResult, LookupError) as error:
            some, met = [[program, "-", "-", "-", "-", "-", str(error), "no"]], False
        rows += some
        good.append(met)
    table = measured.table(["program", "by", "units", "types", "by labels", "asked", "alike",
                            "as asked"], rows)
    print(table)
    measured.page(PAGE, "Types found by jumps and by traps",
                  f"Linux {arguments.kernel}, by `make eval-same-types`", founds, f"{HOW}\n{table}")
    return 0 if len(good) == len(required.PROGRAMS) and all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
