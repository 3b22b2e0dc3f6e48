# SPDX-License-Identifier: GPL-2.0
"""What is hooked is left to others as far as that can be."""

import os
import pathlib
import sys

from family import NUMBER, Family, number, parse, u64
from guarded import ENDED, GUARDED, LOCK, MIDDLE, Guarded, Request
from perfguard import (LONG, MS, TOP, Audit, Victim, collect, done, note, ok, run, skip, status,
                       wait_until)
from profile import Profile, Type
from record import Program, file_offset

MODULES = TOP / "build" / os.environ["PERFGUARD_KERNEL"] / "taker"
PATCHER = MODULES / "patcher.ko"
TAKER = MODULES / "taker.ko"
ENABLED = pathlib.Path("/sys/kernel/livepatch/patcher/enabled")
TRANSITION = pathlib.Path("/sys/kernel/livepatch/patcher/transition")
PATCHED = 4711
FUTEX, EPOLL_WAIT = 202, 232
DELAY_MS = 300
OTHERS = ("epoll_wait", "poll", "futex", "read", "nanosleep", "restart_syscall")

# Answers a line with what restart_syscall returns; there is nothing to restart: EINTR.
CALLER = """
import ctypes, sys
libc = ctypes.CDLL(None)
for _ in sys.stdin:
    print(libc.syscall(219), flush=True)
"""


class Caller(Program):
    def __init__(self):
        super().__init__(sys.executable, "-c", CALLER)
        self.call()

    def call(self):
        return int(self.do("call"))


def hooks():
    return {line["name"]: line for line in status("hook")}


def patch():
    result = run("insmod", PATCHER)
    note(result.stderr.strip())
    return result.returncode == 0 and wait_until(lambda: TRANSITION.read_text() == "0\n")


def unpatch():
    ENABLED.write_text("0")
    return wait_until(lambda: not ENABLED.exists()) and \
        wait_until(lambda: run("rmmod", "patcher").returncode == 0)


def live_patches():
    """A call is hooked and live-patched, in both orders."""
    watched, other = Caller(), Caller()
    audit = Audit("--duration", LONG, "-p", watched.pid)
    audit.next("ready")
    ok(watched.call() == -1, "a hooked call does what it did")
    ok(patch(), "a live patch of a hooked call can be enabled")
    ok(watched.call() == PATCHED, "the watched program calls the new function")
    ok(other.call() == PATCHED, "and so does another program")
    audit.finish()
    ok(watched.call() == PATCHED and other.call() == PATCHED, "also once it is hooked no more")
    audit = Audit("--duration", LONG, "-p", watched.pid)
    ok(audit.next("ready") and hooks()["restart_syscall"]["direct"],
       "a live-patched call is hooked directly")
    ok(watched.call() == PATCHED and other.call() == PATCHED, "and is the new function still")
    ok(unpatch(), "the live patch can be taken off while it is hooked")
    ok(watched.call() == -1 and other.call() == -1, "and the old function is called again")
    audit.finish()
    for caller in watched, other:
        caller.end()


def takes(call):
    """Whether another module gets the direct call of this one."""
    result = run("insmod", TAKER, f"function=__x64_sys_{call}")
    return result.returncode == 0 and run("rmmod", "taker").returncode == 0


def boundaries(family, server):
    """[(return offset, call, distance, rise)] of the server's loop, as an audit finds it; the
    thread that helps it waits for orders in a loop of its own."""
    audit = Audit("--duration", LONG, "-p", server.pid)
    audit.next("ready")
    found = []
    while not found:
        server.play([Request(0)] * 50)
        for answer in family.dump("LOOP_GET"):
            for kind, payload in answer:
                if kind == NUMBER["A_LOOP_WAIT_POINT"]:
                    point = {key: number(value) for key, value in parse(payload)}
                    path, offset = file_offset(server.pid,
                                               point[NUMBER["A_WAIT_POINT_RETURN_ADDRESS"]])
                    if (path, point[NUMBER["A_WAIT_POINT_SYSCALL"]]) == (GUARDED, EPOLL_WAIT):
                        found.append((offset, EPOLL_WAIT,
                                      point[NUMBER["A_WAIT_POINT_DISTANCE"]], 0))
    ok(len(hooks()) > 25, f"an audit hooks all wait calls: {len(hooks())}")
    audit.finish()
    ok(not hooks(), "and none when it has ended")
    return found


def stacks(family, since):
    """What is said of each stack in the records from this number on, as attributes."""
    for message in family.dump("ALERT_GET", u64(NUMBER["A_RECORD_SEQ"], since)):
        for kind, payload in message:
            if kind == NUMBER["A_RECORD_STACK"]:
                yield {key: number(value) for key, value in parse(payload) if len(value) <= 8}


def late_unit(family, server):
    """A unit that waits for a lock is reported as if all calls were hooked."""
    since = family.stats()["next_alert"]

    def ended():
        return [one for one in family.alerts(since) if one["kind"] == ENDED and
                one["pid"] == server.pid and one["elapsed_ns"] >= DELAY_MS * MS]

    server.play([Request(0)] * 20 + [Request(0, LOCK, MIDDLE, DELAY_MS * MS)])
    if not ok(wait_until(ended), "a late unit is reported"):
        return
    unit = ended()[0]
    note(f"{unit['elapsed_ns'] / MS:.0f} ms, blocked {unit['blocked_ns'] / MS:.0f} ms")
    ok(unit["blocked_ns"] >= 0.5 * DELAY_MS * MS, "with the time that it was blocked")
    rows = list(stacks(family, since))
    owner = {row[NUMBER["A_STACK_HOLDER"]] for row in rows if row.get(NUMBER["A_STACK_HOLDER"])}
    ok(owner and server.pid not in owner and
       any(row.get(NUMBER["A_STACK_SYSCALL"]) == FUTEX for row in rows),
       "with the call it waited in, and the holder of the lock")
    ok({row.get(NUMBER["A_STACK_TID"]) for row in rows} & owner,
       "and the stack of that thread, which makes no hooked call")


def guarded_calls():
    """A profile needs the calls of its boundaries; all others are everybody's."""
    family = Family()
    server = Guarded()
    rows = boundaries(family, server)
    profile = Profile(GUARDED, rows, [], [Type(100 * MS, 1)], [])
    profile.arm(family, "held")
    held = sorted(hooks())
    note(f"held: {' '.join(held)}")
    ok(held == ["epoll_wait"], "armed, its wait call alone is hooked")
    ok(all(hook["direct"] for hook in hooks().values()), "directly")
    ok(all(takes(call) for call in OTHERS if call not in held),
       "others can have the direct call of those that it does not need")
    ok(not any(takes(call) for call in held), "but not of those that it needs")
    late_unit(family, server)
    victim = Victim()
    audit = Audit("--duration", LONG, "-p", victim.pid)
    audit.next("ready")
    ok(len(hooks()) > 25, "an audit beside it hooks the others, too")
    audit.finish()
    victim.end()
    ok(sorted(hooks()) == held, "which go when it has ended")
    late_unit(family, server)
    ok(collect("disarm", "--all").returncode == 0 and not hooks(), "disarmed, nothing is hooked")
    ok(all(takes(call) for call in OTHERS), "and others can have all of them")
    server.end()


guarded_calls()
if PATCHER.exists():
    live_patches()
else:
    skip("live patches", "this kernel has none")
done()
