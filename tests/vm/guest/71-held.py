# SPDX-License-Identifier: GPL-2.0
"""What is hooked is left to others as far as that can be."""

import json
import os
import pathlib
import subprocess
import sys

from perfguard import LONG, TOP, Audit, collect, done, note, ok, run, skip, wait_until

PATCHER = TOP / "build" / os.environ["PERFGUARD_KERNEL"] / "taker/patcher.ko"
ENABLED = pathlib.Path("/sys/kernel/livepatch/patcher/enabled")
TRANSITION = pathlib.Path("/sys/kernel/livepatch/patcher/transition")
PATCHED = 4711

# Answers a line with what restart_syscall returns; there is nothing to restart: EINTR.
CALLER = """
import ctypes, sys
libc = ctypes.CDLL(None)
for _ in sys.stdin:
    print(libc.syscall(219), flush=True)
"""


class Caller:
    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-c", CALLER], text=True, bufsize=1,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid = self.process.pid
        self.call()

    def call(self):
        self.process.stdin.write("call\n")
        return int(self.process.stdout.readline())

    def end(self):
        self.process.kill()
        self.process.wait()


def hooks():
    lines = [json.loads(line) for line in collect("status", "--json").stdout.splitlines()]
    return {line["name"]: line for line in lines if line["kind"] == "hook"}


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


if PATCHER.exists():
    live_patches()
else:
    skip("live patches", "this kernel has none")
done()
