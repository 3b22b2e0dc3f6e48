# SPDX-License-Identifier: GPL-2.0
"""What the module infers at each hit and each end is what the rules say, and nothing is missed.

A program calls random functions at random depths; it and the script say what was to be
seen, and inference.py what was to be made of it.
"""

import random
import re

import profile as loading
from family import Family, Refused
from inference import Reference
from perfguard import IS_SLOW, TOP, collect, done, ok
from profile import Context, Profile, Type
from record import ACCOUNT, RECORD, Recorder
from scripted import (GUARD, REST, SCRIPTED, UNIT, WAIT, Scripted, Tally, events_of, random_profile,
                      random_script)

THREADS = 2
UNITS = 900 if IS_SLOW else 3000
SEED = 20161113
JUMP = 4    # a step mode


def sequence(program, recorder, family, is_paper, is_inline=False):
    """Random calls with a random profile."""
    text = "the paper's rule" if is_paper else "jumps" if is_inline else "rule W"
    source = random.Random(SEED + is_paper)
    script = random_script(source, UNITS)
    seen = {context for _, units in program.run(script) for calls in units for context in calls}
    profile = random_profile(source, program, seen, is_paper)
    profile.is_inline = is_inline
    _, target, processes = profile.arm(family, text)
    ok(processes == 1, f"{text}: {len(profile.guards)} guards, {len(profile.contexts)} contexts "
       f"and {len(profile.types)} types armed for a program that runs")
    family.record(target, ACCOUNT | RECORD)
    # Since the module was loaded; others may have lost some on purpose.
    lost = int(recorder.ask("status")[2])
    recorder.ask("open")
    threads = program.run(script, THREADS)
    events = events_of(recorder)
    lost = int(recorder.ask("status")[2]) - lost
    recorder.ask("close")
    ok(lost == 0, f"{text}: no event was lost")
    tally = Tally()
    for tid, units in threads:
        tally.compare(Reference(profile), units, events.get(tid, []))
    tally.judge(text, THREADS * UNITS)
    counted(family, text, tally, profile)
    if is_inline:
        jumped(family, profile)
    if not is_paper:
        unheard(program, script, family, tally, profile)
    collect("disarm", "--all")


def jumped(family, profile):
    """Hits by jumps are most of those of guards that have become some."""
    guards = loading.guards(family, loading.armed(family)[0]["id"])
    jumps = [guard for guard in guards if guard["step_mode"] == JUMP]
    noted, hits = (sum(guard[what] for guard in jumps) for what in ("noted", "hits"))
    ok(len(jumps) == sum(i % 8 in (0, 2, 4, 6, 7) for i in range(len(profile.guards))),
       f"jumps: {len(jumps)} of {len(guards)} guards can be some")
    ok(hits and noted > 0.9 * hits and not any(guard["noted"] for guard in guards
                                               if guard["step_mode"] != JUMP),
       f"jumps: {noted} of their {hits} hits were by jumps")


MEMO_MOST = int(re.search(r"PGUARD_VERDICT_CACHE_MOST = (\d+)", (TOP / "kmod/profile/verdict-cache.h").read_text())[1])


def unheard(program, script, family, tally, profile):
    """The same while nobody listens, which is the usual way through the module."""
    sets = set()
    threads = program.run(script, THREADS)
    for _, units in threads:
        for calls in units[:-1]:
            sets.update(frozenset(calls[:i]) for i in range(len(calls) + 1))
        tally.count(Reference(profile), units)
    ok(len(sets) > 2 * MEMO_MOST,
       f"nobody listens: of {len(sets)} sets of contexts a memo holds {MEMO_MOST}")
    counted(family, "nobody listens", tally, profile)


def counted(family, text, tally, profile):
    """The module's own counters say the same."""
    armed = loading.armed(family)[0]
    ok(armed["units"] == tally.ends, f"{text}: {armed['units']} units counted")
    ok(armed["novel"] == tally.novel, f"{text}: {armed['novel']} novel ones counted")
    guards = loading.guards(family, armed["id"])
    ok(len(guards) == len(profile.guards) and
       sum(guard["hits"] for guard in guards) == tally.hits, f"{text}: and all hits")
    kinds = loading.types(family, armed["id"])
    ok([kind["id"] for kind in kinds] == [kind.id for kind in profile.types] and
       {kind["id"]: kind["units"] for kind in kinds if kind["units"]} == tally.types,
       f"{text}: and the units of each type")


