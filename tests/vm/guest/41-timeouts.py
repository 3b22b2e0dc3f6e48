# SPDX-License-Identifier: GPL-2.0
"""Waits with a timeout, woken by disarming: none sees EINTR, and those the kernel can go on with
do not begin again."""

import pathlib
import time

from perfguard import IS_SLOW, VICTIM, Audit, Victim, collect, done, note, ok, wait_until

SHORT_MS, LONG_MS = 5, 4000
SECONDS = 60 if IS_SLOW else 15
# Less than what a wait has behind it when it is woken, and more than a busy host keeps it.
SLACK_MS = 2000


def are_hooked():
    functions = pathlib.Path("/sys/kernel/tracing/enabled_functions")
    return "_sys_" in functions.read_text(encoding="ascii")


def watched():
    audit = Audit("--duration", 900, "-e", VICTIM)
    wait_until(are_hooked)
    return audit


def disarm(audit):
    result = collect("disarm", "--all")
    audit.finish()
    return result.returncode == 0


def short():
    """They wake by themselves and by disarming, at any moment of a call."""
    victim = Victim("timeouts", str(SHORT_MS), str(SECONDS))
    end = time.monotonic() + SECONDS - 2
    rounds = good = 0
    while time.monotonic() < end:
        audit = watched()
        time.sleep(0.2)
        good += disarm(audit)
        rounds += 1
    victim.answer()
    interrupted, overrun = victim.answer().split()
    note(f"{rounds} rounds, the longest wait took {overrun} ms too long")
    ok(rounds and good == rounds, "armed and disarmed again and again")
    ok(interrupted == "0", f"no wait was interrupted: {interrupted}")
    victim.end()


def long():
    """Disarmed in the middle of a wait, that does not take longer."""
    audit = watched()
    victim = Victim("timeouts", str(LONG_MS), "0")
    ok(victim.answer() == "begun", "threads wait")
    time.sleep(0.8 * LONG_MS / 1000)
    ok(disarm(audit), "disarmed before they have waited to the end")
    interrupted, overrun = victim.answer().split()
    ok(interrupted == "0", f"no wait was interrupted: {interrupted}")
    ok(int(overrun) < SLACK_MS, f"none took much longer than it was to: {overrun} ms")
    victim.end()


short()
long()
done()
