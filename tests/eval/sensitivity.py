#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""How much slower a unit has to be to be reported, on real servers in the VM.

usage: sensitivity.py [--program NAME] [--inline] [--kernel KERNEL] [--again]

Without options: all programs on 6.12, with guards that are traps; with --inline, with guards that jump
where they can.  --again judges what an earlier run recorded, without a VM.
The table goes to the standard output, and with a picture to tests/eval/results/sensitivity.md.

Exit: 0 all requirements were met, 1 not so, 2 usage
"""

import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE / "guest"), str(TOP / "tests/vm/guest")]

import measured  # noqa: E402
import paper_chart  # noqa: E402
from binomial import interval  # noqa: E402
from measured import alarms, share_text, weighted_median  # noqa: E402

RESULTS = TOP / "tests/eval/results"
PROGRAMS = ("redis", "nginx", "memcached", "apache", "mariadb")
FILE = "delays.json"
FEW_FILE = "few.json"
SECONDS = 3600
SHARE = 0.9             # of the units that are so much slower have to be reported
LEAST_DELAYS = 20       # of a type, to say anything
RATE = 0.001
PAPER = 1.5             # mean and 4 deviations of 11.5 %
WAYS = {"computing": ("cpu", 1.5), "sleeping": ("own", 2), "rival": ("cpu", 2.5)}
NAMES = {"computing": "computes longer", "sleeping": "sleeps",
         "rival": "computes longer, a rival for the CPU"}
FEW = (30, 300)         # timed units of types that are judged by themselves
FEW_MOST = 3            # how much longer one of their units may have to compute

HOW = f"""\
A server is trained on for a minute (`pg-collect train`) under four connections that pause 4 ms
between requests, then armed.  A kernel module (`tests/vm/taker/delayer.c`) delays one function that
most units call, some six times a second, by 0.05 to 12 times a unit's mean; neither perfguard nor
the profile knows of it.  The guest's clock counts instructions (`scripts/vm --icount`), so the load
of the host has no effect.

* **factor**: by which the time of a unit has to grow for {SHARE:.0%} of such units to be reported:
  what it computes (its mean and the delay, by its mean), or, where it sleeps, its own time. The
  share is made to rise with the factor (isotonic regression). Of types with {LEAST_DELAYS} delayed
  units or more; the median over types, and the same weighted by their units.
* **limit**: of a type's computing and own time by its mean, the median over types by units.
* **false alarms**: late units among those that were not delayed, with the 95 % interval; declared
  are {100 * RATE:g} %. **starved**: units that were late only by the run queue, which is no alarm.
* **inline**: trained and armed with `--inline`, so that guards are jumps where they can be, and more
  of them fit into the same share of the time.
* Of a function that holds up other threads a delay makes their units late as well, and of more late
  units than the module reports (64 a second) some are missing.
