# SPDX-License-Identifier: GPL-2.0
"""Sites that are jumps to landings instead of breakpoints."""

import collections
import ctypes
import os
import time

from inlined import HEADS, INLINE, INLINED, NAMES, Setting, is_ready
from perfguard import IS_SLOW, done, note, ok
from record import (HIT, LOST, OWNED, RECORD, changed_bytes, kinds,
                    mappings, sites_of, text_of)

SEIZE = 0x4206
LIBRARY = "/lib/x86_64-linux-gnu/libm.so.6"
FUNCTIONS = ("cbrt", "sin", "exp", "atan", "tgamma", "lgamma", "erf", "log1p", "y0", "asinh")


def counts(events, tid=None):
    """Hits by site."""
    hits = collections.Counter(event.number for event in kinds(events, HIT, tid))
    return [hits[i + 1] for i in range(len(NAMES))]


def first_round():
    """The first hit changes the process; all kinds do what they did, and are recorded."""
    setting = Setting()
    program, recorder = setting.program, setting.recorder
    ok(setting.answer[1:] == (0, {}), "sites are added")
    ok(program.bytes() == 7 * (0xcc,), "they are breakpoints until a thread comes by")
    wrong, tid = map(int, program.do("run 1").split())
    ok(not wrong, "results of the first round are right")
    note(" ".join(f"{byte:02x}" for byte in program.bytes()))
    ok(program.bytes() == HEADS, "each kind of instruction has become a jump or a call")
    recorder.read()
    wrong, _ = map(int, program.do("run 3").split())
    events = recorder.read()
    ok(not wrong, "results by jumps are right")
    ok([event.number for event in kinds(events, HIT, tid)] == 3 * list(range(1, 8)),
       "hits are recorded, in their order")
    hits = kinds(events, HIT, tid)[:7]
    stack = next((start, end) for start, end, *_, path in mappings(program.pid)
                 if path == "[stack]")
    ok(all(stack[0] < hit.sp < stack[1] for hit in hits), "with stack pointers of the stack")
    code = [(start, end) for start, end, mode, _, path in mappings(program.pid)
            if "x" in mode and path == os.path.realpath(INLINED)]
    ok(all(any(start <= hit.value < end for start, end in code) for hit in hits),
       "and return addresses of the program")
    setting.end()


def compared():
    """Numbers, stack pointers and return addresses are those that traps record."""
    got = {}
    for flags in (0, INLINE):
        setting = Setting(site_flags=flags)
        setting.program.do("run 1")
        setting.recorder.read()
        setting.program.do("run 50")
        events = setting.recorder.read()
        base = min(start for start, *_, path in mappings(setting.program.pid)
                   if path == os.path.realpath(INLINED))
        top = max(hit.sp for hit in kinds(events, HIT))
        got[flags] = [(hit.number, top - hit.sp, hit.value - base) for hit in kinds(events, HIT)]
        setting.end()
    ok(len(got[0]) == 350 and got[0] == got[INLINE], "hits are equal to those of traps")


def threads():
    """Threads have areas of their own."""
    setting = Setting()
    program, recorder = setting.program, setting.recorder
    program.do("run 1")
    recorder.read()
    nr, rounds = 8, 500
    ok(program.do(f"threads {nr} {rounds}") == "0", "results in threads are right")
    events = recorder.read(1000)
    ok(counts(events) == len(NAMES) * [nr * rounds], f"each hit is recorded: {counts(events)}")
    ok(len({event.tid for event in kinds(events, HIT)}) == nr and not kinds(events, LOST),
       "as that of its thread")
    setting.end()


def children():
    """A child has the jumps and areas of its own; both go."""
    setting = Setting("exe")
    program, recorder = setting.program, setting.recorder
    program.do("run 1")
    child = int(program.do("fork"))
    ok(program.bytes(child) == HEADS, "a child has its parent's jumps")
    recorder.read()
    ok(program.do("child 10") == "0", "its results are right")
    ok(program.do("child 10") == "0", "again")
    events = recorder.read()
    ok(counts(events, child)[0] >= 10, f"its hits are recorded: {counts(events, child)}")
    setting.off()
    ok(changed_bytes(program.pid, INLINED) == 0 and changed_bytes(child, INLINED) == 0,
       "taken off, no byte of the code is changed in either")
    ok(program.do("run 10").split()[0] == "0" and program.do("child 10") == "0",
       "and results are right")
    program.do("reap")
    setting.end()


def unwatched_child():
    """A child that is nobody's target has jumps, too, and loses them."""
    setting = Setting()
    program = setting.program
    program.do("run 1")
    child = int(program.do("fork"))
    ok(program.bytes(child) == HEADS and program.do("child 10") == "0",
       "a child that is not watched runs by jumps")
    setting.off()
    ok(changed_bytes(child, INLINED) == 0 and program.do("child 10") == "0",
       "and has its bytes back with all others")
    program.do("reap")
    setting.end()


