# SPDX-License-Identifier: GPL-2.0
"""Allocations fail: orders are refused and leave nothing, and threads run as ever (debug kernel).

The kernel lets those fail that have some code on their stack: the module's, for its own and those
of what it calls; or netlink's, for what carries orders and answers.
"""

import contextlib
import errno
import json
import os
import pathlib
import random
import signal
import subprocess
import time

from family import NUMBER, Family, u32, u64
from inference import Reference
from perfguard import (COLLECT, PATIENCE, Audit, Victim, collect, done, functions, note, ok,
                       skip)
from profile import Context, Profile, Type, armed, types
from record import DISCOVER, changed_bytes
from scripted import NAP, SCRIPTED, WAIT, Scripted, ends_of, random_profile, random_script

DEBUG = pathlib.Path("/sys/kernel/debug")
SLABS, PAGES = DEBUG / "failslab", DEBUG / "fail_page_alloc"
NEVER = 1 << 30
SEED = 20161113
TRIES = 40
NR_GUARDS = 8
ROUNDS, THREADS = 6, 4
LATE_NS, NAP_US = 2_000_000, 6000
# What an allocation that failed may come to, in the module, in netlink or in the socket.
SHORTAGE = {errno.ENOMEM, errno.ENOBUFS, errno.EAGAIN}


def put(fault, **values):
    for name, value in values.items():
        (fault / name.replace("_", "-")).write_text(str(value), encoding="ascii")


def module_text():
    words = next(line.split() for line in pathlib.Path("/proc/modules").read_text().splitlines()
                 if line.startswith("perfguard "))
    return int(words[5], 16), int(words[5], 16) + int(words[1])


def function_text(name):
    rows = [line.split() for line in pathlib.Path("/proc/kallsyms").read_text().splitlines()]
    start = next(int(row[0], 16) for row in rows if row[2] == name)
    return start, min(int(row[0], 16) for row in rows if int(row[0], 16) > start)


def aim(text):
    for fault in (SLABS, PAGES):
        put(fault, require_start=text[0], require_end=text[1])


def prepare_faults():
    for fault in (SLABS, PAGES):
        put(fault, stacktrace_depth=32, ignore_gfp_wait="N", verbose=0)
    put(PAGES, min_order=0, ignore_gfp_highmem="N")
    aim(module_text())


class Starved:
    """So many of a hundred allocations fail, whoever asks."""

    def __init__(self, percent, faults=(SLABS, PAGES)):
        self.percent = percent
        self.faults = faults
        self.failed = 0     # in all

    def __enter__(self):
        for fault in self.faults:
            put(fault, task_filter="N", space=0, times=NEVER, probability=self.percent)
        return self

    def __exit__(self, *_):
        for fault in self.faults:
            put(fault, probability=0)
            self.failed += NEVER - int((fault / "times").read_text())


def workers_may_fail(may):
    """The kernel's workers, which carry orders out; those that are made later inherit it."""
    for comm in pathlib.Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            if comm.read_text(encoding="ascii").startswith(("kthreadd", "kworker/")):
                comm.with_name("make-it-fail").write_text(may, encoding="ascii")


def without(space, call):
    """
    The first allocation fails before which there were so many bytes of slabs: what comes of the
    call, whether there was one, and how many bytes there were.
    """
    mine = pathlib.Path("/proc/thread-self/make-it-fail")
    trouble = None
    workers_may_fail("1")
    put(SLABS, task_filter="Y", space=space, times=1, probability=100)
    mine.write_text("1", encoding="ascii")
    try:
        call()
    except OSError as error:
        trouble = error.errno
    mine.write_text("0", encoding="ascii")
    put(SLABS, probability=0)
    workers_may_fail("0")
    return (trouble, (SLABS / "times").read_text().strip() == "0",
            space - int((SLABS / "space").read_text()))


