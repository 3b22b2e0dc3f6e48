# SPDX-License-Identifier: GPL-2.0
"""Who is stopped in mid-unit, by a signal, a tracer or the freezer, is stopped, and not late."""

import ctypes
import os
import pathlib
import signal
import time

from perfguard import (IS_SLOW, LONG, MS, PATIENCE, Audit, Victim, done, is_in, note, ok,
                       wait_until, watching)

SCALE = 4 if IS_SLOW else 1
LIMIT = f"{400 * SCALE}ms"
STOP_S = 0.8 * SCALE
NAP = 150 * SCALE   # of a unit that is stopped meanwhile, ms
LATE = 2500 * SCALE
SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17
GROUP = pathlib.Path("/sys/fs/cgroup/stopped")
CLOCK_NANOSLEEP, EPOLL_WAIT = "230", "232"


def is_in_call(victim, number):
    text = pathlib.Path(f"/proc/{victim.pid}/syscall").read_text(encoding="ascii")
    return text.split()[0] == number


class Way:
    """To stop a victim, and let it go on."""

    def prepare(self, victim):
        """What takes its time; the victim is not stopped yet."""


class Signal(Way):
    cause, by = "signal", signal.SIGSTOP

    def begin(self, victim):
        victim.process.send_signal(signal.SIGSTOP)
        wait_until(lambda: is_in(victim.pid, "T"))

    def end(self, victim):
        victim.process.send_signal(signal.SIGCONT)
        wait_until(lambda: not is_in(victim.pid, "T"))


class Tracer(Way):
    cause, by = "tracer", os.getpid()
    libc = ctypes.CDLL(None, use_errno=True)

    def trace(self, request, pid):
        if self.libc.ptrace(request, pid, None, None):
            raise OSError(ctypes.get_errno(), "ptrace")

    def begin(self, victim):
        self.trace(SEIZE, victim.pid)
        self.trace(INTERRUPT, victim.pid)
        os.waitpid(victim.pid, 0x40000000)  # __WALL

    def end(self, victim):
        self.trace(DETACH, victim.pid)


class Freezer(Way):
    cause, by = "freezer", None

    def prepare(self, victim):
        GROUP.mkdir(exist_ok=True)
        GROUP.joinpath("cgroup.procs").write_text(str(victim.pid), encoding="ascii")

    def begin(self, victim):
        GROUP.joinpath("cgroup.freeze").write_text("1", encoding="ascii")
        wait_until(lambda: "frozen 1" in GROUP.joinpath("cgroup.events").read_text())

    def end(self, victim):
        GROUP.joinpath("cgroup.freeze").write_text("0", encoding="ascii")
        wait_until(lambda: "frozen 0" in GROUP.joinpath("cgroup.events").read_text())


def stop(victim, way):
    """Stop it for a while; (least, most) of how long that was, ns."""
    before = time.monotonic_ns()
    way.begin(victim)
    begun = time.monotonic_ns()
    time.sleep(STOP_S)
    end = time.monotonic_ns()
    way.end(victim)
    return end - begun, time.monotonic_ns() - before


def unit(victim, way, command):
    """A unit that is stopped while it sleeps; how long, as above."""
    way.prepare(victim)
    victim.send(command)
    wait_until(lambda: is_in_call(victim, CLOCK_NANOSLEEP))
    least, most = stop(victim, way)
    victim.answer()
    return least, most


def in_mid_unit(audit, victim, way):
    least, most = unit(victim, way, f"sleep {NAP}")
    late = audit.next_long("late", STOP_S * 400)
    ended = audit.next_long("ended", STOP_S * 900)
    if not ok(late and ended, f"{way.cause}: a unit that is stopped is reported, and its end"):
        return
    stopped = ended["time_ns"]["stopped"]
    note(f"{way.cause}: stopped {stopped / MS:.2f} ms, for {least / MS:.2f} to {most / MS:.2f}; "
         f"blocked {ended['time_ns']['blocked'] / MS:.1f}")
    ok(least <= stopped <= most, f"{way.cause}: it was stopped for as long as it was")
    ok(ended["time_ns"]["blocked"] < 2 * NAP * MS, f"{way.cause}: and was not blocked then")
    ok(late["part"] == ended["part"] == "stopped" and
       late["stop"] == {"cause": way.cause, "by": way.by, "now": True} and
       ended["stop"] == {"cause": way.cause, "by": way.by, "now": False},
       f"{way.cause}: the report names who stopped it: {ended['stop']}")
    ok({stack["state"] for stack in late["stacks"]} == {"stopped"} and
       [frame["function"] for frame in late["stacks"][0]["frames"]].count("sleep_here"),
       f"{way.cause}: and has its stack")


