# SPDX-License-Identifier: GPL-2.0
"""In the guest: how much slower does a unit have to be to be reported?

usage: sensitivity.py PROGRAM all|few traps|jumps OUT

all: a program is trained on under a steady load and armed.  Then one of its functions that most units
call is delayed now and then, by a kernel module that knows nothing of units: by computing, by
sleeping, and by computing while another process wants the same CPU.  OUT/delays.json has each
delayed unit, with its type, what it took, and by which part it was reported, if it was; and the
false alarms among the others.
few: the same, by computing alone, of a profile whose limits are of few units; OUT/few.json.
jumps: guards are jumps where they can be; OUT/inline-delays.json and OUT/inline-few.json.
Nothing is judged here.
"""

import bisect
import collections
import contextlib
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[2]
sys.path[:0] = [str(HERE), str(TOP / "tests/vm/guest")]

import programs  # noqa: E402
from guarded import ENDED, LATE, UNIT, Armed, reload, show  # noqa: E402
from perfguard import COLLECT, collect, note, run  # noqa: E402

CONNECTIONS = 4
PAUSE = 0.004           # between a connection's requests, s: the machine is not full
SECONDS = 80            # of each way of delaying
CALM_SECONDS = 30
TRIES_PER_SECOND = 6    # delays; what one holds up is late as well, and few enough to report
PART = {1: "all", 2: "own", 3: "cpu", 4: "blocked", 5: "block_io"}
SMALLEST, LARGEST = 0.05, 12    # delays, by the mean of a unit
STAGE = 15              # of training for limits of few units: coverage and structure, s,
TIMING = 0.3            # and how long its units are timed, s


def numbers(blob):
    """Of a list of rising numbers, as a profile keeps it: differences of 7 bits a byte."""
    values, value, shift = [], 0, 0
    for byte in blob:
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            values.append(value)
            value, shift = 0, 0
    found, last = [], 0
    for value in values[1:]:
        last += value
        found.append(last)
    return found


def common_function(profile):
    """(path, offset) of the function that most units of the busiest loop call, near the loop."""
    with contextlib.closing(sqlite3.connect(f"file:{profile}?mode=ro", uri=True)) as db:
        nodes = db.execute("SELECT parent, function FROM node ORDER BY id").fetchall()
        guards = {function for function, in db.execute("SELECT function FROM guard")}
        sites = {function for function, in db.execute("SELECT function FROM boundary")}
        trees = db.execute("SELECT loop, leaves, units_learnt + units_held_back FROM tree")
        by_loop = collections.defaultdict(list)
        for loop, leaves, units in trees:
            by_loop[loop].append((numbers(leaves), units))
        busiest = max(by_loop.values(), key=lambda rows: sum(units for _, units in rows))
        seen, depths = collections.Counter(), {}
        for leaves, units in busiest:
            functions = set()
            for node in leaves:
                chain = []
                while node:
                    chain.append(nodes[node][1])
                    node = nodes[node][0]
                for depth, function in enumerate(reversed(chain)):
                    functions.add(function)
                    depths[function] = min(depth, depths.get(function, depth))
            for function in functions:
                seen[function] += units
        chosen = max((one for one in seen if one not in guards | sites),
                     key=lambda one: (round(seen[one] / sum(seen.values()), 3), -depths[one]))
        path, offset = db.execute("SELECT path, offset FROM function JOIN object ON object.id = "
                                  "function.object WHERE function.id = ?", (chosen,)).fetchone()
    share = seen[chosen] / sum(units for _, units in busiest)
    return path, offset, share


class Load:
    """Connections that ask, wait for the answer, and pause: always as long, or as Pareto's law
    with this exponent has it.  A second load of the same server has another seed."""

    def __init__(self, name, tail=0, seed=7):
        self.process = subprocess.Popen(
            [sys.executable, "-B", str(HERE / "client.py"), name, "--connections",
             str(CONNECTIONS), "--pause", str(PAUSE), "--tail", str(tail), "--seed", str(seed)],
            stdin=subprocess.DEVNULL)

    def stop(self):
        self.process.terminate()
        if self.process.wait(60):
            raise RuntimeError("the load failed")


class Delayer:
    def __init__(self, place, every, mean_ns, sleeps, sizes=(SMALLEST, LARGEST)):
        """Delays are of these sizes, by the mean of a unit."""
        path, offset = place
        result = run("insmod", module("delayer"), f"path={path}", f"offset={offset}",
                     f"every={every}", f"min_ns={max(int(sizes[0] * mean_ns), 1000)}",
                     f"max_ns={int(sizes[1] * mean_ns)}", f"sleeps={int(sleeps)}")
        if result.returncode:
            raise RuntimeError(result.stderr)

    @staticmethod
    def end():
        """[(time_ns, tid, ns)]"""
        rows = [tuple(map(int, line.split()))
                for line in pathlib.Path("/proc/delayer").read_text().splitlines()]
        run("rmmod", "delayer")
        return rows


def module(name):
    return str(TOP / f"build/{os.environ['PERFGUARD_KERNEL']}/taker/{name}.ko")


