# SPDX-License-Identifier: GPL-2.0
"""An armed profile guards what comes later, is changed without a gap, and keeps its alerts."""

import json
import random
import time

from family import Family
from guarded import reload, units_of
from inference import Reference
from perfguard import IS_SLOW, MS, collect, done, note, ok
from profile import Context, Profile, Type, armed
from record import ACCOUNT, RECORD, Recorder
from scripted import (NAP, NOVEL, SCRIPTED, WAIT, Scripted, Tally, ends_of, events_of,
                      random_profile, random_script)

SEED = 20161113
UNITS = 200 if IS_SLOW else 1500
LATE_UNITS = 60 if IS_SLOW else 240
THRESHOLD = 3 * MS
NAP_US = 12000
LATE, ENDED, LOST = 1, 2, 3
END = ("unit", "elapsed_ns", "check_ns", "threshold_ns", "type_id", "profile_id", "found_by")


def later(family, recorder):
    """Armed while nothing runs: what is started then is guarded, and what forks from it."""
    source = random.Random(SEED)
    script = random_script(source, UNITS)
    program = Scripted()
    seen = {context for _, units in program.run(script) for calls in units for context in calls}
    profile = random_profile(source, program, seen, False)
    program.end()
    _, target, processes = profile.arm(family, "later")
    ok(processes == 0, "armed while the program does not run")
    family.record(target, ACCOUNT | RECORD)
    recorder.ask("open")
    program = Scripted()
    for text, run in (("started later", program.run), ("forked", program.fork)):
        tid, units = run(script)[0]
        events = events_of(recorder)
        tally = Tally()
        tally.compare(Reference(profile), units, events.get(tid, []))
        note(f"{text}: {tally.hits} hits, {tally.ends} units")
        ok(not any(tally.wrong.values()) and tally.ends == UNITS,
           f"a process that was {text} is guarded, all units and hits: {tally.wrong}")
    recorder.ask("close")
    program.end()
    collect("disarm", "--all")


def is_part(some, calls):
    """Whether these are among the calls, in their order."""
    rest = iter(calls)
    return all(one in rest for one in some)


def judge_swaps(counts, calls, recorded, wanted):
    """Add up how a thread's units were judged."""
    which = [event.number >= 1000 for event, _ in recorded]
    for i, (event, hits) in enumerate(recorded[:len(calls) - 1]):
        is_last = i + 1 < len(recorded) and which[i + 1] != which[i]
        counts["changes"] += is_last
        is_novel = bool(event.sp & NOVEL)
        met = [(hit.number, hit.sp) for hit in hits]
        if (event.number, not is_novel) == wanted[which[i]][i] and met == calls[i]:
            continue
        # The probes of a profile go, one by one, while a thread may still be in a unit
        # by it.  Then it is not known what the unit is, and nothing must come of that.
        is_cut = is_last and not is_novel and is_part(met, calls[i])
        counts["cut" if is_cut else "wrong"] += 1
        if not is_cut:
            note(f"unit {i}: {len(met)} hits of {len(calls[i])}, {event.number} for "
                 f"{wanted[which[i]][i]}, novel {is_novel}, the last by its profile {is_last}")


def swap(family, recorder):
    """One profile takes the place of another while units run."""
    source = random.Random(SEED + 1)
    script = [(step[0], step[1], source.choice((0, 0, 0, 2))) if step[0] == WAIT else step
              for step in random_script(source, 2 * UNITS)]
    program = Scripted()
    seen = {context for _, units in program.run(script) for calls in units for context in calls}
    profiles = [random_profile(source, program, seen, False) for _ in range(2)]
    for one in profiles[1].types:
        one.id += 1000
    _, target, _ = profiles[0].arm(family, "swap 0")
    family.record(target, ACCOUNT | RECORD)
    recorder.ask("open")
    program.begin(script, 2)
    rounds, targets, end = 0, {target}, time.monotonic() + 2
    while time.monotonic() < end:
        rounds += 1
        targets.add(profiles[rounds % 2].arm(family, f"swap {rounds}")[1])
    threads = program.finish(script, 2)
    events = events_of(recorder)
    recorder.ask("close")
    ok(targets == {target} and len([one for one in armed(family) if one.get("target_id")]) == 1,
       f"{rounds} times another profile took the place of the last")
    counts = {"units": 0, "missing": 0, "cut": 0, "wrong": 0, "changes": 0}
    for tid, calls in threads:
        wanted = [ends_of(Reference(profile), calls) for profile in profiles]
        recorded = units_of(events.get(tid, []))
        counts["units"] += len(calls) - 1
        counts["missing"] += abs(len(calls) - 1 - len(recorded))
        judge_swaps(counts, calls, recorded, wanted)
    note(f"two profiles in turn: {counts}")
    ok(counts["missing"] == 0, f"each of {counts['units']} units has its end reported")
    # Where all is slow the units may be over before a second profile is there.
    ok((counts["changes"] >= 2 or IS_SLOW) and counts["wrong"] == 0 and
       counts["cut"] <= counts["changes"],
       f"and is judged by one of the profiles as a whole, except {counts['cut']} that ran at "
       f"one of {counts['changes']} changes and are not judged")
    program.end()
    collect("disarm", "--all")


