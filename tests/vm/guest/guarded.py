# SPDX-License-Identifier: GPL-2.0
"""tests/vm/guarded and its truth, its profile, and what the module reports of it."""

import bisect
import collections
import json
import pathlib
import struct
import subprocess
import time

import profile as loading
from family import Family
from perfguard import MODULE, TOP, collect, run, wait_until
from record import ACCOUNT, RECORD, Recorder

GUARDED = str(TOP / "build/tests/vm/guarded")
PORT = 7100
NR_TYPES = 8
NONE, SLEEP, SPIN, LOCK, PIPE = range(5)
KINDS = ("none", "sleep", "spin", "lock", "pipe")
BEFORE, MIDDLE, AFTER = range(3)
PLACES = ("before", "middle", "after")
LATE, ENDED, LOST, NOVEL = 1, 2, 3, 5
GUARD, UNIT = 7, 8
# As in guarded.c: turns of the shortest request of each type.
LEAST = (2000, 4000, 3000, 6000, 5000, 9000, 2500, 12000)

Unit = collections.namedtuple("Unit", "start_ns delay_ns end_ns type seq tid kind")
Request = collections.namedtuple("Request", "type kind place delay_ns work gap_ns",
                                 defaults=(NONE, BEFORE, 0, 1000, 0))


class Guarded:
    """A server; its log, when it is to write one."""

    def __init__(self, port=PORT, log="/tmp/guarded.log"):
        self.port = port
        self.log = pathlib.Path(log)
        self.log.unlink(missing_ok=True)
        self.process = subprocess.Popen([GUARDED, "serve", str(port), str(log)])
        self.pid = self.process.pid
        wait_until(lambda: self.log.exists() and self.log.stat().st_size > 0)
        time.sleep(0.2)

    def command(self, seed, number, form, scale=1):
        return f"{GUARDED} load {self.port} {seed} {number} {form} {scale}"

    def load(self, seed, number, form, scale=1):
        result = run("sh", "-c", self.command(seed, number, form, scale))
        if result.returncode:
            raise RuntimeError(result.stderr)

    def play(self, requests):
        """Send these; seq is their place in the list."""
        file = pathlib.Path(f"/tmp/play-{self.port}")
        file.write_bytes(b"".join(
            struct.pack("<IIIIQQQ", one.type, one.kind, one.place, i, int(one.delay_ns),
                        int(one.work), int(one.gap_ns)) for i, one in enumerate(requests)))
        if run(GUARDED, "play", self.port, file).returncode:
            raise RuntimeError("the server does not answer")

    def count(self):
        with open(self.log, "rb") as file:
            return struct.unpack("<Q", file.read(8))[0]

    def units(self, first=0):
        """Those that ended, from this one on."""
        size = struct.calcsize("<QQQIIII")
        count = self.count() - first
        with open(self.log, "rb") as file:
            file.seek(8 + first * size)
            data = file.read(count * size)
        return [Unit(*row) for row in struct.iter_unpack("<QQQIIII", data)]

    def train(self, path, number, form, *options, scale=1, seed=1):
        return collect("train", "-o", path, "--workload", self.command(seed, number, form, scale),
                       *options, "-p", self.pid)

    def end(self):
        self.process.kill()
        self.process.wait()


def show(path):
    return json.loads(collect("show", "--json", path).stdout)


def reload(ring_kib):
    """The module loaded again, with a ring of this size for alerts."""
    run("rmmod", "perfguard")
    result = run("insmod", MODULE, f"ring_kib={ring_kib}")
    if result.returncode:
        raise RuntimeError(result.stderr)


class Armed:
    """A profile that pg-collect armed, asked by netlink."""

    def __init__(self, path, *options):
        result = collect("arm", "--budget", "none", *options, path)
        if result.returncode:
            raise RuntimeError(result.stdout + result.stderr)
        self.said = result.stdout
        self.family = Family()
        self.look()
        self.next_alert = 1 + max((record["seq"] for record in self.family.alerts()
                                   if "seq" in record), default=0)

    def look(self):
        self.profile = next(one for one in loading.armed(self.family) if one.get("target_id"))
        self.target = self.profile["target_id"]

    def stream(self):
        """A recorder that gets each hit and each unit from now on."""
        self.family.record(self.target, ACCOUNT | RECORD)
        recorder = Recorder()
        recorder.ask("open")
        return recorder

    def types(self):
        return {one["id"]: one for one in loading.types(self.family, self.profile["id"])}

    def sums(self, *whats):
        """{what: sum over all types}"""
        kinds = self.types().values()
        return {what: sum(kind[what] for kind in kinds) for what in whats}

    def alerts(self):
        """The records since the last call, with mono_ns, their time as the program has it."""
        offset = time.clock_gettime_ns(time.CLOCK_REALTIME) - time.monotonic_ns()
        records = []
        for record in self.family.alerts(self.next_alert):
            if record["kind"] == LOST:
                records.append(record)
            elif record["seq"] >= self.next_alert:
                self.next_alert = record["seq"] + 1
                record["mono_ns"] = record["time_ns"] - offset
                records.append(record)
        return records


def units_of(events):
    """[(unit event, [guard events before it])] of a thread's events, in order."""
    found, hits = [], []
    for event in events:
        if event.kind == GUARD:
            hits.append(event)
        elif event.kind == UNIT:
            found.append((event, hits))
            hits = []
    return found


def match(units, pairs):
    """{index of the true unit: pair of units_of()}, by time; the rest is left out."""
    starts = [unit.start_ns for unit in units]
    found = {}
    for event, hits in pairs:
        # An event comes at the unit's end, or just after the program noted it.
        i = bisect.bisect_right(starts, event.time) - 1
        if i >= 0 and units[i].tid == event.tid:
            found.setdefault(i, (event, hits))
    return found


def unit_of(units, starts, record):
    """Index of the true unit that a record is about, or None."""
    start = record["mono_ns"] - record["elapsed_ns"] - record.get("check_ns", 0)
    # A record is made a little later than its time was taken.
    i = bisect.bisect_left(starts, start)
    near = [j for j in (i - 1, i) if 0 <= j < len(units)]
    best = min(near, key=lambda j: abs(starts[j] - start), default=None)
    if best is None or units[best].tid != record["tid"] or \
            record["mono_ns"] < starts[best] - 100_000 or \
            (best + 1 < len(units) and record["mono_ns"] > starts[best + 1] + 1_000_000):
        return None
    return best
