# SPDX-License-Identifier: GPL-2.0
"""What an alert reports of a unit's inference: its type, how sure that is, and what it met.

Random units end with a nap that makes them late.  They are judged while the event loop's memo
knows them and once it is full, and by the paper's rule, against inference.py.
"""

import random
import struct
from collections import Counter

from family import Family
from inference import Reference
from perfguard import IS_SLOW, MS, collect, done, note, ok
from scripted import NAP, WAIT, Scripted, random_profile, random_script

SEED = 20261123
LATE_UNITS = 15
MANY_UNITS = 4000 if IS_SLOW else 9000
THRESHOLD = 10 * MS
NAP_US = 150000      # time enough to report it, on a busy host too
LATE, ENDED = 1, 2
MAX_MET, MAX_HITS = 64, 255


def with_naps(script):
    """Each unit naps before it ends."""
    steps = []
    for step in script:
        if step[0] == WAIT and steps:
            steps.append((NAP, 0, NAP_US))
        steps.append(step)
    return steps


def met_of(record):
    """[(guard, depth, hits)] of the contexts that the profile knows, and how many it does not."""
    known, strangers = [], 0
    for guard, depth, hits, is_known in struct.iter_unpack("<IIII", record.get("met", b"")):
        if is_known:
            known.append((guard, depth, hits))
        else:
            strangers += 1
    return known, strangers


def wanted_of(reference, calls):
    """(known contexts met, (type, margin) so far, (type, margin, novel) at the end)"""
    reference.begin()
    for guard, depth in calls:
        reference.hit(guard, depth)
    counts = Counter(call for call in calls if call in reference.known)
    known = [(*context, min(count, MAX_HITS)) for context, count in sorted(counts.items())]
    at_end, fits = reference.end()
    return (known, (reference.so_far(), reference.margin(False)),
            (at_end, reference.margin(True), not fits))


def is_reported(reported, known):
    """Whether those are the contexts, each as often as met; or once, if two share a counter."""
    return (len(reported) == len(known) and
            all(one[:2] == other[:2] and one[2] in (1, other[2])
                for one, other in zip(reported, known)))


def judge(text, records, units, reference):
    """A thread's late units; the first one has the number of its first record's unit."""
    wrong = Counter()
    seen = Counter()
    lessened = Counter()
    first = records[0]["unit"] if records else 0
    # What the program does behind its last nap may be late by itself.
    for record in [one for one in records if one["unit"] < first + LATE_UNITS]:
        place = record["unit"] - first
        known, early, final = wanted_of(reference, units[place])
        reported, strangers = met_of(record)
        is_end = record["kind"] == ENDED
        known = known[:MAX_MET - strangers]
        if not is_end and not is_reported(reported, known):
            # It was late before its nap, on a busy host.
            seen["early"] += 1
            continue
        seen["end" if is_end else "late"] += 1
        kind = (record.get("type_id", 0), record.get("margin", 0))
        wrong["met"] += not is_reported(reported, known)
        lessened.update(one != other for one, other in zip(reported, known))
        wrong["type and margin"] += kind != (final[:2] if is_end else early)
        wrong["novel"] += is_end and bool(record.get("is_novel")) != final[2]
    note(f"{text}: {dict(seen)}, {sum(len(calls) for calls in units)} hits")
    ok(seen["end"] == LATE_UNITS and seen["late"] >= LATE_UNITS * 3 // 4,
       f"{text}: {seen['end']} of {LATE_UNITS} late units have an end, "
       f"{seen['late']} records came while they ran")
    ok(not any(wrong.values()), f"{text}: as the rules say: {dict(wrong)}")
    ok(lessened[True] * 10 <= lessened[False],
       f"{text}: of {lessened.total()} contexts met, {lessened[True]} shared a counter")


def late_units(family, program, source, reference, text):
    """Run some, and judge what is reported of them."""
    since = family.stats()["next_alert"]
    script = with_naps(random_script(source, LATE_UNITS))
    tid, units = program.run(script)[0]
    # The wait at the end of the script ends the last one.
    records = [record for record in family.alerts(since)
               if record["kind"] in (LATE, ENDED) and record["tid"] == tid]
    judge(text, records, units, reference)


def rule(family, is_paper):
    text = "the paper's rule" if is_paper else "rule W"
    source = random.Random(SEED + is_paper)
    program = Scripted()
    script = random_script(source, MANY_UNITS)
    seen = {context for _, units in program.run(script) for calls in units for context in calls}
    profile = random_profile(source, program, seen, is_paper)
    for one in profile.types:
        one.threshold_ns = THRESHOLD
    profile.arm(family, text)
    reference = Reference(profile)
    late_units(family, program, source, reference, text)
    if not is_paper:
        program.run(script)
        late_units(family, program, source, reference, "with a full memo")
    program.end()
    collect("disarm", "--all")


def main():
    family = Family()
    for is_paper in (False, True):
        rule(family, is_paper)
    done()


main()
