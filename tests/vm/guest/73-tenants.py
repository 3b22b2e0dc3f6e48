# SPDX-License-Identifier: GPL-2.0
"""Of several users of a guarded program, none uses up what the others need."""

import os
import pathlib
import shutil
import subprocess

from family import NUMBER, Family, u32
from perfguard import LONG, done, note, ok, skip, wait_until
from scripted import NAP, WAIT
from tenants import ALICE, BOB, GUARD, alerts_of, all_of, make_profile, start

UNITS = 10
LISTENS = 2                 # seconds, less than an alert is kept for who listens
THREADS = 8
# A unit that is late by little.
LATE = [(WAIT, 0, 0), (GUARD, 0, 0), (NAP, 0, 4000)]
ENDED = 2
SLEEP = pathlib.Path("/tmp/sleep")
MAX_IMAGES = 4096       # PGUARD_MAX_IMAGES
IMAGES = os.environ.get("IMAGES")


def is_reported(family, program):
    """Its late unit, to who listens, as records come in order: soon after others' stacks are taken."""
    since = family.stats()["next_alert"]
    program.run(LATE + [(WAIT, 0, 0)])
    return wait_until(lambda: any(one["kind"] == ENDED
                                  for one in alerts_of(family, program, since)), LISTENS)


def alerts(family, profile):
    """Another user's units are late all the time, which says nothing of those of one's own."""
    with all_of(start(ALICE), start(BOB)) as (alice, bob):
        profile.arm(family)
        before = family.stats()["lost_overwritten"]
        alice.begin(LATE * 50000 + [(WAIT, 0, 0)], THREADS)
        if not ok(wait_until(lambda: family.targets()[0]["suppressed"] > 100 and
                             family.stats()["lost_overwritten"] > before),
                  "a user's late units come faster than they can be reported, and fill the ring"):
            return
        since = family.stats()["next_alert"]
        reported = sum(is_reported(family, bob) for _ in range(UNITS))
        others = alerts_of(family, alice, since)
        note(f"{len(others)} alerts of hers since; "
             f"{family.stats()['lost_overwritten'] - before} overwritten, "
             f"{family.targets()[0]['suppressed']} held back")
        ok(reported == UNITS,
           f"each of {UNITS} late units of another user is reported, and kept until it is read")
        ok(others, "and so are those of the first")


def begin(uid, count):
    """So many processes that a user executes, one after the other."""
    script = f"i=0; while [ $i -lt {count} ]; do {SLEEP} {LONG} & i=$((i + 1)); done; wait"
    return subprocess.Popen(["sh", "-c", script], user=uid, start_new_session=True)


def images(family):
    """One user executes the file as often as possible, and another one is watched as well."""
    shutil.copy("/usr/bin/sleep", SLEEP)
    file = os.open(SLEEP, os.O_RDONLY)
    family.do("TARGET_NEW", u32(NUMBER["A_TARGET_EXE_FD"], file))
    os.close(file)
    many, few = begin(ALICE, MAX_IMAGES // 2 + 20), None
    try:
        ok(wait_until(lambda: family.targets()[0]["untracked"] >= 20, LONG),
           "a user has no more room")
        taken = family.targets()[0]["processes"]
        ok(taken == MAX_IMAGES // 2, f"{taken} of that user's processes are watched, half of all")
        few = begin(BOB, 20)
        ok(wait_until(lambda: family.targets()[0]["processes"] == taken + 20),
           "and those of another user, too")
        ok(family.targets()[0]["untracked"] == 20, "which all found room")
    finally:
        for one in filter(None, (many, few)):
            subprocess.run(["pkill", "-KILL", "-s", str(one.pid)], check=False)
            one.wait()
    family.close()


def main():
    family = Family()
    alerts(family, make_profile())
    if not IMAGES:
        skip("images", "two thousand processes take minutes; by hand with IMAGES=1")
    else:
        images(family)
    done()


main()