* A rival is a process that computes all the time on the server's CPU; the profile is the same one.
"""

HOW_FEW = f"""\
The server is trained on anew, as long as else in its first two stages, but its units are timed for
less than half a second; then units are made to compute longer, as above. Of types with {FEW[0]} to
{FEW[1]} timed units; false alarms are of all types.
"""


def rising(rows):
    """[(factor, share)] of (factor, is reported), least squares with shares that do not fall."""
    blocks = []
    for factor, reported in sorted(rows):
        blocks.append([float(reported), 1, factor])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] >= blocks[-1][0] / blocks[-1][1]:
            total, number, factor = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += number
    return [(factor, total / number) for total, number, factor in blocks]


def factor_of(rows):
    """From when on SHARE of units are reported; infinite if they never are."""
    return next((factor for factor, share in rising(rows) if share >= SHARE), float("inf"))


def rows_of(found, way, part):
    """{type: [(factor, reported)]}"""
    means = {one["id"]: one["mean_ns"][part] for one in found["types"]}
    rows = {}
    for one in found[way]:
        if means.get(one["type"]):
            rows.setdefault(one["type"], []).append(
                (1 + one["delay_ns"] / means[one["type"]], bool(one["part"])))
    return rows


def limit_by_mean(kind, part):
    """Of a type that is never blocked, the limit of its own time is that of what it computes."""
    part = part if kind["limits_ns"][part] else "own"
    mean_ns = kind["mean_ns"][part]
    return kind["limits_ns"][part] / mean_ns if kind["limits_ns"][part] and mean_ns else None


def judge_way(found, way, most=None, timed=(0, float("inf"))):
    """Of types with so many timed units."""
    part, most = WAYS[way][0], most or WAYS[way][1]
    types = {one["id"]: one for one in found["types"]
             if timed[0] <= one["times"]["nr"] <= timed[1]}
    rows = {number: some for number, some in rows_of(found, way, part).items()
            if number in types and len(some) >= LEAST_DELAYS}
    factors = {number: factor_of(some) for number, some in rows.items()}
    weights = [(factors[number], types[number]["times"]["nr"]) for number in factors]
    limits = [(limit_by_mean(kind, part), kind["times"]["nr"]) for kind in types.values()
              if limit_by_mean(kind, part)]
    median = statistics.median(factors.values()) if factors else float("nan")
    by_units = weighted_median(weights) if weights else float("nan")
    return {"way": way, "types": len(factors), "delays": sum(map(len, rows.values())),
            "median": median, "weighted": by_units, "most": most,
            "limit": weighted_median(limits) if limits else float("nan"),
            "met": bool(factors) and max(median, by_units) <= most}


def judge(found):
    calm, rival = alarms(found["calm"]), alarms(found["calm_rival"])
    ways = [judge_way(found, way) for way in WAYS]
    lows = [interval(late, units)[0] if units else 1 for late, units, _ in (calm, rival)]
    return {"program": found["program"], "commit": found["commit"], "ways": ways, "calm": calm,
            "rival": rival, "share": found["share"],
            "met": all(way["met"] for way in ways) and max(lows) <= RATE}


def judge_few(found):
    way = judge_way(found, "computing", FEW_MOST, FEW)
    calm = alarms(found["calm"])
    return {"program": found["program"], "commit": found["commit"], "way": way, "calm": calm,
            "met": way["met"] and interval(*calm[:2])[0] <= RATE}


def number(value):
    return "-" if value != value else \
        "never" if value == float("inf") else f"{value:.2f}"


def table(results):
    lines = ["| program | a unit | types | delays | factor, median | by units | asked | "
             "limit by mean |", "|---|---|---|---|---|---|---|---|"]
    for result in results:
        for way in result["ways"]:
            lines.append(
                f"| {result['program']} | {NAMES[way['way']]} | {way['types']} | {way['delays']} | "
                f"{number(way['median'])} | {number(way['weighted'])} | {way['most']} | "
                f"{number(way['limit'])} |")
    lines += ["", "| program | false alarms | with a rival | starved then | commit |",
              "|---|---|---|---|---|"]
    for result in results:
        lines.append(f"| {result['program']} | {share_text(*result['calm'][:2])} | "
                     f"{share_text(*result['rival'][:2])} | {result['rival'][2]:,} | "
                     f"{result['commit']} |")
    return "\n".join(lines) + "\n"


def table_few(results):
    rows = [(result["program"], str(way["types"]), str(way["delays"]), number(way["median"]),
             number(way["weighted"]), str(way["most"]), number(way["limit"]),
             share_text(*result["calm"][:2]), result["commit"])
            for result in results for way in [result["way"]]]
    return measured.table(["program", "types", "delays", "factor, median", "by units", "asked",
                           "limit by mean", "false alarms", "commit"], rows)


def picture(founds):
    curves = []
    for found in founds:
        rows = [row for some in rows_of(found, "computing", "cpu").values() for row in some]
        points, at = [], 1.05
        while at < 10:
            near = [reported for factor, reported in rows if at / 1.12 <= factor < at * 1.12]
            if len(near) >= 10:
                points.append((at, 100 * sum(near) / len(near)))
            at *= 1.15
        if points:
            curves.append((found["program"], points))
    curves.append(("the paper's rule", [(PAPER, 0), (PAPER, 100)]))
    return paper_chart.chart(curves, [(n, str(n)) for n in (1, 1.5, 2, 3, 5, 10)],
                             [(n, f"{n} %") for n in range(0, 101, 20)],
                             ("what a unit computes, by its type's mean", "reported"), True, False)


def page(text, founds, kernel):
    (RESULTS / f"sensitivity-{kernel}.svg").write_text(picture(founds))
    (RESULTS / "sensitivity.md").write_text(
        f"# How much slower a unit has to be to be reported\n\nLinux {kernel}, `make "
        f"eval-sensitivity`.\n\n{HOW}\n{text}"
        f"\n![Units reported, by what they compute](sensitivity-{kernel}.svg)\n")


def main():
    arguments = measured.arguments(PROGRAMS, inline=True)
    script = HERE / "guest/sensitivity.py"
    way = "jumps" if arguments.inline else "traps"
    for program in [] if arguments.again else arguments.program or PROGRAMS:
        for what, file in (("all", FILE), ("few", FEW_FILE)):
            measured.measure(program, arguments.kernel,
                             measured.inline_file(file) if arguments.inline else file, SECONDS,
                             [("--icount", script, program, what, way)])
    founds = measured.founds_both(PROGRAMS, arguments.kernel, FILE)
    results = [judge(found) for found in founds]
    few = [judge_few(found) for found in measured.founds_both(PROGRAMS, arguments.kernel, FEW_FILE)]
    text = f"{table(results)}\n## Limits of few units\n\n{HOW_FEW}\n{table_few(few)}"
    print(text)
    if founds:
        page(text, founds, arguments.kernel)
    return 0 if len(results) >= len(PROGRAMS) <= len(few) and \
        all(one["met"] for one in results + few) else 1


if __name__ == "__main__":
    sys.exit(main())
