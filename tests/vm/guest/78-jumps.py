# SPDX-License-Identifier: GPL-2.0
"""Guards that are jumps to landings instead of breakpoints; 56-guard has what they infer."""

import select

import profile as loading
from family import Family
from perfguard import IS_SLOW, MS, collect, done, note, ok
from profile import Context, Profile, Type
from record import Program, changed_bytes, file_offset
from scripted import SCRIPTED, SPIN, WAIT, Scripted

LATE, WATCH, JUMP = 1, 2, 4
READ = 0                # a system call
SHORT, LONG = 1, 2      # ids of types
MARK, OTHER = 0, 2      # functions whose guard can be a jump
BUSY = 400 * MS
INLINED = SCRIPTED.replace("scripted", "inlined")


def context(program, function):
    """Where a function is called by the loop itself."""
    return program.run([(WAIT, 0, 0), (function, 0, 0), (WAIT, 0, 0)])[0][1][0][0]


def profile_of(program):
    """Units that call MARK are to take 50 ms at most, those that call OTHER as long as they want."""
    return Profile(SCRIPTED, [program.boundary()], [(offset, 0) for offset in program.offsets],
                   [Type(50 * MS, SHORT), Type(10**12, LONG)],
                   [Context(*context(program, MARK), [(0, 100, 100)]),
                    Context(*context(program, OTHER), [(1, 100, 100)])], is_inline=True)


def unit(function, busy_ns=0):
    return [(WAIT, 0, 0), (function, 0, 0)] + [(SPIN, 0, busy_ns // 1000)] * bool(busy_ns)


def process_of(family, program):
    return next((one for one in family.table("PROCESS_GET", "PROCESS")
                 if one["pid"] == program.pid), {"jumps": 0})


def sums(family, profile):
    return {one["id"]: one["units"] + one["late"] for one in loading.types(family, profile)}


def watched(program, family):
    """The watch sees what a unit has met while it runs, though the thread makes no call."""
    profile, _, _ = profile_of(program).arm(family)
    program.run(unit(MARK) * 3 + [(WAIT, 0, 0)])
    ok(process_of(family, program)["jumps"] == 30, "30 guards of the process jump")
    for function, is_late in ((MARK, True), (OTHER, False)):
        since = 1 + max((one.get("seq", 0) for one in family.alerts()), default=0)
        program.run(unit(function, BUSY) + [(WAIT, 0, 0)])
        alerts = [one for one in family.alerts(since) if one["kind"] == LATE]
        if not is_late:
            ok(not alerts, "a unit of a type that may take that long is not late")
            continue
        ok(len(alerts) >= 1 and alerts[0]["found_by"] == WATCH and
           alerts[0]["type_id"] == SHORT and 50 * MS < alerts[0]["elapsed_ns"] < 200 * MS,
           f"a unit that is busy is reported by the watch: "
           f"{[(one['found_by'], one['type_id'], one['elapsed_ns'] // MS) for one in alerts]} ms")
    guards = loading.guards(family, profile)
    ok(guards[MARK]["step_mode"] == JUMP and guards[MARK]["noted"] >= 3,
       f"{guards[MARK]['noted']} hits of its guard were by jumps")


def children(program, family):
    """A child has its parent's jumps, and a ring of its own."""
    profile = loading.armed(family)[0]["id"]
    before = sums(family, profile)
    program.fork(unit(MARK) * 50 + [(WAIT, 0, 0)])
    after = sums(family, profile)
    ok(after[SHORT] - before[SHORT] == 50 and after[LONG] == before[LONG],
       f"all units of a child are of their type: {after[SHORT] - before[SHORT]} of 50")


def replaced(program, family):
    """Another profile takes over, whose guards are the same, and one whose are breakpoints."""
    for is_inline in (True, False, True):
        profile = profile_of(program)
        profile.is_inline = is_inline
        number, _, _ = profile.arm(family)
        program.run(unit(OTHER) * 3 + unit(MARK) * 40 + [(WAIT, 0, 0)], 2)
        kinds = sums(family, number)
        ok(kinds == {SHORT: 80, LONG: 6} and not loading.armed(family)[0]["novel"],
           f"after a change of profiles units are of their types: {kinds}")
        jumps = process_of(family, program)["jumps"]
        ok(jumps == 30 * is_inline, f"and {jumps} guards of the process jump")
    collect("disarm", "--all")
    ok(changed_bytes(program.pid, SCRIPTED) == 0, "disarmed, no byte of the code is changed")


def storm(family):
    """Armed and disarmed under threads, signals, forks, vforks and execs."""
    program = Program(INLINED)
    sites = [word.split(":") for word in program.answer().split()]
    guards = [(file_offset(program.pid, int(address, 16))[1], int(delta))
              for address, delta in sites]
    profile = Profile(INLINED, [(1, READ, 8, 16)], guards, [Type(10**12, 1)],
                      [Context(0, 8, [(0, 1, 1)])], is_inline=True)
    seconds = 10 if IS_SLOW else 8
    program.send(f"storm {1000 * seconds}")
    times = noted = 0
    while not select.select([program.process.stdout], [], [], 0.1)[0]:
        number, _, _ = profile.arm(family)
        select.select([program.process.stdout], [], [], 0.2)
        noted += process_of(family, program)["jumps"]
        times += 1
        collect("disarm", "--all")
    answer = program.answer()
    if not answer:
        note(f"status {program.process.wait()}")
    wrong, rounds, forks, execs = map(int, answer.split())
    note(f"{times} times armed and disarmed: {rounds} rounds, {forks} forks, {execs} execs")
    ok(not wrong and forks and execs, f"no result was wrong of {rounds} rounds")
    ok(noted, "while guards jumped")
    ok(changed_bytes(program.pid, INLINED) == 0, "and no byte is changed at the end")
    program.end()


def refused(family):
    """A program that uses GS keeps its breakpoints, which is reported."""
    program = Program(INLINED)
    sites = [word.split(":") for word in program.answer().split()]
    guards = [(file_offset(program.pid, int(address, 16))[1], int(delta))
              for address, delta in sites]
    program.do("gs")
    profile = Profile(INLINED, [(1, READ, 8, 16)], guards, [Type(10**12, 1)],
                      [Context(0, 8, [(0, 1, 1)])], is_inline=True)
    profile.arm(family)
    program.do("run 5")
    ok(process_of(family, program)["jumps"] == 0, "no guard of a process that uses GS jumps")
    said = collect("status").stdout
    ok(f"guards of process {program.pid} stay breakpoints: a thread of it uses the base of gs"
       in said, "and status says why")
    collect("disarm", "--all")
    program.end()


def main():
    family = Family()
    program = Scripted()
    watched(program, family)
    children(program, family)
    replaced(program, family)
    program.end()
    refused(family)
    storm(family)
    done()


main()