def away(family):
    """Nobody reads: the last alerts are there afterwards, the others are counted."""
    program = Scripted()
    calm, late = [(WAIT, 0, 20), (1, 0, 0)], [(WAIT, 0, 20), (1, 0, 0), (NAP, 0, NAP_US)]
    depth = program.run(calm)[0][1][0][0][1]
    profile = Profile(SCRIPTED, [program.boundary()], [(program.offsets[1], 0)],
                      [Type(THRESHOLD, 1)], [Context(0, depth, [(0, 10, 10)])])
    before = family.stats()
    _, target, _ = profile.arm(family, "away")
    tid, _ = program.run(calm + late * LATE_UNITS + [(WAIT, 0, 0)])[0]
    wait_for_end(family)
    after = family.stats()
    records = family.alerts()
    state = next(one for one in family.targets() if one["id"] == target)
    made = after["next_alert"] - 1
    kept = [record for record in records if record["kind"] != LOST]
    # What the program does after its last nap may be late by itself.
    naps = [record for record in kept if record["tid"] == tid and record["unit"] <= LATE_UNITS + 1]
    lost = sum(record["lost"] for record in records if record["kind"] == LOST)
    numbers = [record["seq"] for record in kept]
    note(f"{LATE_UNITS} late units, {made - before['next_alert'] + 1} records, {len(kept)} kept, "
         f"{lost} lost, {state['suppressed']} suppressed, "
         f"{after['lost_memory'] - before['lost_memory']} without memory")
    # The calm one may be late, too, on a busy host.
    ok(LATE_UNITS <= state["late"] <= LATE_UNITS + 1,
       f"{state['late']} of {LATE_UNITS} late units counted")
    ok(numbers == list(range(lost + 1, made + 1)) and lost > 0,
       "the last records are kept without a gap, and all others are counted as lost")
    ends = [record for record in naps if record["kind"] == ENDED]
    ok(len(ends) >= 10 and ends[-1]["unit"] - ends[0]["unit"] == len(ends) - 1 and
       ends[-1]["unit"] == LATE_UNITS + 1,
       f"the ends of the last {len(ends)} late units are among them")
    odd = [record for record in ends if record["elapsed_ns"] < NAP_US * 1000 or
           record.get("type_id") != 1 or record["threshold_ns"] != THRESHOLD]
    for record in odd[:3]:
        note(f"odd: {[(name, record.get(name)) for name in END]}")
    ok(not odd, "with time and type")
    lines = [json.loads(line) for line in
             collect("watch", "--json", "--since", "1", "--duration", "3").stdout.splitlines()]
    recorded = [line["seq"] for line in lines if line["kind"] in ("late", "ended")]
    missed = sum(line.get("lost") or 0 for line in lines if line["kind"] == "lost")
    ok(set(recorded) <= set(numbers) and recorded and missed == lost,
       f"a collector that comes then gets them, and says that {missed} are lost")
    program.end()
    collect("disarm", "--all")


def wait_for_end(family):
    """The last record may be on its way."""
    last = 0
    while last != family.stats()["next_alert"]:
        last = family.stats()["next_alert"]
        time.sleep(0.5)


def main():
    reload(512)     # more alerts than that are made
    recorder = Recorder()
    family = Family()
    later(family, recorder)
    swap(family, recorder)
    away(family)
    recorder.end()
    done()


main()