class Order:
    """One order, given again and again, each time with another allocation that fails."""

    def __init__(self, text, before=None):
        self.text = text
        self.before = before
        self.family = Family()

    def give(self):
        raise NotImplementedError

    def is_done(self):
        raise NotImplementedError

    def is_undone(self):
        """As if it had not been given."""
        return not self.family.targets()

    def is_whole(self, trouble):
        """Carried out or not, as was said; where the answer was lost, either of them."""
        if trouble == errno.ENOBUFS:
            return self.is_undone() or self.is_done()
        return self.is_undone() if trouble else self.is_done()

    def forget(self):
        """Whether all could be taken back."""
        self.family.close()     # and what it has loaded goes
        self.family = Family()
        if self.family.targets():
            self.family.do("TARGET_DEL")
        return not self.family.targets() and not armed(self.family)

    def run(self, program):
        if self.before:
            self.before(self.family)
        total = without(NEVER, self.give)[2]
        outcomes = {}
        hits = wrong = left = 0
        for i in range(TRIES):
            left += not self.forget() or changed_bytes(program.pid, SCRIPTED) != 0
            if self.before:
                self.before(self.family)
            trouble, failed, _ = without(i * total // TRIES, self.give)
            hits += failed
            outcomes[trouble] = outcomes.get(trouble, 0) + 1
            if not self.is_whole(trouble):
                wrong += 1
                note(f"{trouble}: {self.family.targets()} {armed(self.family)} "
                     f"{changed_bytes(program.pid, SCRIPTED)}")
        left += not self.forget()
        names = {errno.errorcode.get(one, one): count for one, count in outcomes.items()}
        note(f"{self.text}: {total} bytes of slabs, {hits} of {TRIES} times one failed: {names}")
        ok(hits >= TRIES / 2 and set(outcomes) - {None} <= SHORTAGE,
           f"{self.text}: it is carried out, or refused without memory")
        ok(not wrong, f"{self.text}: as a whole or not at all")
        ok(not left, f"{self.text}: what there is goes again, with its probes")
        self.family.close()


class Watching(Order):
    def give(self):
        fd = os.open(SCRIPTED, os.O_RDONLY)
        try:
            self.family.do("TARGET_NEW", u32(NUMBER["A_TARGET_EXE_FD"], fd),
                           u32(NUMBER["A_TARGET_FLAGS"], DISCOVER),
                           u64(NUMBER["A_TARGET_THRESHOLD_NS"], 1 << 62))
        finally:
            os.close(fd)

    def is_done(self):
        """A process that there was no memory for is not watched, and counted."""
        targets = self.family.targets()
        return len(targets) == 1 and 1 in (targets[0]["processes"], targets[0]["untracked"])


class Arming(Order):
    """Of the second of two profiles, if there is one before."""

    def __init__(self, text, profile, program, before=None):
        super().__init__(text, before)
        self.profile = profile
        self.program = program

    def names(self):
        return [one["name"] for one in armed(self.family) if one.get("target_id")]

    def has_guards(self):
        """A process that there was no memory for is not watched, and counted: it has none."""
        wanted = 0 if self.family.targets()[0]["untracked"] else NR_GUARDS
        return changed_bytes(self.program.pid, SCRIPTED) == wanted

    def give(self):
        self.profile.arm(self.family, "this")

    def is_done(self):
        return self.names() == ["this"] and self.has_guards()

    def is_undone(self):
        if not self.before:
            return super().is_undone() and changed_bytes(self.program.pid, SCRIPTED) == 0
        return self.names() == ["other"] and self.has_guards()


def orders(program, profile):
    Watching("watching an executable").run(program)
    Arming("arming a profile", profile, program).run(program)
    Arming("arming one in another's place", profile, program,
           lambda family: profile.arm(family, "other")).run(program)


def has_units(family, profile, wanted):
    """The units of each type, as many as there should be."""
    return {one["id"]: one["units"] for one in types(family, profile) if one["units"]} == wanted


def count_types(profile, threads):
    counts = {}
    for _, units in threads:
        reference = Reference(profile)
        for hits, (kind, _) in zip(units, ends_of(reference, units)):
            if kind and reference.knows(hits):
                counts[kind] = counts.get(kind, 0) + 1
    return counts


def guarded(program, profile, script):
    """Threads come and go in a guarded program; those that come afterwards are distinguished."""
    family = Family()
    first, _, _ = profile.arm(family, "starved")
    with Starved(30):
        for _ in range(ROUNDS):
            threads = program.run(script, THREADS)
            program.fork(script)
    waits = len([step for step in script if step[0] == WAIT])
    ok(all(len(units) == waits for _, units in threads),
       f"{ROUNDS * THREADS} threads ran in spite of it")
    collect("disarm", "--all")
    again, _, _ = profile.arm(family, "fed")
    threads = program.run(script, THREADS)
    ok(again != first and has_units(family, again, count_types(profile, threads)),
       "with memory all units of new threads are distinguished as ever")
    collect("disarm", "--all")
    family.close()


def listen(*options):
    return subprocess.Popen([COLLECT, "watch", *options], stdin=subprocess.DEVNULL, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def hush(watch):
    """What it said, and what of itself."""
    watch.send_signal(signal.SIGINT)
    lines, errors = watch.communicate(timeout=PATIENCE)
    return lines.splitlines(), errors.strip()


def late(program):
    """Units of a guarded program are late, and stay so for a while."""
    steps = [(WAIT, 0, 0), (1, 0, 0)]
    depth = program.run(steps + [(WAIT, 0, 0)])[0][1][0][0][1]
    profile = Profile(SCRIPTED, [program.boundary()], [(program.offsets[1], 0)],
                      [Type(LATE_NS, 1)], [Context(0, depth, [(0, 10, 10)])])
    script = (steps + [(NAP, 0, NAP_US), (1, 0, 0)]) * 30 + [(WAIT, 0, 0)]
    family = Family()
    profile.arm(family, "late")
    before = family.stats()
    watch = listen("--json", "--window", "0")
    with Starved(40):
        program.run(script, THREADS)
    starved = family.stats()
    lost = starved["lost_memory"] - before["lost_memory"]
    records = family.alerts()
    note(f"{len(records)} records were kept, {lost} had no memory")
    ok(lost and records, "records of late units are lost then, but not all, and counted")
    # Where many are late, some are reported each four seconds.
    time.sleep(5)
    program.run(script)
    time.sleep(2)
    again = family.stats()["lost_memory"] - starved["lost_memory"]
    lines, errors = hush(watch)
    reported = [line for line in map(json.loads, lines) if line["kind"] == "late"]
    note(f"{len(reported)} reports, exit {watch.returncode} {errors}")
    ok(watch.returncode == 0, "who watches goes on, too")
    # A unit may be over before the watch has taken its stack.
    reported = [line for line in reported
                if line["seq"] >= starved["next_alert"] and line["stacks"]]
    ok(not again and len(reported) >= 8, f"with memory none is lost, and {len(reported)} have stacks")
    collect("disarm", "--all")
    family.close()


def audited(what, text, *starved):
    """Who listens while allocations fail hears on, of a thread that was there all the time."""
    victim = Victim()
    audit = Audit("--duration", 900, "--slower-than", "10ms", "-p", victim.pid)
    watch = listen()
    audit.next("ready")
    victim.do("nothing")
    aim(text)
    with Starved(*starved) as starved:
        answers = [victim.do("sleep 20") for _ in range(40)]
        storm = Victim("storm", "2")
        storm.answer()
        storm.end()
        time.sleep(3)
    aim(module_text())
    ok(answers == ["ok"] * 40 and starved.failed,
       f"{what}: a program that is audited runs on, {starved.failed} allocations failed")
    for _ in range(5):
        victim.do("sleep 30")
    victim.do("nothing")
    audit.finish()
    _, errors = hush(watch)
    reported, ended = audit.kind("late"), audit.kind("ended")
    note(f"{len(reported)} reports and {len(ended)} ends of 45 late units, exit {audit.code} "
         f"{audit.errors.strip()}, of the watch {watch.returncode} {errors}")
    seen = {line["unit"] for line in reported
            if any("sleep_here" in functions(stack) for stack in line["stacks"])}
    # On a slow host another one may be late, too.
    last = {line["unit"] for line in ended[-6:]}
    ok(audit.code == 0 and watch.returncode == 0, f"{what}: audit and watch go on")
    ok(len(last & seen) >= 5,
       f"{what}: its late units are reported with their stacks as soon as there is memory")
    victim.end()


if not (SLABS.exists() and PAGES.exists()):
    skip("allocations fail", "not in this kernel")
    done()
prepare_faults()
source = random.Random(SEED)
script = random_script(source, 60)
program = Scripted()
seen = {context for _, units in program.run(script) for calls in units for context in calls}
profile = random_profile(source, program, seen, False)
few = Profile(profile.path, profile.boundaries, profile.guards[:NR_GUARDS], profile.types,
              [one for one in profile.contexts if one.guard < NR_GUARDS])
orders(program, few)
guarded(program, profile, script)
late(program)
program.end()
audited("the module", module_text(), 50)
# Pages are not only netlink's: what is read is written to pages of the reader.
audited("asking", function_text("netlink_sendmsg"), 20, (SLABS,))
audited("answering", function_text("netlink_recvmsg"), 50, (SLABS,))
ok("Nothing is watched" in collect("status").stdout, "nothing is left")
done()
