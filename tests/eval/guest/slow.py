# SPDX-License-Identifier: GPL-2.0
"""In the guest: guard a subject, and record the alerts that its bugs cause.

usage: slow.py SUBJECT OUT BUG...

Runs where time is counted in instructions (scripts/vm --icount), so that the load of the host has
no effect.  Trains on the normal load unless OUT/profile.pgp is there, arms, runs a normal load
that training has not seen, then each bug several times.  In OUT are then
  alerts.jsonl  {"step", "alert"}: late units in each step, "normal" or BUG.TURN
  done.json     the result of each step, and the module's counters around the normal load
Nothing is judged here.
"""

import datetime
import json
import os
import pathlib
import platform
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback

import subjects
from commands import COLLECT, Failed, count, run
from cpu import children

# After arming, until all threads use the profile.
SETTLE_SECONDS = 2
# Training takes up to so much longer than its duration: it reads the program, and learns.
LEARN_SECONDS = 400
# A step has no more alerts after so long without one.
QUIET_SECONDS = 1.5
QUIET_MOST_SECONDS = 10
# A load may take so long to begin, and has begun when the program has worked so long for it.
START_SECONDS = 120
FELT_TICKS = 5
# The first seeds are training's.
NORMAL_SEED = 100


def cpu_ticks(pid):
    """CPU time of a process and all that come from it, in clock ticks of 10 ms."""
    ticks = 0
    for one in children(pid):
        try:
            words = pathlib.Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += int(words[11]) + int(words[12])
    return ticks


class Load:
    """The subject's normal load in a process group of its own, until it is stopped."""

    def __init__(self, subject, seed):
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.setsid()
                signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
                subject.load(seed)
            except BaseException:  # pylint: disable=broad-except
                traceback.print_exc()
            finally:
                os._exit(1)

    def wait_until_felt(self, subject):
        """Until the program has work from it; a guest's time leaps while the load is read in."""
        end = time.monotonic() + START_SECONDS
        before = cpu_ticks(subject.pid)
        while cpu_ticks(subject.pid) < before + FELT_TICKS and time.monotonic() < end:
            time.sleep(0.05)

    def workload(self, seconds):
        """A shell command that lets it run for so long; it rests before and after.

        For a load that is one process.
        """
        os.kill(self.pid, signal.SIGSTOP)
        return f"kill -CONT {self.pid}; sleep {seconds}; kill -STOP {self.pid}"

    def stop(self):
        """Raises Failed if it had ended before."""
        ended, status = os.waitpid(self.pid, os.WNOHANG)
        if ended:
            raise Failed(f"the normal load ended by itself: {os.waitstatus_to_exitcode(status)}")
        os.kill(self.pid, signal.SIGTERM)
        os.kill(self.pid, signal.SIGCONT)
        end = time.monotonic() + 20
        while time.monotonic() < end:
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                break
            time.sleep(0.05)
        else:
            os.killpg(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        try:
            os.killpg(self.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass


class Watch:
    """pg-collect watch as a service has it, and of which step each of its lines is."""

    def __init__(self, out):
        self.steps = [(0.0, "normal")]      # when each began
        self.last = time.monotonic()
        self.file = open(out / "alerts.jsonl", "w", encoding="utf-8")
        self.process = subprocess.Popen(
            [COLLECT, "watch", "--json", "--window", "0", "--all"], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            alert = json.loads(line)
            # An idle program may have units that fit no type all the time.
            if alert["kind"] != "novel":
                self.last = time.monotonic()
            self.file.write(json.dumps({"step": self.step_at(alert), "alert": alert}) + "\n")

    def begin(self, step):
        self.steps.append((time.time(), step))

    def step_at(self, alert):
        """The step of an alert, however late it is reported."""
        # Python reads no more than six digits.
        when = datetime.datetime.fromisoformat(alert["time"][:26] + "+00:00").timestamp()
        return [step for began, step in self.steps if began <= when][-1]

    def wait_until_quiet(self):
        end = time.monotonic() + QUIET_MOST_SECONDS
        began = time.monotonic()
        while time.monotonic() < end:
            if time.monotonic() - max(self.last, began) > QUIET_SECONDS:
                return
            time.sleep(0.1)

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.reader.join(30)
        self.process.wait(30)
        self.file.close()


def train(subject, out):
    """Make OUT/profile.pgp unless it is there."""
    if (out / "profile.pgp").exists():
        return
    profile = subject.dir / "trained.pgp"
    load = Load(subject, 1)
    try:
        load.wait_until_felt(subject)
        how = ["--duration", f"{subject.train_seconds}s"]
        if subject.stage_seconds:
            how = ["--workload", load.workload(subject.stage_seconds)]
        run(out / "train.log", subject.train_seconds + LEARN_SECONDS, COLLECT, "train", "-o",
            profile, "-v", "--max-slowdown", "none", *how, *subject.target())
    finally:
        load.stop()
    shutil.copy(profile, out / "profile.pgp")


def run_normal(subject, out):
    before = count(subject.pid, out / "count.log")
    load = Load(subject, NORMAL_SEED)
    try:
        load.wait_until_felt(subject)
        time.sleep(subject.normal_seconds)
    finally:
        load.stop()
    time.sleep(QUIET_SECONDS)
    return {"before": before, "after": count(subject.pid, out / "count.log"),
            "seconds": subject.normal_seconds}


def run_bug(subject, watch, name, bug):
    """Make the program slow; returns the duration of each time, in s."""
    took = []
    for turn in range(bug.repeats):
        watch.begin("between")
        if bug.before:
            getattr(subject, bug.before)()
            watch.wait_until_quiet()
        watch.begin(f"{name}.{turn}")
        started = time.monotonic()
        getattr(subject, bug.trigger)()
        took.append(round(time.monotonic() - started, 3))
        watch.wait_until_quiet()
    watch.begin("between")
    if bug.after:
        getattr(subject, bug.after)()
    return {"took": took}


def run_steps(steps, done, out):
    for step, do in steps:
        started = time.monotonic()
        try:
            result = do() or {}
            result["error"] = ""
        except Exception as error:  # pylint: disable=broad-except
            if not isinstance(error, Failed):
                traceback.print_exc()
            result = {"error": re.sub(r"\s+", " ", str(error)) or type(error).__name__}
        result["seconds"] = round(time.monotonic() - started, 1)
        done["steps"][step] = result
        (out / "done.json").write_text(json.dumps(done, indent=1) + "\n")
        print(f"{step}: {result['error'] or 'done'} ({result['seconds']} s)", flush=True)
        if result["error"] and step in ("start", "train", "arm"):
            return


def main():
    subject, out, bugs = subjects.load(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:]
    done = {"subject": subject.name, "kernel": platform.release(), "steps": {}}
    subject.dir.mkdir(parents=True, exist_ok=True)
    watches = []

    def arm():
        run(out / "arm.log", 120, COLLECT, "arm", "--budget", "none", *subject.armed_by(), out / "profile.pgp")
        watches.append(Watch(out))
        time.sleep(SETTLE_SECONDS)

    steps = [("start", subject.start), ("train", lambda: train(subject, out)), ("arm", arm),
             ("normal", lambda: run_normal(subject, out))]
    steps += [(name, lambda it=name: run_bug(subject, watches[0], it, subject.bugs[it]))
              for name in bugs]
    try:
        run_steps(steps, done, out)
    finally:
        for watch in watches:
            watch.stop()
        run(out / "arm.log", 60, COLLECT, "disarm", "--all")
        subject.stop()


main()