def late_by_itself(audit, victim):
    """A unit is late by what is left without the stop, and by no more."""
    least, most = unit(victim, Signal(), f"sleep {LATE}")
    ended = audit.next_long("ended", LATE - 100)
    # It also ran, to be stopped and to go on.
    own = (LATE - 100) * MS - most, ended["elapsed_ns"] - least
    blocked = ended["time_ns"]["blocked"]
    ok(ended["part"] == "all" and least <= ended["time_ns"]["stopped"] <= most and
       own[0] <= blocked <= own[1],
       f"who is late all the same is late: blocked {blocked / MS:.0f} ms, stopped "
       f"{ended['time_ns']['stopped'] / MS:.0f}")


def between_units(victim):
    """Who is stopped while it waits for work is in no unit, whatever its wait returns."""
    audit = Audit("--duration", LONG, "--slower-than", LIMIT, "-p", victim.pid)
    audit.next("ready")
    for _ in range(20):
        victim.unit("nothing")
    for way in (Signal(), Tracer(), Freezer()):
        wait_until(lambda: is_in_call(victim, EPOLL_WAIT))
        way.prepare(victim)
        stop(victim, way)
        victim.unit("nothing")
    audit.finish()
    loop = audit.loops()[0]
    ok(not audit.kind("late|ended") and not audit.kind("ended") and loop["late"] == 0 and
       loop["stopped"] == 0, "a stop between units makes none late")
    # It is begun again when the thread goes on.
    ok(loop["unit_ns"]["max"] < STOP_S * 500 * MS and loop["time_ns"]["stopped"] == 0,
       f"nor is it in any: the longest took {loop['unit_ns']['max'] / MS:.1f} ms")


def text_of(victim):
    """What watch prints of it."""
    audit = Audit("--duration", LONG, "--slower-than", LIMIT, "-p", victim.pid)
    audit.next("ready")
    victim.unit("nothing")
    path = pathlib.Path("/tmp/94.watch")
    with path.open("w", encoding="utf-8") as file, watching(
            "--window", "0", stdout=file) as watch:
        unit(victim, Signal(), f"sleep {NAP}")
        wait_until(lambda: "ended" in path.read_text(encoding="utf-8"))
        watch.send_signal(signal.SIGINT)
        watch.wait(PATIENCE)
    audit.finish()
    text = path.read_text(encoding="utf-8")
    for line in text.splitlines():
        note(line)
    ok(" STOPPED victim" in text and "LATE" not in text and
       f"who sent SIGSTOP; 'kill -CONT {victim.pid}'" in " ".join(text.split()) and
       "of it stopped" in text and max(map(len, text.splitlines())) < 80,
       "watch says that it is stopped, and who is to be looked for")


victim = Victim()
audit = Audit("--duration", LONG, "--slower-than", LIMIT, "-p", victim.pid)
audit.next("ready")
victim.unit("nothing")
WAYS = Signal(), Tracer(), Freezer()
for way in WAYS:
    in_mid_unit(audit, victim, way)
late_by_itself(audit, victim)
audit.finish()
loop = audit.loops()[0]
ok(loop["late"] == 1 and loop["stopped"] == len(WAYS), f"of these units {loop['late']} was late")
ok(loop["time_ns"]["stopped"] >= (len(WAYS) + 1) * STOP_S * 1e9 and
   sum(loop["time_ns"][part] for part in ("cpu", "runqueue", "blocked", "stopped")) ==
   loop["time_ns"]["elapsed"], "the sums have it as a part of its own")
between_units(victim)
text_of(victim)
victim.end()
done()
