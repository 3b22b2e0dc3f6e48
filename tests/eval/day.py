#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A day of alerts through the outputs of the service, its spool and the page: is one lost, and what
does it take?

usage: day.py           run a usual day and a flood, and write tests/eval/results/day.md
       day.py --check   the usual day only, as a test: prints TAP

The alerts are those of tests/page/made-alerts.py, 10 KiB each; the clock is that of the alerts
(tests/unit/replay-day.c), so that a day is over when the outputs have taken it.  The service is ended
and begun again three times.
"""

import html
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = TOP / os.environ.get("BUILD", "build")
COLLECT, REPLAY = TOP / "pg-collect", BUILD / "tests/unit/replay-day"
PAGE = TOP / "tests/eval/results/day.md"
DAY_S, RESTARTS, LINES = 24 * 3600, 3, 1000
# Alerts in all: one in ten seconds; and ten a second.
USUAL, FLOOD = DAY_S // 10, DAY_S * 10
MOST_PAGE, MOST_SPOOL = 500 * 1024, 256 << 20
# A log of 4 MiB, a batch of rows, and SQLite's cache; the page keeps lines up to a bound of its own.
MOST_MEMORY = {"service": 64 << 20, "report": 512 << 20}


def measured(command, **options):
    """(exit code, what it printed on standard error, seconds, bytes of memory at most)"""
    begin = time.monotonic()
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL,
                                   stderr=errors, **options)
        _, status, usage = os.wait4(process.pid, 0)
        errors.seek(0)
        return (os.waitstatus_to_exitcode(status), errors.read(), time.monotonic() - begin,
                usage.ru_maxrss * 1024)


def in_spool(spool):
    """Alerts, and units and requests among them."""
    database = sqlite3.connect(spool)
    kinds = dict(database.execute("SELECT kind, count(*) FROM alerts GROUP BY kind"))
    database.close()
    return sum(kinds.values()), kinds.get("ended", 0), kinds.get("request", 0)


def on_page(page):
    """What it counts: units and requests."""
    text = html.unescape(re.sub(r"<[^>]*>", " ", page.read_text(encoding="utf-8")))
    return [int(found[1].replace(",", "")) if found else 0
            for found in (re.search(rf"{what}s?\s+([\d,]+)", text)
                          for what in ("late unit", "late request"))]


def replay(alerts, directory):
    """Pairs of whether it is well and what it is, and the figures."""
    spool, page, lines = (directory / name for name in ("spool", "page.html", "lines"))
    with open(lines, "wb") as file:
        subprocess.run([sys.executable, "-B", TOP / "tests/page/made-alerts.py", str(LINES)],
                       stdout=file, check=True)
    with open(lines, "rb") as file:
        code, said, seconds, memory = measured([REPLAY, spool, alerts, 24, RESTARTS], stdin=file)
    if code:
        return [(False, f"the outputs take them: {said.strip()}")], None
    counts = json.loads(said)
    code, said, page_s, page_memory = measured([COLLECT, "report", "-o", page, spool])
    kept, units, requests = in_spool(spool)
    size = page.stat().st_size if page.exists() else 0
    checks = [
        (counts["counted"] == counts["reported"] == alerts,
         f"the service has counted and reported {counts['counted']:,} of {alerts:,} alerts"),
        (counts["added"] == alerts == kept + counts["dropped"] and not counts["unsaved"] and
         counts["kept"] == kept,
         f"the spool has had all: {kept:,} are in it, {counts['dropped']:,} made room"),
        (counts["bytes"] <= MOST_SPOOL, f"it has {counts['bytes'] >> 20} MiB, of 256"),
        (not code and not said and on_page(page) == [units, requests],
         f"the page counts {on_page(page)} late units and requests of what is in it {said.strip()}"),
        (0 < size < MOST_PAGE, f"it has {size:,} bytes"),
        (memory < MOST_MEMORY["service"], f"the service took {memory >> 20} MiB"),
        (page_memory < MOST_MEMORY["report"], f"the report took {page_memory >> 20} MiB"),
    ]
    return checks, {**counts, "memory": memory, "took_s": seconds, "page_s": page_s,
                    "page_memory": page_memory, "page_bytes": size}


def check():
    print("TAP version 13\n1..7")
    with tempfile.TemporaryDirectory() as directory:
        checks, _ = replay(USUAL, pathlib.Path(directory))
    for number, (is_well, what) in enumerate(checks, 1):
        print(f"{'ok' if is_well else 'not ok'} {number} - {what}")
    return 0


ROWS = (
    ("alerts of the day", lambda one: f"{one['alerts']:,}"),
    ("counted by the service, and reported", lambda one: f"{one['counted']:,}"),
    ("added to the spool", lambda one: f"{one['added']:,}"),
    ("of them in it at the end", lambda one: f"{one['kept']:,}"),
    ("older ones that made room, counted", lambda one: f"{one['dropped']:,}"),
    ("not saved", lambda one: f"{one['unsaved']:,}"),
    ("size of the spool", lambda one: f"{one['bytes'] / (1 << 20):.0f} MiB"),
    ("time for an alert, all outputs", lambda one: f"{1e6 * one['took_s'] / one['alerts']:.0f} us"),
    ("memory of the service", lambda one: f"{one['memory'] / (1 << 20):.0f} MiB"),
    ("the page of it: size", lambda one: f"{one['page_bytes'] / 1024:.0f} KiB"),
    ("the page of it: time", lambda one: f"{one['page_s']:.1f} s"),
    ("the page of it: memory", lambda one: f"{one['page_memory'] / (1 << 20):.0f} MiB"),
)


def main():
    if sys.argv[1:] == ["--check"]:
        return check()
    figures, is_well = [], True
    for alerts in (USUAL, FLOOD):
        with tempfile.TemporaryDirectory(dir=BUILD) as directory:
            checks, one = replay(alerts, pathlib.Path(directory))
        for good, what in checks:
            print("ok  " if good else "BAD ", what, flush=True)
            is_well &= good
        if not one:
            return 1
        figures.append(one)
    lines = ["# A day of alerts", "",
             "Made by `make eval-day` (`tests/eval/day.py`): alerts of 10 KiB, evenly over 24 hours by",
             "their own clock, through the outputs of the service into a spool with the default bounds",
             "(100,000 alerts, 256 MiB); the service is ended and begun again three times. Times are by",
             "the clock, on a machine of two CPUs that did other things, too.", "",
             "| | a usual day: one in 10 s | a flood: 10 a second |", "|---|---:|---:|"]
    lines += [f"| {name} | " + " | ".join(text(one) for one in figures) + " |" for name, text in ROWS]
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(PAGE)
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
