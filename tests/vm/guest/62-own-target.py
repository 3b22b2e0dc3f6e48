# SPDX-License-Identifier: GPL-2.0
"""A profile armed for a target of the same socket, as training does, and taken off again."""

import random

from family import NUMBER, Family, Refused, u32, u64
from inference import Reference
from perfguard import done, note, ok, wait_until
from profile import armed
from record import ACCOUNT, ENTER, OWNED, RECORD, Recorder
from scripted import (GUARD, SCRIPTED, UNIT, Scripted, Tally, events_of, random_profile,
                      random_script)

SEED = 20161113
UNITS = 200
UNITS_FLAG = 32


def new_target(family, pid):
    answer = family.do("TARGET_NEW", u32(NUMBER["A_TARGET_PID"], pid),
                       u32(NUMBER["A_TARGET_FLAGS"], OWNED),
                       u64(NUMBER["A_TARGET_THRESHOLD_NS"], 1 << 62))
    return int.from_bytes(answer[NUMBER["A_TARGET_ID"]], "little")


def refused(what, text, order, *arguments):
    try:
        order(*arguments)
        ok(False, f"{text}: refused")
    except Refused as error:
        ok(what in error.strerror, f"{text}: refused ({error.strerror})")


def delete(family, profile):
    family.do("PROFILE_DEL", u32(NUMBER["A_PROFILE_ID"], profile))


def guarded(family, recorder, program, profile, script, target):
    """Guarded twice, with a time in between in which it is only watched."""
    for turn in ("guarded", "guarded again"):
        number, armed_for, processes = profile.arm(family, "own", target)
        ok(armed_for == target and processes == 1, f"{turn}: the target that was named")
        family.record(target, OWNED | ACCOUNT | UNITS_FLAG)
        recorder.ask("open")
        tid, units = program.run(script)[0]
        events = events_of(recorder)
        tally = Tally()
        tally.compare(Reference(profile), units, events.get(tid, []))
        ok(not any(tally.wrong.values()) and tally.ends == UNITS,
           f"{turn}: all units and hits are recorded, nothing else: {tally.wrong}")
        kinds = {event.kind for event in events.get(tid, [])}
        ok(kinds & {GUARD, UNIT} == {GUARD, UNIT} and ENTER not in kinds,
           f"{turn}: waits are not recorded")
        delete(family, number)
        ok(not armed(family), f"{turn}: no profile is left")
        family.record(target, OWNED | RECORD)
        tid, _ = program.run(script)[0]
        kinds = {event.kind for event in recorder.read() if event.tid == tid}
        ok(ENTER in kinds and not kinds & {GUARD, UNIT},
           f"{turn}: without it, the target is recorded as before")
        recorder.ask("close")


def refusals(family, program, profile, target):
    other = Family()
    number, _, _ = profile.arm(family, "own", target)
    refused("guarded already", "a second profile for the target", profile.arm, family, "two",
            target)
    refused("another socket", "a target of another socket", profile.arm, other, "other", target)
    refused("another socket", "disowning a target of another socket", other.record, target,
            ACCOUNT)
    other.record(target, OWNED | ACCOUNT)
    refused("not the sender's", "taking off what another socket armed", delete, other, number)
    refused("no such target", "an unknown target", profile.arm, family, "three", target + 1000)
    refused("no target has id 0", "target 0", profile.arm, family, "four", 0)
    staged = profile.load(other, "staged")
    refused("another socket", "dropping what another socket loads", delete, family, staged)
    delete(other, staged)
    refused("no such profile", "dropping it twice", delete, other, staged)
    refused("no such profile", "arming what was dropped", other.do, "PROFILE_ARM",
            u32(NUMBER["A_PROFILE_ID"], staged))
    ok([one["id"] for one in armed(family) if one.get("target_id")] == [number], "the profile is still armed")
    # What guards an executable goes with its target, not by profile-del.
    lonely = Scripted()
    whole, _, _ = profile.arm(other, "whole")
    refused("not the sender's", "taking off what guards an executable", delete, other, whole)
    lonely.end()
    other.close()


def main():
    program, recorder, family = Scripted(), Recorder(), Family()
    source = random.Random(SEED)
    script = random_script(source, UNITS)
    seen = {context for _, units in program.run(script) for calls in units for context in calls}
    profile = random_profile(source, program, seen, False)
    target = new_target(family, program.pid)
    guarded(family, recorder, program, profile, script, target)
    refusals(family, program, profile, target)
    family.close()
    family = Family()
    wait_until(lambda: len(armed(family)) == 1)
    names = [one["name"] for one in armed(family)]
    note(f"left: {names}")
    ok(names == ["whole"], "with the socket goes its target, and the profile with it")
    family.do("TARGET_DEL")
    program.end()
    recorder.end()
    family.close()
    done()


main()