def hostile():
    """What a program does to what was mapped is its own."""
    setting = Setting()
    program = setting.program
    program.do("run 1")
    for what in ("protect", "move", "unmap"):
        ok(int(program.do(what)), f"{what} is refused")
    answer = program.do("scribble").split()
    ok(answer == ["0", "0"], f"random words over the areas change no result: {answer}")
    setting.recorder.read()
    ok(program.do("run 10").split()[0] == "0", "and the program goes on")
    setting.off()
    ok(int(program.do("remap")), "remap_file_pages() of what is left is refused")
    ok(program.do("run 10").split()[0] == "0", "and the program goes on")
    setting.end()


def ptrace(request, pid):
    if ctypes.CDLL(None, use_errno=True).ptrace(request, pid, None, None):
        raise OSError(ctypes.get_errno(), "ptrace")


def refuses(reason, before, what):
    """The process stays as it is, for a reason that is reported; it is recorded by traps."""
    setting = Setting()
    program = setting.program
    before(program)
    ok(program.do("run 5").split()[0] == "0" and program.bytes() == 7 * (0xcc,),
       f"sites of a process {what} stay breakpoints")
    ok(setting.recorder.ask("refusal", setting.target) == ["ok", str(reason), str(program.pid)],
       "which is reported")
    ok(counts(setting.recorder.read())[0] >= 5, "and are recorded")
    setting.end()


def refusals():
    for reason, what in ((1, "gs"), (3, "share"), (4, "generate"), (7, "limit")):
        refuses(reason, lambda program, line=what: program.do(line), f"after '{what}'")
    refuses(2, lambda program: ptrace(SEIZE, program.pid), "that is traced")


def later_gs():
    """A program that begins to use GS while its sites jump."""
    setting = Setting()
    program = setting.program
    program.do("run 1")
    ok(program.bytes() == HEADS and program.do("gs") == "0", "GS is used after sites jump")
    ok(program.do("run 5").split()[0] == "0" and program.bytes() == 7 * (0xcc,),
       "then they are breakpoints again")
    program.do("run 5")
    ok(program.bytes() == 7 * (0xcc,), "and stay so")
    setting.end()


def again():
    """Another target of a process that has landings and areas already."""
    setting = Setting()
    program, recorder = setting.program, setting.recorder
    program.do("run 1")
    recorder.ask("forget", setting.target)
    target = recorder.watch("pid", program.pid, OWNED | RECORD)
    recorder.sites(target, INLINED, program.offsets(), INLINE)
    program.do("run 1")
    ok(program.bytes() == HEADS, "the sites of another target jump in the same process")
    recorder.read()
    wrong, tid = map(int, program.do("run 10").split())
    ok(not wrong and counts(recorder.read(), tid) == 7 * [10], "and their hits are recorded")
    setting.end()


def libraries():
    """The sites of a library that is loaded later."""
    setting = Setting()
    program, recorder = setting.program, setting.recorder
    path = os.path.realpath(LIBRARY)
    sites = [(offset, 100 + i, delta) for i, (offset, delta) in enumerate(sites_of(path))]
    recorder.sites(setting.target, path, sites, INLINE)
    program.do("run 1")
    at_first = [program.do(f"library {path} {name}") for name in FUNCTIONS]
    code = text_of(program.pid, path)
    ok(changed_bytes(program.pid, path) == len(sites), "a library that is loaded later has breakpoints")
    time.sleep(2)
    recorder.read()
    again = [program.do(f"library {path} {name}") for name in FUNCTIONS]
    recorder.read()
    ok(text_of(program.pid, path) != code and changed_bytes(program.pid, path) > len(sites),
       "and jumps some seconds later")
    recorder.read()
    last = [program.do(f"library {path} {name}") for name in FUNCTIONS]
    ok(at_first == again == last and float(last[0]) == 3, f"which changes no result: {last}")
    ok(kinds(recorder.read(), HIT), "and is recorded")
    setting.off()
    ok(not changed_bytes(program.pid, path), "taken off, no byte is changed")
    setting.end()


def storm():
    """On and off under threads, signals, forks, vforks and execs."""
    setting = Setting("exe")
    program, recorder = setting.program, setting.recorder
    seconds = 10 if IS_SLOW else 8
    program.send(f"storm {1000 * seconds}")
    times = 0
    while True:
        recorder.read(50)
        setting.off()
        times += 1
        recorder.sites(setting.target, INLINED, program.offsets(), INLINE)
        if is_ready(program):
            break
    wrong, rounds, forks, execs = map(int, program.answer().split())
    note(f"{times} times on and off: {rounds} rounds, {forks} forks, {execs} execs")
    ok(not wrong and forks and execs, f"no result was wrong of {rounds} rounds")
    setting.off()
    ok(changed_bytes(program.pid, INLINED) == 0, "and no byte is changed at the end")
    setting.end()


first_round()
compared()
threads()
children()
unwatched_child()
hostile()
refusals()
later_gs()
again()
libraries()
storm()
done()