def figure_4(program, recorder, family):
    """The paper's example as tests/unit/test-infer.c has it, in the module."""
    first, second = 1, 2
    # A function's room is below its own entry: what it calls is deeper by it.
    probe = [(WAIT, 0, 0), (first, 0, 0), (0, 1, 64), (first, 0, 0), (second, 0, 0),
             (WAIT, 0, 0)]
    calls = program.run(probe)[0][1][0]
    shallow, deep, other = calls[0], calls[2], calls[3]
    ok(shallow[0] == deep[0] == first and deep[1] - shallow[1] >= 64 and other[0] == second,
       f"Figure 4: a guard at depths {shallow[1]} and {deep[1]}, another at {other[1]}")
    a, b, c = 1, 2, 3
    profile = Profile(SCRIPTED, [program.boundary()],
                      [(offset, 0) for offset in program.offsets],
                      [Type(300 * 10**9, a), Type(100 * 10**9, b), Type(200 * 10**9, c)],
                      [Context(*shallow, [(0, 1, 1), (1, 1, 1), (2, 1, 1)]),
                       Context(*deep, [(0, 1, 1), (1, 1, 1)]),
                       Context(*other, [(1, 1, 1), (2, 1, 1)])], True)
    _, target, _ = profile.arm(family, "figure 4")
    family.record(target, ACCOUNT | RECORD)
    recorder.ask("open")
    at_deep = [(0, 1, 64), (first, 0, 0)]
    at_other = [(second, 0, 0)]
    wait = [(WAIT, 0, 0)]
    script = wait + [(first, 0, 0)] + at_deep * 2 + at_other + wait + at_other + wait
    tid, units = program.run(script)[0]
    events = events_of(recorder).get(tid, [])
    recorder.ask("close")
    tally = Tally()
    tally.compare(Reference(profile), units, events)
    inferred = [event.value for event in events if event.kind == GUARD and event.number != 0]
    ends = [event.number for event in events if event.kind == UNIT]
    # One hit each: the smallest threshold; then two of A and B; three; and at last four of B.
    ok(inferred == [b, b, b, b, b], f"Figure 4: types after each hit: {inferred}")
    ok(ends == [b, b], f"Figure 4: types at the ends: {ends}")
    ok(not any(tally.wrong.values()), f"Figure 4: as the reference has it: {tally.wrong}")
    collect("disarm", "--all")


def resting(program, family):
    """A wait of which the profile does not know how far the loop's frame is, after one that does."""
    known = 1
    script = [(WAIT, 0, 0), (known, 0, 0), (REST, 0, 0), (known, 0, 0)] * 20 + [(WAIT, 0, 0)]
    seen = {context for calls in program.run(script)[0][1] for context in calls}
    profile = Profile(SCRIPTED, [program.boundary(), program.rest()],
                      [(offset, 0) for offset in program.offsets], [Type(300 * 10**9, 1)],
                      [Context(guard, depth, [(0, 1, 1)]) for guard, depth in sorted(seen)])
    profile.arm(family, "resting")
    program.run(script)
    armed = loading.armed(family)[0]
    said = (armed["units"], armed["novel"], armed["unknown_hits"], armed["stray_hits"])
    ok(said == (40, 0, 0, 0), f"a wait that says nothing of the frame: {said}")
    collect("disarm", "--all")


def foreign(program, family):
    """Where another loop begins its events sees no unit that comes by; no other guard is."""
    known, other = 1, 2
    script = [(WAIT, 0, 0), (known, 0, 0), (other, 0, 0)] * 20 + [(WAIT, 0, 0)]
    seen = {context for calls in program.run(script)[0][1] for context in calls}
    contexts = [Context(guard, depth, [(0, 1, 1)]) for guard, depth in sorted(seen)
                if guard == known]
    for is_foreign in (False, True):
        profile = Profile(SCRIPTED, [program.boundary()],
                          [(offset, 0) for offset in program.offsets],
                          [Type(300 * 10**9, 1)] + [Type(10**9, 2, course=1)] * is_foreign,
                          contexts, foreign=other if is_foreign else -1)
        profile.arm(family, "foreign")
        program.run(script)
        armed = loading.armed(family)[0]
        whose = "another loop's event site" if is_foreign else "a guard"
        wanted = 0 if is_foreign else 20
        ok((armed["units"], armed["novel"], armed["unknown_hits"]) == (20, wanted, wanted),
           f"{whose}: {armed['novel']} of {armed['units']} units novel, "
           f"{armed['unknown_hits']} unknown hits")
        collect("disarm", "--all")


def main():
    program = Scripted()
    recorder = Recorder()
    family = Family()
    try:
        for is_paper in (False, True):
            sequence(program, recorder, family, is_paper)
        sequence(program, recorder, family, False, True)
        figure_4(program, recorder, family)
        foreign(program, family)
        resting(program, family)
    except Refused as error:
        ok(False, f"the module refused: {error.strerror}")
    program.end()
    recorder.end()
    done()


main()
