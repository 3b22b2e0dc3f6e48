#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""How much slower servers are while they are trained, and guarded, by traps and by jumps.

usage: inline.py [--program NAME] [--kernel KERNEL] [--again]

Without options: all programs on 6.12.  --again judges what an earlier run recorded, without a VM.
The table goes to the standard output and to tests/eval/results/inline.md.

Exit: 0 all requirements were met, 1 not so, 2 usage
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE / "guest"), str(TOP / "tests/vm/guest")]

import measured  # noqa: E402

PAGE = HERE / "results/inline.md"
FILE = "inline.json"
PROGRAMS = ("redis", "nginx", "memcached", "apache", "mariadb")
SECONDS = 900
MOST = 1.15         # times as slow while structure is recorded, by jumps
END, HALF = 0.995, 0.98     # of the units right, by jumps

HOW = f"""\
Four connections ask a server without a pause while `pg-collect record --max-slowdown none` records
its structure, once by traps and once by jumps (`--inline`); before, between and after nothing is done.
All of it is one run, and the ratios are to the mean of the spans in which nothing is done. Functions that
are hot leaves are left out, as `record` decides for each.

* **requests a second** that were answered, and by what factor that is less than without recording
* **CPU time a request** of the server, and by what factor that is more
* **events** of the trace for each second of the span
"""

TRAINED = f"""\
In the same run the server is trained for a minute, by `train --max-slowdown {100 * (MOST - 1):.0f}%`, in each
way. Asked is at most {MOST} by jumps, over the whole minute.

* **structure**: units with a call tree; **timed**: units that the types' limits are from
"""

GUARDED = f"""\
In the same run the server is trained by `train --max-slowdown none` in each way, and then guarded by that,
without a budget that would shed guards. Both share out 2 % of the time to guards. Asked is, by jumps, at
least {END:.1%} of the units right at their end, and {HALF:.0%} half-way.

* **guards**, and how many of them were jumps
* **end, half-way**: units that training held back whose type is right at their end, and half-way
* **timed**: units that the types' limits are from; **structure**: those with a call tree
* **more**: CPU time a request by what it is without, what the ends of units take included
* **novel, late**: of the units while it was guarded
"""


def seconds(span):
    return (span["to_ns"] - span["from_ns"]) / 1e9


def rate(span):
    return span["requests"] / seconds(span)


def cost(span):
    return span["cpu_ns"] / span["requests"] / 1000


def judge(found):
    """[(program, way, rate, slowdown, cost, growth, events, whether it is met)]"""
    spans = found["spans"]
    idle = [span for way, span in spans if way == "nothing"]
    base_rate = sum(map(rate, idle)) / len(idle)
    base_cost = sum(map(cost, idle)) / len(idle)
    rows = []
    for way, span in spans:
        if "guards" in span or "within" in span:
            continue
        slower, dearer = base_rate / rate(span), cost(span) / base_cost
        events = f"{span['events'] / seconds(span):,.0f}" if "events" in span else "-"
        rows.append((found["program"], way, f"{rate(span):,.0f}", f"{slower:.2f}",
                     f"{cost(span):.1f} us", f"{dearer:.2f}", events))
    return rows


def around(spans, at, what):
    """The mean right before and right after a span."""
    return (what(spans[at - 1][1]) + what(spans[at + 1][1])) / 2


def judge_training(found):
    """[(program, way, ..., whether it is met)]"""
    spans = found["spans"]
    rows = []
    for at, (way, span) in enumerate(spans):
        if "within" not in span:
            continue
        known, slower = span["within"], around(spans, at, rate) / rate(span)
        met = ("yes" if slower <= MOST else "no") if way.endswith("jumps") else ""
        rows.append((found["program"], way.rpartition(" ")[2], f"{rate(span):,.0f}",
                     f"{slower:.2f}", f"{cost(span) / around(spans, at, cost):.2f}",
                     str(known["types"]), f"{known['structure']:,}", f"{known['timed']:,}",
                     f"{known['end']:.1%}", f"{known['half']:.1%}", met))
    return rows


def judge_guards(found):
    """[(program, way, ..., whether it is met)]"""
    spans = found["spans"]
    rows = []
    for at, (way, span) in enumerate(spans):
        if "guards" not in span:
            continue
        # What was there right before, and right after.
        base = (cost(spans[at - 1][1]) + cost(spans[at + 1][1])) / 2
        met = ("yes" if span["end"] >= END and span["half"] >= HALF else "no") \
            if way.endswith("jumps") else ""
        units = max(span["armed_units"], 1)
        rows.append((found["program"], way.rpartition(" ")[2], str(span["types"]),
                     f"{span['guards']}, {span['jumps']}", f"{span['hits']:.2f}",
                     f"{span['end']:.1%}", f"{span['half']:.1%}", f"{span['timed']:,}",
                     f"{span['structure']:,}", f"{cost(span) / around(spans, at, cost):.2f}",
                     f"{span['armed_novel'] / units:.2%}", f"{span['armed_late'] / units:.2%}", met))
    return rows


def main():
    arguments = measured.arguments(PROGRAMS)
    for program in [] if arguments.again else arguments.program or PROGRAMS:
        measured.measure(program, arguments.kernel, FILE, SECONDS,
                         [(None, HERE / "guest/inline.py", program)])
    founds = measured.founds(PROGRAMS, arguments.kernel, FILE)
    rows = [row for found in founds for row in judge(found)]
    table = measured.table(["program", "recorded by", "requests a second", "slower",
                            "CPU time a request", "more", "events a second"], rows)
    trained = [row for found in founds for row in judge_training(found)]
    training = measured.table(["program", "by", "requests a second", "slower", "CPU time more",
                               "types", "structure", "timed", "end", "half-way", "as asked"],
                              trained)
    guarded = [row for found in founds for row in judge_guards(found)]
    guards = measured.table(["program", "by", "types", "guards", "hits a unit", "end", "half-way",
                             "timed", "structure", "more", "novel", "late", "as asked"], guarded)
    print(table, training, guards, sep="\n")
    measured.page(PAGE, "Recording and guarding by jumps",
                  f"Linux {arguments.kernel}, by `make eval-inline`", founds,
                  f"{HOW}\n{table}\n## Training within a limit\n\n{TRAINED}\n{training}"
                  f"\n## Guards\n\n{GUARDED}\n{guards}")
    return 0 if len(founds) == len(PROGRAMS) and \
        all(row[-1] != "no" for row in trained + guarded) else 1


if __name__ == "__main__":
    sys.exit(main())
