# SPDX-License-Identifier: GPL-2.0
"""Disarming leaves nothing, whatever the threads do meanwhile."""

import os
import pathlib
import time

from perfguard import (EXACT, IS_SLOW, COLLECT, MODULE, PATIENCE, VICTIM, Audit, Victim, collect,
                       done, note, ok, run, wait_until)

THREADS = 200
SOON = 2 if EXACT else PATIENCE      # seconds
ROUNDS = 1 if IS_SLOW else 3


def hooks():
    text = pathlib.Path("/sys/kernel/tracing/enabled_functions").read_text(encoding="ascii")
    return [line for line in text.splitlines() if "_sys_" in line]


def loaded():
    return pathlib.Path("/sys/module/perfguard").exists()


def timed(*arguments):
    """Both of us ahead of all else: to wait for a CPU takes longer than what is measured."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    start = time.monotonic()
    result = run(*arguments)
    seconds = time.monotonic() - start
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return seconds, result


def disarm_and_unload(text, audit):
    """Disarm while things go on; the hooks go, and then the module."""
    seconds, result = timed(COLLECT, "disarm", "--all")
    note(f"{text}: disarmed in {seconds:.2f} s")
    ok(result.returncode == 0 and seconds < SOON, f"{text}: disarmed within {SOON} s")
    ok(not hooks(), f"{text}: no hook is left")
    # It notices, and asks no more: a question under way holds the module.
    wait_until(lambda: audit.process.poll() is not None)
    seconds, result = timed("rmmod", "perfguard")
    note(f"{text}: unloaded in {seconds:.2f} s {result.stderr}")
    ok(result.returncode == 0 and not loaded(), f"{text}: the module goes at once")


def sleepers():
    """Threads that sleep in hooked calls for ever."""
    # Watched from the start, so that each of them sleeps in our wrapper.
    audit = Audit("--duration", 900, "-e", VICTIM)
    wait_until(lambda: len(hooks()) > 0)
    time.sleep(1)
    victim = Victim("sleepers", str(THREADS))
    ok(victim.answer() == "asleep", f"{THREADS} threads sleep in 16 kinds of wait")
    time.sleep(1)
    status = collect("status").stdout
    note(status.splitlines()[0])
    result = run("rmmod", "perfguard")
    ok(result.returncode != 0 and loaded(), "rmmod is refused while something is armed")
    disarm_and_unload("sleepers", audit)
    victim.send("wake")
    ok(victim.answer() == "bad 0", "no thread saw EINTR or a wrong result")
    victim.end()
    audit.finish()


def storm():
    """Hooks go on and off while threads wait, fork, exit and get signals."""
    run("insmod", MODULE)
    victim = Victim("storm", "20")      # seconds
    end = time.monotonic() + 14
    rounds, worst = 0, 0
    while time.monotonic() < end or rounds < ROUNDS:
        audit = Audit("--duration", 30, "--slower-than", "5ms", "-e", VICTIM)
        audit.next("ready", 3)
        time.sleep(0.3)
        seconds, result = timed(COLLECT, "disarm", "--all")
        worst = max(worst, seconds)
        audit.finish()
        rounds += result.returncode == 0
    note(f"{rounds} rounds, the longest disarming took {worst:.2f} s")
    ok(rounds >= ROUNDS and worst < SOON, "armed and disarmed again and again in a storm")
    ok(victim.answer() == "bad 0", "the program saw no wrong result")
    victim.end()
    audit = Audit("--duration", 30, "-e", VICTIM)
    wait_until(hooks)
    victim = Victim("storm", "4")
    time.sleep(1.5)
    disarm_and_unload("storm", audit)
    ok(victim.answer() == "bad 0", "nor when the module went")
    audit.finish()


def killed():
    """The collector is killed: its target goes with it."""
    run("insmod", MODULE)
    victim = Victim("sleepers", "30")
    victim.answer()
    audit = Audit("--duration", 900, "-e", VICTIM)
    audit.next("ready", 5)
    audit.process.kill()
    audit.process.wait()
    ok(wait_until(lambda: not hooks()), "kill -9 of the collector leaves no hook")
    ok(wait_until(lambda: run("rmmod", "perfguard").returncode == 0),
       "and no reference to the module")
    # They slept when the hooks came, so that these did not see them.
    victim.send("wake")
    ok(victim.answer() == "bad 0", "nor did a thread see a wrong result that slept before")
    victim.end()


sleepers()
storm()
killed()
run("insmod", MODULE)
done()
