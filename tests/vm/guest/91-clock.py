# SPDX-License-Identifier: GPL-2.0
"""The kernel ceases to trust the TSC while units are guarded: their times stay right.

The guest keeps an untrusted TSC, so this is the last of all."""

import os
import time

from family import Family
from perfguard import TOP, done, note, ok, run, wait_until
from scripted import NAP, WAIT, Scripted
from tenants import GUARD, alerts_of, all_of, make_profile

UNSTABLE = TOP / "build" / os.environ["PERFGUARD_KERNEL"] / "taker/unstable.ko"
WARNING = "the TSC has become unstable"
NAP_US = 200_000
ENDED = 2
LATE_UNIT = [(WAIT, 0, 0), (GUARD, 0, 0), (NAP, 0, NAP_US), (GUARD, 0, 0), (WAIT, 0, 0)]
IN_TIME = [(WAIT, 0, 0), (GUARD, 0, 0)] * 200 + [(WAIT, 0, 0)]


def is_timed_right(family, program, when):
    """A unit that sleeps is late by that, and units that do not are in time."""
    since, asked = family.stats()["next_alert"], time.monotonic_ns()
    program.run(LATE_UNIT)
    most = time.monotonic_ns() - asked
    wait_until(lambda: any(one["kind"] == ENDED for one in alerts_of(family, program, since)), 5)
    times = [one["elapsed_ns"] for one in alerts_of(family, program, since)
             if one["kind"] == ENDED]
    # On a slow host another one may be late, too.
    long = [one for one in times if one >= NAP_US * 1000]
    ok(long and max(times) <= most,
       f"{when}: a unit that sleeps for {NAP_US / 1000:.0f} ms takes {long} of {most} ns")
    units = family.targets()[0]["units"]
    program.run(IN_TIME)
    ok(family.targets()[0]["units"] >= units + 200, f"{when}: units are counted")


def has_warned():
    return WARNING in run("dmesg").stdout


def main():
    family, profile = Family(), make_profile()
    if "TSC not usable" in run("dmesg").stdout:
        note("the TSC is not trusted from the beginning")
    with all_of(Scripted()) as (program,):
        profile.arm(family)
        is_timed_right(family, program, "with the TSC")
        ok(not has_warned(), "nothing is reported of the clock")
        result = run("insmod", UNSTABLE)
        note(result.stderr.strip())
        ok(result.returncode == 0 and wait_until(has_warned, 30),
           "the kernel trusts the TSC no longer, and the module has seen it")
        time.sleep(3)
        is_timed_right(family, program, "with ktime")
        again = Scripted()
        is_timed_right(family, again, "a process that comes afterwards")
        again.end()
    with all_of(Scripted()) as (program,):
        profile.arm(family)
        is_timed_right(family, program, "armed afterwards")
    run("rmmod", "unstable")
    done()


main()
