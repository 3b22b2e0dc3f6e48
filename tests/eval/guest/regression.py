# SPDX-License-Identifier: GPL-2.0
"""In the guest: is a type that computes a twentieth more found, and none that does not?

usage: regression.py OUT

A server of five types of requests is trained on and armed, and watched.  CALM units without a change
come first; then, again and again, one of the types has so much more work that it computes LONGER times
as long, until that is reported or AT_MOST of its units have ended, and then not any more, until that
is reported.
OUT/regression.json has what came of it.  Nothing is judged here.
"""

import json
import os
import pathlib
import queue
import random
import subprocess
import sys
import threading

TOP = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(TOP / "tests/vm/guest")]

from guarded import LEAST, Armed, Guarded, Request, reload  # noqa: E402
from perfguard import COLLECT, note  # noqa: E402

NR_TYPES = 5
SCALE = 10
LONGER = 1.05
SPREAD = 0.05
CALM = int(os.environ.get("CALM", 1_000_000))
TRIES = 20
TURN = 500          # units of each type between two looks
TURNS = 4           # in which the share of the work in what is computed is measured
AT_MOST = 10_000
PROFILE = pathlib.Path("/tmp/regression.pgp")


class Watch:
    """The regressions that pg-collect watch reports: (number of the type, whether it is slow)."""

    def __init__(self):
        self.process = subprocess.Popen([COLLECT, "watch", "--json"], text=True,
                                        stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            found = json.loads(line)
            if found["kind"] == "level":
                self.lines.put(found)

    def news(self):
        found = []
        while not self.lines.empty():
            found.append(self.lines.get())
        return found

    def end(self):
        self.process.terminate()
        self.process.wait(60)


class Server:
    def __init__(self):
        self.server, self.random = Guarded(), random.Random(1)
        self.more = {}      # times the work of a slow kind, where it is known

    def requests(self, number, slow=None):
        """So many of each type, in any order."""
        made = []
        for _ in range(NR_TYPES * number):
            kind = self.random.randrange(NR_TYPES)
            work = LEAST[kind] * SCALE * self.random.gauss(1, SPREAD)
            made.append(Request(kind, work=work * (self.more.get(kind, LONGER) if kind == slow else 1)))
        return made

    def turn(self, slow=None):
        self.server.play(self.requests(TURN, slow))
        # Its log of units, which has an end, begins again.
        with open(self.server.log, "r+b") as log:
            log.write(bytes(8))


def sums(armed):
    """{type: (units, what they computed)}"""
    return {number: (one["units"] + one["late"], one["cpu_ns"] + one["late_cpu_ns"])
            for number, one in armed.types().items()}


def mean_of(before, after, number):
    units = after[number][0] - before[number][0]
    return (after[number][1] - before[number][1]) / max(units, 1)


def busiest(before, after, usual):
    """The number of the type whose units' mean has grown most: what the server's kind is called."""
    grown = {number: mean_of(before, after, number) / usual[number] for number in usual
             if after[number][0] > before[number][0]}
    return max(grown, key=grown.get)


def calibrate(server, armed, kind):
    """How many times the work of a kind makes its units compute LONGER times as long: the work is
    not all of it."""
    start = sums(armed)
    for _ in range(TURNS):
        server.turn()
    middle = sums(armed)
    for _ in range(TURNS):
        server.turn(kind)
    end = sums(armed)
    usual = {number: mean_of(start, middle, number) for number in start
             if middle[number][0] > start[number][0]}
    number = busiest(middle, end, usual)
    share = (mean_of(middle, end, number) / usual[number] - 1) / (LONGER - 1)
    note(f"kind {kind}: type {number}, {100 * share:.0f} % of it is the work")
    return 1 + (LONGER - 1) / share


def attempt(server, armed, watch, slow, usual):
    """A type is slow until that is reported, or for AT_MOST of its units."""
    began, sent, found = sums(armed), 0, []
    while not found and sent < AT_MOST:
        server.turn(slow)
        sent += TURN
        found = watch.news()
    after = sums(armed)
    number = busiest(began, after, usual)
    slow_units = after[number][0] - began[number][0]
    row = {"type": number, "units": slow_units,
           "factor": mean_of(began, after, number) / usual[number], "found": found}
    back, sent = [], 0
    while found and not back and sent < AT_MOST:
        server.turn()
        sent += TURN
        back = watch.news()
    row["back"] = back
    note(f"type {number}: {slow_units} units, computing {row['factor']:.3f} times as long, "
         f"{[(one['type'], one['slow'], one['part']) for one in found + back]}")
    return row


def main():
    reload(65536)
    server, done = Server(), {}
    train = subprocess.Popen([COLLECT, "train", "-o", str(PROFILE), "--max-slowdown", "none",
                              "-p", str(server.server.pid), "--duration", "30s"])
    while train.poll() is None:
        server.turn()
    armed = Armed(PROFILE)
    server.more = {kind: calibrate(server, armed, kind) for kind in range(NR_TYPES)}
    watch = Watch()
    start = sums(armed)
    for _ in range(CALM // (TURN * NR_TYPES)):
        server.turn()
    end = sums(armed)
    done["calm"] = {"units": sum(row[0] for row in end.values()) -
                    sum(row[0] for row in start.values()), "found": watch.news()}
    note(f"{done['calm']['units']} units without a change: {done['calm']['found']}")
    usual = {number: mean_of(start, end, number) for number in start
             if end[number][0] > start[number][0]}
    done["types"] = len(usual)
    done["tries"] = [attempt(server, armed, watch, i % NR_TYPES, usual) for i in range(TRIES)]
    watch.end()
    pathlib.Path(sys.argv[1], "regression.json").write_text(json.dumps(done))


main()