class Watch:
    """Units and alerts of a span, by the module's own words."""

    def __init__(self, armed):
        self.armed, self.units, self.alerts = armed, [], []

    def follow(self, recorder, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.units += [event for event in recorder.read(500) if event.kind == UNIT]
            self.alerts += [one for one in self.armed.alerts() if one["kind"] in (LATE, ENDED)]

    def by_thread(self):
        """{tid: [(start, end, type, ns)]}"""
        found = collections.defaultdict(list)
        for event in sorted(self.units):
            checks = event.sp & 0xffffffff
            start = event.time - event.value - checks
            found[event.tid].append((start, event.time, event.number, event.value))
        return found


def late_at(alerts):
    """{tid: [(begin, end, record)]} of the units that were reported."""
    found = collections.defaultdict(list)
    for one in alerts:
        begin = one["mono_ns"] - one["elapsed_ns"] - one.get("check_ns", 0)
        found[one["tid"]].append((begin, one["mono_ns"], one))
    for rows in found.values():
        rows.sort(key=lambda row: row[0])
    return found


def pair(delays, watch):
    """A row for each delayed unit; delays of units that were delayed twice are left out."""
    units, late = watch.by_thread(), late_at(watch.alerts)
    rows, by_unit = [], collections.Counter()
    for at, tid, ns in delays:
        mine = units.get(tid, [])
        i = bisect.bisect_right([unit[0] for unit in mine], at) - 1
        if i < 0 or mine[i][1] < at:
            continue
        by_unit[tid, i] += 1
        # The record is made some time after the moment that it is of.
        record = next((one for begin, _, one in late.get(tid, [])
                       if mine[i][0] - 200_000 <= begin <= mine[i][1]), None)
        rows.append(((tid, i), {"type": mine[i][2], "delay_ns": ns, "elapsed_ns": mine[i][3],
                                "part": PART.get(record.get("part")) if record else None}))
    return [row for key, row in rows if by_unit[key] == 1]


def false_alarms(armed, seconds):
    """{type: (units, late, starved)} of a span without delays."""
    before = armed.types()
    time.sleep(seconds)
    after = armed.types()
    return {number: [after[number][what] - before[number][what]
                     for what in ("units", "late", "starved")] for number in after}


def delay(armed, recorder, place, every, mean_ns, sleeps):
    before = armed.types()
    delayer = Delayer(place, every, mean_ns, sleeps)
    watch = Watch(armed)
    try:
        watch.follow(recorder, SECONDS)
    finally:
        rows = delayer.end()
    watch.follow(recorder, 1)
    paired = pair(rows, watch)
    note(f"{len(rows)} delays, {len(paired)} of them in units, "
         f"{sum(one['part'] is not None for one in paired)} of those reported; "
         f"{sum(one['late'] - before[kind]['late'] for kind, one in armed.types().items())} late "
         f"units, {len(watch.alerts)} records")
    return paired


def rival_of(pid):
    """A process that computes on the CPUs of another: now on the same one."""
    run("taskset", "-apc", "0", str(pid))
    return subprocess.Popen(["taskset", "-c", "0", "sh", "-c", "while :; do :; done"])


def stages(path):
    """A workload for train that is over after each stage's time; the load is another.  Units are
    timed where guards are on; the stage before may begin again without its hot functions."""
    path.write_text(f"""\
if {COLLECT} status --json | grep -q '"kind": *"profile"'; then sleep {TIMING}; else sleep {STAGE}; fi
""")
    return f"sh {path}"


def train(pid, profile, ways, *options):
    """Train and arm, both in these ways."""
    result = collect("train", "-o", profile, "--max-slowdown", "none", *ways, *options, "-p", pid,
                     timeout=600)
    profile.with_suffix(".txt").write_text(result.stdout + result.stderr)
    if result.returncode:
        raise RuntimeError(result.stdout + result.stderr)
    return Armed(profile, *ways)


def prefix(ways):
    """Of the files that are written."""
    return "inline-" if "--inline" in ways else ""


def aim(armed, profile, done):
    """Which function to delay, and every how many calls."""
    kinds = armed.types()
    units = sum(one["units"] for one in kinds.values())
    mean_ns = sum(one["elapsed_ns"] for one in kinds.values()) / max(units, 1)
    *place, share = common_function(profile)
    every = max(int(sum(row[0] for row in done["calm"].values()) / CALM_SECONDS * share /
                    TRIES_PER_SECOND), 1)
    return {"place": place, "share": share, "every": every, "mean_ns": mean_ns}


def measure(program, out, ways):
    profile = out / f"{prefix(ways)}profile.pgp"
    armed = train(program.pid, profile, ways)
    done = {"types": show(profile)["types"], "calm": false_alarms(armed, CALM_SECONDS)}
    done |= aim(armed, profile, done)
    where = (done["place"], done["every"], done["mean_ns"])
    recorder = armed.stream()
    done["computing"] = delay(armed, recorder, *where, False)
    done["sleeping"] = delay(armed, recorder, *where, True)
    rival = rival_of(program.pid)
    done["rival"] = delay(armed, recorder, *where, False)
    recorder.ask("close")
    done["calm_rival"] = false_alarms(armed, CALM_SECONDS)
    rival.kill()
    (out / f"{prefix(ways)}delays.json").write_text(json.dumps(done))


def measure_few(program, out, ways):
    profile = out / f"{prefix(ways)}few.pgp"
    armed = train(program.pid, profile, ways, "--workload", stages(pathlib.Path("/tmp/stages")))
    done = {"types": show(profile)["types"], "calm": false_alarms(armed, CALM_SECONDS)}
    done |= aim(armed, profile, done)
    done["computing"] = delay(armed, armed.stream(), done["place"], done["every"],
                              done["mean_ns"], False)
    (out / f"{prefix(ways)}few.json").write_text(json.dumps(done))


def main():
    name, what, way, out = *sys.argv[1:4], pathlib.Path(sys.argv[4])
    ways = ["--inline"] if way == "jumps" else []
    reload(65536)
    program = programs.load(name)
    program.start()
    load = Load(name)
    try:
        {"all": measure, "few": measure_few}[what](program, out, ways)
    finally:
        load.stop()
        program.stop()


if __name__ == "__main__":
    main()
