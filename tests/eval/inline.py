#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""How much slower servers are while their structure is recorded, by traps and by jumps.

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
PROGRAMS = ("redis", "nginx", "memcached")
SECONDS = 900
MOST = 1.15         # times as slow, by jumps

HOW = f"""\
Four connections ask a server without a pause while `pg-collect record --max-slowdown none` records
its structure, once by traps and once by jumps (`--inline`); before, between and after nothing is done.
All of it is one run, and the ratios are to the mean of the spans in which nothing is done. Functions that
are hot leaves are left out, as `record` decides for each. Asked is at most {MOST} by jumps.

* **requests a second** that were answered, and by what factor that is less than without recording
* **CPU time a request** of the server, and by what factor that is more
* **events** of the trace for each second of the span
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
        slower, dearer = base_rate / rate(span), cost(span) / base_cost
        events = f"{span['events'] / seconds(span):,.0f}" if "events" in span else "-"
        met = ("yes" if slower <= MOST else "no") if way == "jumps" else ""
        rows.append((found["program"], way, f"{rate(span):,.0f}", f"{slower:.2f}",
                     f"{cost(span):.1f} us", f"{dearer:.2f}", events, met))
    return rows


def main():
    arguments = measured.arguments(PROGRAMS)
    for program in [] if arguments.again else arguments.program or PROGRAMS:
        measured.measure(program, arguments.kernel, FILE, SECONDS,
                         [(None, HERE / "guest/inline.py", program)])
    founds = measured.founds(PROGRAMS, arguments.kernel, FILE)
    rows = [row for found in founds for row in judge(found)]
    table = measured.table(["program", "recorded by", "requests a second", "slower",
                            "CPU time a request", "more", "events a second", "as asked"], rows)
    print(table)
    measured.page(PAGE, "Recording structure by jumps",
                  f"Linux {arguments.kernel}, by `make eval-inline`", founds, f"{HOW}\n{table}")
    return 0 if len(founds) == len(PROGRAMS) and all(row[-1] != "no" for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
