# SPDX-License-Identifier: GPL-2.0
"""What the tests in the guest share: TAP, the collector, and a watched program."""

import json
import os
import pathlib
import queue
import subprocess
import sys
import threading
import time

TOP = pathlib.Path(__file__).resolve().parents[3]
COLLECT = str(TOP / "pg-collect")
VICTIM = str(TOP / "build/tests/vm/victim")
MODULE = os.environ["PERFGUARD_KO"]
# With all its checks on, a kernel takes ten times as long for everything.
IS_SLOW = os.environ["PERFGUARD_KERNEL"] == "debug"
# The guest's time is counted in instructions, and what the host does besides has no part in it.
EXACT = bool(os.environ.get("EXACT"))
# Seconds until something is given up that has to come, however busy the host is.  Counted in
# instructions, time races ahead while the guest waits for the host.
PATIENCE = 10**6 if EXACT else 600 if IS_SLOW else 180
# More than a whole test takes: for what is ended, or ends, by itself.
LONG = max(3600, PATIENCE)
MS = 1_000_000

KMEMLEAK = pathlib.Path("/sys/kernel/debug/kmemleak")

_count = 0
_failed = 0


def ok(good, text):
    """One test line; returns whether it was good."""
    global _count, _failed
    _count += 1
    _failed += not good
    print(f"{'ok' if good else 'not ok'} {_count} - {text}", flush=True)
    return good


def note(text):
    print(f"# {text}", flush=True)


def skip(text, why):
    global _count
    _count += 1
    print(f"ok {_count} - {text} # SKIP {why}", flush=True)


def no_leaks(text):
    """That kmemleak finds nothing of ours; it scans twice, as it takes a while to be sure."""
    if not KMEMLEAK.exists():
        skip(text, "this kernel does not look for it")
        return
    for _ in range(2):
        KMEMLEAK.write_text("scan\n", encoding="ascii")
        time.sleep(6)
    reports = [one for one in KMEMLEAK.read_text(encoding="ascii", errors="replace").split(
        "unreferenced object") if "guard" in one]
    for report in reports[:3]:
        note(report.replace("\n", " | ")[:900])
    ok(not reports, text)


def exact_only(name):
    """End here unless the guest's time is its own: what the test says is of time."""
    if not EXACT:
        skip(name, "only where the guest's time is its own: tests/vm/late-*.t, guards-6.12.t")
        done()


def done():
    print(f"1..{_count}", flush=True)
    sys.exit(_failed != 0)


def run(*command, timeout=PATIENCE, **options):
    """Run to the end; the result has returncode, stdout and stderr."""
    return subprocess.run([str(word) for word in command], timeout=timeout, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, **options)


def collect(*arguments, **options):
    return run(COLLECT, *arguments, **options)


def in_schema(lines, kinds, text):
    """That these lines are as Documentation/schema/ has them, and some of each of these kinds."""
    sys.path.insert(0, str(TOP / "tests"))
    import schema  # pylint: disable=import-outside-toplevel,import-error # it takes seconds

    wrong, found = schema.check(lines)
    ok(not wrong and found >= set(kinds), f"{text}: {' '.join(sorted(found))}")
    for one in wrong[:20]:
        note(one)


def status(kind):
    """The lines of this kind that status --json prints."""
    lines = [json.loads(line) for line in collect("status", "--json").stdout.splitlines()]
    return [line for line in lines if line["kind"] == kind]


def wait_until(condition, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())


def watching(*options, **streams):
    """pg-collect watch, which gets alerts from now on, and has made way for all others."""
    watch = subprocess.Popen([COLLECT, "watch", *options], stdin=subprocess.DEVNULL, **streams)
    wait_until(lambda: watch.poll() is not None or
               os.sched_getscheduler(watch.pid) == os.SCHED_BATCH)
    return watch


def is_in(pid, state):
    """What a process does, in /proc's letters: S asleep, T stopped."""
    text = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    return text.rpartition(")")[2].split()[0] == state


class Audit:
    """pg-collect audit --json, its lines read as they come."""

    def __init__(self, *arguments):
        self.lines = []
        self._queue = queue.Queue()
        self.process = subprocess.Popen(
            [COLLECT, "audit", "--json", *[str(word) for word in arguments]], text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            self._queue.put(json.loads(line))
        self._queue.put(None)

    def next(self, kind, seconds=PATIENCE):
        """The next line of one of these kinds; the others are kept in lines."""
        end = time.monotonic() + seconds
        while True:
            try:
                line = self._queue.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                return None
            if line is None:
                return None
            self.lines.append(line)
            if line["kind"] in kind.split("|"):
                return line

    def next_long(self, kind, ms):
        """The next line about a unit of so many ms; a busy host makes others late, too."""
        while (line := self.next(kind)) and line["elapsed_ns"] < ms * MS:
            pass
        return line

    def finish(self, seconds=PATIENCE):
        """Ask it to end (as ^C does) and take all that it says."""
        if self.process.poll() is None:
            self.process.send_signal(2)
        while self.next("", seconds) is not None:
            pass
        self.code = self.process.wait(seconds)
        self.errors = self.process.stderr.read()
        return self

    def kind(self, kind):
        return [line for line in self.lines if line["kind"] == kind]

    def slept(self, kind, ms):
        """Those of a kind about units that slept for so long: blocked for most of it, as a busy
        host may hold them up between the order to sleep and the sleep."""
        return [line for line in self.kind(kind) if line["elapsed_ns"] >= ms * MS and
                line["time_ns"] and line["time_ns"]["blocked"] >= 0.5 * ms * MS]

    def loops(self, comm=None):
        return [line for line in self.kind("loop") if comm in (None, line["comm"])]


class Victim:
    """victim serve: a line of command, a unit."""

    def __init__(self, mode="serve", *arguments):
        self.process = subprocess.Popen([VICTIM, mode, *arguments], text=True, bufsize=1,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid = self.process.pid
        time.sleep(0.3)

    def send(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def answer(self):
        return self.process.stdout.readline().strip()

    def do(self, command):
        self.send(command)
        return self.answer()

    def unit(self, command):
        """The same, and a unit ends: none does if the next line is there before it sleeps."""
        answer = self.do(command)
        wait_until(lambda: is_in(self.pid, "S"))
        return answer

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def functions(stack):
    return [frame["function"] for frame in stack["frames"]]


def near(value, wanted, share):
    return abs(value - wanted) <= wanted * share
