# SPDX-License-Identifier: GPL-2.0
"""Profiles are loaded and armed whole or not at all, swapped, shed, and leave nothing."""

import errno
import functools
import os
import pathlib
import struct
import tempfile
import time

from family import (NLM_F_DUMP, NLM_F_REQUEST, NUMBER, Family, Refused, attribute,
                    number, u32, u64)
from perfguard import (IS_SLOW, MODULE, PATIENCE, VICTIM, Audit, Victim, collect, done, note, ok,
                       run, wait_until)
from profile import armed, guards, types
from record import (CALLED, OWNED, Called, Recorder, changed_bytes, functions, mappings)

ENOTSUPP = 524
ACTIVE, SHED = 1, 2
STEPPED = 3
WAIT, EVENT_CALL, EVENT_SITE, START_SITE = 1, 2, 3, 4
FORMS = {"LOOPS": "<II", "BOUNDARIES": "<QIIIIIIII", "GUARDS": "<QIIII",
         "TYPES": "<QQQQQQQQQQQQIIhhhH", "CONTEXTS": "<IIII", "WEIGHTS": "<HBB"}
# Of a type: limits of the parts of its time.
PARTS = (40_000_000, 20_000_000, 30_000_000, 10_000_000)
NONE = (0, 0, 0, 0)
LIMITS = {"LOOPS": 32, "BOUNDARIES": 1024, "GUARDS": 16384, "TYPES": 4096,
          "CONTEXTS": 65536, "WEIGHTS": 1048576}
MAX_PROFILES, MAX_OBJECTS = 128, 256
NAMES = ("outer", "middle", "inner")
SWAPS = 10 if IS_SLOW else 40
STORM_ROUNDS = 2 if IS_SLOW else 3


def which(profile):
    return u32(NUMBER["A_PROFILE_ID"], profile)


def packed(kind, rows):
    return attribute(NUMBER["A_PROFILE_" + kind],
                     b"".join(struct.pack(FORMS[kind], *row) for row in rows))


def new(family, name=b"test\0", flags=0):
    answer = family.do("PROFILE_NEW", attribute(NUMBER["A_PROFILE_NAME"], name),
                       u64(NUMBER["A_PROFILE_HASH"], 27), u32(NUMBER["A_PROFILE_FLAGS"], flags))
    return number(answer[NUMBER["A_PROFILE_ID"]])


def add_object(family, profile, path):
    fd = os.open(path, os.O_RDONLY)
    try:
        family.do("PROFILE_ADD", which(profile), u32(NUMBER["A_PROFILE_OBJECT_FD"], fd))
    finally:
        os.close(fd)


def load(family, paths, tables, at_once=500, **options):
    """The id of a profile that is loaded and not armed."""
    profile = new(family, **options)
    for path in paths:
        add_object(family, profile, path)
    for kind, rows in tables.items():
        for i in range(0, len(rows), at_once):
            family.do("PROFILE_ADD", which(profile), packed(kind, rows[i:i + at_once]))
    return profile


def arm(family, profile):
    """The target's id, its processes."""
    answer = family.do("PROFILE_ARM", which(profile))
    return (number(answer[NUMBER["A_PROFILE_TARGET_ID"]]),
            number(answer[NUMBER["A_PROFILE_PROCESSES"]]))


def error(call, *arguments):
    """(errno, text) of a refusal, or None."""
    try:
        call(*arguments)
    except Refused as refused:
        return refused.errno, refused.strerror
    return None


def forget(family, target):
    family.do("TARGET_DEL", u32(NUMBER["A_TARGET_ID"], target))


def row(family, profile):
    return next((one for one in armed(family) if one["id"] == profile), None)


def tables_of(program, names=NAMES, plan=0):
    """A sound profile: two loops, each with types and contexts at all guards."""
    places = [(program.offset(name), 0, 0, plan, 0) for name in names]
    return {
        "LOOPS": [(1, 0), (2, 1)],
        "BOUNDARIES": [(0x1000, 0, WAIT, 0, 0, 64, 128, 0, 0),
                       (0x1100, 1, WAIT, 232, 0, 72, 128, 0, 0),
                       (0x1200, 1, EVENT_CALL, 0, 0, 16, 0, 0, 0),
                       (0, 1, EVENT_SITE, 0, 0, 0, 0, 1, 0)],
        "GUARDS": places,
        "TYPES": [(50_000_000, *PARTS, 9_000, 8_000, 0, *NONE, 0, 7, -5, -9, -20, 0),
                  (0, *NONE, 0, 0, 0, *NONE, 0, 8, -6, -8, -20, 0),
                  (70_000_000, *NONE, 0, 0, 0, *NONE, 1, 9, 0, 0, -20, 0)],
        "CONTEXTS": [(0, 0, 64, 2), (0, len(names) - 1, 64, 1), (1, 0, 64, 1)],
        "WEIGHTS": [(0, 3, 4), (1, 127, 127), (1, 5, 6), (0, 7, 8)],
    }


def library(program):
    return next(path for *_, path in mappings(program.pid) if "/libc.so" in path)


def loading():
    """In pieces of one item, or all at once; and it is dumped as it was loaded."""
    family, program = Family(), Called()
    tables = tables_of(program)
    profile = load(family, [CALLED], tables, at_once=1)
    dump = row(family, profile)
    ok(dump["name"] == "test" and dump["hash"] == 27 and dump["nr_guards"] == 3 and
       dump["nr_types"] == 3 and dump["nr_contexts"] == 3 and "target_id" not in dump,
       "a profile is loaded item by item, and dumped")
    ok(error(guards, family, profile)[0] == errno.ENOENT and
       error(types, family, profile)[0] == errno.ENOENT,
       "what is not armed has no guards and types to dump")
    target, processes = arm(family, profile)
    dump = row(family, profile)
    ok(processes == 1 and dump["target_id"] == target and dump["processes"] == 1 and
       dump["nr_shed"] == 0 and abs(dump["armed_ns"] - time.time_ns()) < 60e9 and
       changed_bytes(program.pid, CALLED) == 3, "armed, its guards are in the program")
    ok([(one["index"], one["object"], one["offset"], one["state"])
        for one in guards(family, profile)] ==
       [(i, 0, program.offset(name), ACTIVE) for i, name in enumerate(NAMES)],
       "its guards are dumped")
    ok([(one["loop_id"], one["id"], one["threshold_ns"]) for one in types(family, profile)] ==
       [(1, 7, 50_000_000), (1, 8, 0), (2, 9, 70_000_000)], "and its types, with their loops")
    ok([tuple(one[f"{part}_limit_ns"] for part in ("own", "cpu", "blocked", "block_io"))
        for one in types(family, profile)] == [PARTS, NONE, NONE], "and with their limits")
    program.do("call 1")
    program.do("call 100")
    ok([one["hits"] for one in guards(family, profile)] == [101] * 3 and
       row(family, profile)["stray_hits"] == 303,
       "hits are counted, of a thread that was in no hooked call yet, too")
    ok(all(one["stepped"] == (one["hits"] if one["step_mode"] == STEPPED else 0)
           for one in guards(family, profile)), "and those that are stepped")
    child = int(program.do("fork"))
    ok(wait_until(lambda: row(family, profile)["processes"] == 2) and
       changed_bytes(child, CALLED) == 3, "a child is guarded")
    program.do("reap")
    second = Called()
    ok(changed_bytes(second.pid, CALLED) == 3, "and a process that is started later")
    second.end()

    forget(family, target)
    ok(not armed(family) and changed_bytes(program.pid, CALLED) == 0,
       "with its target it goes, and no byte is left changed")
    again = load(family, [CALLED], tables, name=b"\xc3\xa4" * 511 + b"\0", flags=1)
    ok(again > profile and row(family, again)["flags"] == 1 and
       len(row(family, again)["name"]) == 511, "no id comes twice, and names may be long")
    family.close()
    program.end()


def starts_plain(path, place):
    """Whether a function begins with push, endbr64, mov between registers, or xor."""
    code = contents(path)[place:place + 4]
    return code[0] in (0x50, 0x53, 0x55) or code[:2] in (b"\x41\x54", b"\x41\x55") or \
        code == b"\xf3\x0f\x1e\xfa" or code[0] == 0x31 or \
        (code[:2] == b"\x48\x89" and code[2] >= 0xc0 and code[2] & 7 != 4)


@functools.cache
def contents(path):
    return pathlib.Path(path).read_bytes()


def dumps():
    """Long lists come in several messages."""
    family, program = Family(), Called()
    libc = library(program)
    places = functions(libc)
    note(f"{len(places)} functions of libc")
    chosen = [place for place in places if starts_plain(libc, place)][:1500]
    tables = tables_of(program)
    tables["GUARDS"] = tables["GUARDS"] + [(place, 1, 0, 0, 0) for place in chosen]
    tables["TYPES"] = [(i, *NONE, 0, 0, 0, *NONE, 0, i + 1, 0, 0, 0, 0) for i in range(1500)] + \
        [(i, *NONE, 0, 0, 0, *NONE, 1, i + 1, 0, 0, 0, 0) for i in range(1500, 3000)]
    profile = load(family, [CALLED, libc], tables)
    start = time.monotonic()
    target, _ = arm(family, profile)
    note(f"{len(tables['GUARDS'])} guards armed in {time.monotonic() - start:.2f} s")
    rows = guards(family, profile)
    ok([(one["index"], one["object"], one["offset"]) for one in rows] ==
       [(i, one[1], one[0]) for i, one in enumerate(tables["GUARDS"])],
       "all guards are dumped, of libraries too")
    rows = types(family, profile)
    ok([(one["loop_id"], one["id"], one["threshold_ns"]) for one in rows] ==
       [(1 + (i >= 1500), i + 1, i) for i in range(3000)], "and all types")
    ok(changed_bytes(program.pid, libc) == len(chosen), "each has its breakpoint")
    program.do("call 1")
    program.do("call 10")
    dump = guards(family, profile)
    ok(not any(one["stepped"] or one["step_mode"] == STEPPED for one in dump) and
       sum(one["hits"] for one in dump) > 30, "common first instructions are not stepped")

    other = Family()
    other._seq += 1
    other.socket.send(struct.pack("IHHII", 20 + 8, other.id, NLM_F_REQUEST | NLM_F_DUMP, 1, 0) +
                      struct.pack("BBH", NUMBER["CMD_GUARD_GET"], 1, 0) +
                      u32(NUMBER["A_GUARD_PROFILE_ID"], profile))
    other.socket.recv(1 << 16)
    forget(family, target)
    ok(changed_bytes(program.pid, libc) + changed_bytes(program.pid, CALLED) == 0,
       "a list that is being read holds nothing up")
    other.close()
    family.close()
    program.end()


def fill(family, profile, kind, nr):
    """Append so many items; those of all bytes 0 are checked only at arming."""
    form = struct.calcsize(FORMS[kind])
    most = 64000 // form
    while nr:
        some = min(nr, most)
        family.do("PROFILE_ADD", which(profile),
                  attribute(NUMBER["A_PROFILE_" + kind], bytes(some * form)))
        nr -= some


def limits():
    """As many as the limit says, not one more; and what was loaded stays."""
    family = Family()
    profile = new(family)
    for kind, limit in LIMITS.items():
        fill(family, profile, kind, limit)
        refusal = error(fill, family, profile, kind, 1)
        ok(refusal and refusal[0] == errno.ENOSPC and "too many" in refusal[1],
           f"there may be {limit} {kind.lower()}")
    dump = row(family, profile)
    ok(dump["nr_guards"] == LIMITS["GUARDS"] and dump["nr_types"] == LIMITS["TYPES"] and
       dump["nr_contexts"] == LIMITS["CONTEXTS"] and
       5_000_000 < dump["bytes"] < 8_000_000, "what was in bounds is kept")
    with tempfile.TemporaryDirectory() as directory:
        for i in range(MAX_OBJECTS + 1):
            path = pathlib.Path(directory, str(i))
            path.write_bytes(b"\x90")
            refusal = error(add_object, family, profile, path)
            if i < MAX_OBJECTS and refusal:
                break
        ok(i == MAX_OBJECTS and refusal and refusal[0] == errno.ENOSPC and
           "objects" in refusal[1], f"there may be {MAX_OBJECTS} objects")
    for _ in range(MAX_PROFILES - 1):
        new(family)
    refusal = error(new, family)
    ok(refusal and refusal[0] == errno.ENOSPC and "too many profiles" in refusal[1],
       f"there may be {MAX_PROFILES} profiles")
    ok(error(new, family, b"a" * 1024 + b"\0"), "a name may have 1023 bytes")
    ok(error(new, family, b"test\0", 2), "there is one flag")
    family.close()
    family = Family()
    ok(wait_until(lambda: not armed(family)), "they go with their socket")
    program = Called()
    tables = tables_of(program)
    size = 16384 if not IS_SLOW else 2048
    path, places = largest(size)
    tables["GUARDS"] = [(place, 1, 0, 0, 0) for place in places]
    tables["TYPES"] = [(i, *NONE, 0, 0, 0, *NONE, 0, i + 1, 0, 0, 0, 0)
                       for i in range(LIMITS["TYPES"])]
    tables["CONTEXTS"] = [(0, i % len(places), i // len(places), 16)
                          for i in range(LIMITS["CONTEXTS"])]
    tables["WEIGHTS"] = [(i % 4096, i % 128, 127 - i % 128) for i in range(LIMITS["WEIGHTS"])]
    profile = load(family, [CALLED, path], tables)
    start = time.monotonic()
    target, _ = arm(family, profile)
    middle = time.monotonic()
    dump = row(family, profile)
    forget(family, target)
    note(f"{len(places)} guards, 4096 types, 65536 contexts, 1048576 weights: armed in "
         f"{middle - start:.2f} s, disarmed in {time.monotonic() - middle:.2f} s, "
         f"{dump['bytes'] >> 10} KiB")
    ok(dump["nr_contexts"] == LIMITS["CONTEXTS"] and time.monotonic() - start < PATIENCE,
       "the largest profile can be armed")
    family.close()
    program.end()


def largest(nr):
    """A file of one-byte instructions, not mapped by anybody, and places in it."""
    path = pathlib.Path(tempfile.mkdtemp(), "code")
    path.write_bytes(b"\x90" * (nr + 64))
    return path, range(nr)


def changed(rows, index, field, value):
    rows = list(rows)
    rows[index] = tuple(value if i == field else old for i, old in enumerate(rows[index]))
    return rows


def wrong():
    """Each number that is out of range is found, and what is armed stays as it is."""
    family, program = Family(), Called()
    good = tables_of(program)
    before = load(family, [CALLED], good)
    target, _ = arm(family, before)
    cases = [
        ("LOOPS", 0, 0, 2, "without a gap"), ("LOOPS", 1, 0, 1, "without a gap"),
        ("LOOPS", 0, 1, 2, "flag"),
        ("BOUNDARIES", 0, 1, 2, "event loop that is not there"),
        ("BOUNDARIES", 0, 2, 0, "role"), ("BOUNDARIES", 0, 2, 5, "role"),
        ("BOUNDARIES", 3, 2, START_SITE, "start site beside"),
        ("BOUNDARIES", 0, 2, EVENT_CALL, "no wait"),
        ("BOUNDARIES", 0, 3, 4096, "system call"),
        ("BOUNDARIES", 2, 4, 1, "object that is not there"),
        ("BOUNDARIES", 0, 5, 65544, "distance"), ("BOUNDARIES", 0, 5, 4, "distance"),
        ("BOUNDARIES", 0, 6, (1 << 20) + 8, "frame"),
        ("BOUNDARIES", 3, 7, 3, "guard that is not there"),
        ("BOUNDARIES", 1, 8, 1, "reserved"),
        ("GUARDS", 0, 1, 1, "object that is not there"),
        ("GUARDS", 0, 2, 65537, "too far"), ("GUARDS", 1, 4, 1, "reserved"),
        ("GUARDS", 1, 0, 1 << 63, "offset"), ("GUARDS", 1, 0, good["GUARDS"][0][0], "one place"),
        ("TYPES", 2, 12, 2, "event loop that is not there"), ("TYPES", 0, 12, 1, "order"),
        ("TYPES", 0, 13, 0, "id"), ("TYPES", 0, 13, 1 << 28, "id"), ("TYPES", 1, 17, 1, "reserved"),
        ("TYPES", 0, 5, 1_000_001, "interrupts or batches add too much"),
        ("TYPES", 0, 6, 1_000_001, "interrupts or batches add too much"),
        ("CONTEXTS", 2, 0, 2, "event loop that is not there"), ("CONTEXTS", 0, 0, 1, "order"),
        ("CONTEXTS", 0, 1, 3, "guard that is not there"), ("CONTEXTS", 1, 1, 0, "equal"),
        ("CONTEXTS", 0, 3, 5, "fewer weights"), ("CONTEXTS", 0, 3, 2**32 - 1, "fewer weights"),
        ("CONTEXTS", 0, 3, 1, "more weights"),
        ("WEIGHTS", 0, 0, 2, "of a type"), ("WEIGHTS", 3, 0, 1, "of a type"),
        ("WEIGHTS", 0, 1, 128, "weight"), ("WEIGHTS", 3, 2, 128, "weight"),
    ]
    missed = []
    for kind, index, field, value, text in cases:
        tables = dict(good, **{kind: changed(good[kind], index, field, value)})
        profile = load(family, [CALLED], tables)
        refusal = error(arm, family, profile)
        if not refusal or refusal[0] != errno.EINVAL or text not in refusal[1]:
            missed.append((kind, index, field, value, refusal))
        family.do("PROFILE_DEL", which(profile))
    for miss in missed:
        note(f"not refused as it should: {miss}")
    ok(not missed, f"{len(cases)} numbers out of range are refused, with a reason")
    for kind, text in (("LOOPS", "no event loop"), ("BOUNDARIES", "no wait"),
                       ("GUARDS", "not there"), ("TYPES", "of a type"),
                       ("CONTEXTS", "more weights"), ("WEIGHTS", "fewer weights")):
        refusal = error(arm, family, load(family, [CALLED], dict(good, **{kind: []})))
        ok(refusal and text in refusal[1], f"so is a profile without {kind.lower()}")
    refusal = error(arm, family, load(family, [], dict(good)))
    ok(refusal and "object" in refusal[1], "and one without an object")
    ok([one["id"] for one in armed(family) if "target_id" in one] == [before] and
       changed_bytes(program.pid, CALLED) == 3 and row(family, before)["target_id"] == target,
       "the profile that is armed stays as it is")

    profile = load(family, [CALLED], good)
    whole = struct.pack(FORMS["GUARDS"], 0, 0, 0, 0, 0)
    refusal = error(family.do, "PROFILE_ADD", which(profile), packed("LOOPS", [(3, 0)]),
                    attribute(NUMBER["A_PROFILE_GUARDS"], whole + b"\0"))
    ok(refusal and "whole structures" in refusal[1], "half a structure is refused")
    ok(error(arm, family, profile) is None, "with all that came along")
    program.do("call 1")
    bare = dict(good, GUARDS=[], CONTEXTS=[], WEIGHTS=[], BOUNDARIES=good["BOUNDARIES"][:2])
    ok(arm(family, load(family, [CALLED], bare)) == (target, 1) and
       changed_bytes(program.pid, CALLED) == 0, "a profile needs no guards")
    forget(family, target)
    family.close()
    program.end()


def orders():
    """Orders that make no sense, and those of others."""
    family, other, program = Family(), Family(), Called()
    profile = load(family, [CALLED], tables_of(program))
    for command in ("PROFILE_ADD", "PROFILE_ARM", "PROFILE_DEL"):
        ok(error(other.do, command, which(profile))[0] == errno.EPERM,
           f"{command.lower()} is refused to another socket")
        ok(error(family.do, command, which(profile + 1000))[0] == errno.ENOENT,
           "and where there is no such profile")
        ok("which profile" in error(family.do, command)[1], "and without one")
    ok(error(family.do, "PROFILE_NEW")[0] == errno.EINVAL, "a profile needs a name")
    for path, code in (("/tmp", errno.EINVAL), ("/dev/null", errno.EINVAL),
                       ("/proc/self/status", errno.EACCES), (CALLED, errno.EEXIST)):
        refusal = error(add_object, family, profile, path)
        ok(refusal and refusal[0] == code, f"{path} is no new object: {refusal}")
    ok(error(family.do, "PROFILE_ADD", which(profile), u32(NUMBER["A_PROFILE_OBJECT_FD"], 999))[0]
       == errno.EBADF, "nor is what is not open")
    target, _ = arm(family, profile)
    for command in ("PROFILE_ADD", "PROFILE_ARM"):
        ok(error(family.do, command, which(profile))[0] == errno.EBUSY,
           f"{command.lower()} is refused for what is armed already")
    family.close()
    time.sleep(0.2)
    ok(row(other, profile)["target_id"] == target, "what is armed stays when its socket is closed")

    recorder = Recorder()
    answer = recorder.ask("watch", "exe", CALLED, 8)
    ok(answer[1] == str(errno.EEXIST) and "already" in " ".join(answer),
       "a guarded executable is not watched by others")
    recorder.sites(target, CALLED, [(program.offset("never"), 5, 0)])
    ok(changed_bytes(program.pid, CALLED) == 4, "but its sites can be recorded")
    recorder.off(target)
    ok(changed_bytes(program.pid, CALLED) == 3, "and taken off, without the guards")
    forget(other, target)
    watched = recorder.watch("exe", CALLED)
    refusal = error(arm, other, load(other, [CALLED], tables_of(program)))
    ok(refusal and refusal[0] == errno.EEXIST and "watched already" in refusal[1],
       "one that is watched is not guarded")
    ok(changed_bytes(program.pid, CALLED) == 0, "nor probed")
    recorder.ask("forget", watched)
    recorder.end()
    last = armed(other)[-1]["id"]
    target, _ = arm(other, last)
    ok(row(other, last)["target_id"] == target, "afterwards it is, by the same profile")
    forget(other, target)
    ok(error(forget, other, target)[0] == errno.ENOENT, "what is not armed is not disarmed")
    other.close()
    program.end()


def refused():
    """A guard that cannot be probed is named, and nothing is changed."""
    family, program = Family(), Called()
    good = tables_of(program)
    size = os.path.getsize(CALLED)
    path = pathlib.Path(tempfile.mkdtemp(), "code")
    path.write_bytes(b"\x90\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00\xf0\xff\x00\xcc\x90")
    for text, guard, code in (
            ("beyond the end of its file", (size, 0, 0, 0, 0), errno.EINVAL),
            ("with a prefix that no kernel probes", (1, 1, 0, 0, 0), ENOTSUPP),
            ("that locks", (11, 1, 0, 0, 0), ENOTSUPP),
            ("that is a breakpoint", (14, 1, 0, 0, 0), ENOTSUPP)):
        tables = dict(good, GUARDS=good["GUARDS"] + [guard])
        profile = load(family, [CALLED, path], tables)
        refusal = error(arm, family, profile)
        dump = row(family, profile)
        ok(refusal and refusal[0] == code and "cannot be probed" in refusal[1] and
           dump["refused_guard"] == 3 and dump["refused_error"] == code,
           f"a guard {text} is refused and named")
    ok(changed_bytes(program.pid, CALLED) == 0 and not family.targets(),
       "no guard is left, and no target")
    before = load(family, [CALLED], dict(good, GUARDS=good["GUARDS"][:2],
                                         CONTEXTS=[], WEIGHTS=[]))
    target, _ = arm(family, before)
    ok(error(arm, family, profile)[0] == ENOTSUPP and
       row(family, before)["target_id"] == target and changed_bytes(program.pid, CALLED) == 2,
       "with an older profile armed, that one stays")
    program.do("call 1")
    program.do("call 7")
    ok([one["hits"] for one in guards(family, before)] == [8, 8], "and goes on")
    family.close()
    family = Family()
    ok(wait_until(lambda: [one["id"] for one in armed(family)] == [before]),
       "those that were refused go with their socket")
    forget(family, target)
    family.close()
    program.end()


def half():
    """The socket is closed half way, by death too."""
    program = Called()
    tables = tables_of(program)
    family = Family()
    for kind in FORMS:
        loader = Family()
        profile = new(loader)
        add_object(loader, profile, CALLED)
        for loaded, rows in tables.items():
            loader.do("PROFILE_ADD", which(profile), packed(loaded, rows))
            if loaded == kind:
                break
        loader.close()
    ok(wait_until(lambda: not armed(family)), "what is loaded half goes with its socket")
    pid = os.fork()
    if not pid:
        loader = Family()
        load(loader, [CALLED], tables)
        os.kill(os.getpid(), 9)
    os.waitpid(pid, 0)
    ok(wait_until(lambda: not armed(family)), "also if its owner is killed")
    family.close()
    program.end()


def swap():
    """A newer profile takes the place of an older one while threads hit both."""
    family, program = Family(), Called()
    plans = [tables_of(program), tables_of(program, NAMES[::-1])]
    target, _ = arm(family, load(family, [CALLED], plans[0]))
    program.do("call 1")
    calls = 20_000 if IS_SLOW else 300_000
    program.send(f"call {calls}")
    worst, same = 0.0, True
    for i in range(SWAPS):
        profile = load(family, [CALLED], plans[i % 2])
        start = time.monotonic()
        same &= arm(family, profile) == (target, 1)
        worst = max(worst, time.monotonic() - start)
        same &= [one["id"] for one in armed(family)] == [profile]
        same &= changed_bytes(program.pid, CALLED) == 3
    ok(len(program.answer().split()) == 7 and same,
       f"{SWAPS} newer profiles take the place of the older one")
    note(f"the longest arming took {worst:.2f} s")
    ok(worst < PATIENCE, "while it is hit all the time")
    before = [one["hits"] for one in guards(family, profile)]
    program.do("call 5")
    ok([one["hits"] for one in guards(family, profile)] == [hits + 5 for hits in before] and
       all(one["state"] == ACTIVE for one in guards(family, profile)), "the last one is on")
    forget(family, target)
    family.close()
    program.end()


def storm():
    """Armed, swapped and disarmed while threads run, fork and execute; then the module goes."""
    ms = 20000 if IS_SLOW else 8000
    family, program = Family(), Called()
    libc = library(program)
    tables = tables_of(program)
    many = dict(tables, GUARDS=tables["GUARDS"] +
                [(place, 1, 0, 100, 0) for place in functions(libc)[::4]
                 if starts_plain(libc, place)])
    program.send(f"storm {ms}")
    end = time.monotonic() + ms / 1000 - 1
    rounds, worst, answers = 0, 0.0, []
    while time.monotonic() < end or rounds < STORM_ROUNDS:
        if time.monotonic() >= end:
            answers.append(program.answer())
            program.send(f"storm {ms}")
            end = time.monotonic() + ms / 1000 - 1
        target, _ = arm(family, load(family, [CALLED, libc], many))
        arm(family, load(family, [CALLED], tables))
        time.sleep(0.05)
        start = time.monotonic()
        forget(family, target)
        worst = max(worst, time.monotonic() - start)
        rounds += 1
    answers.append(program.answer())
    ok(set(answers) == {"ok"}, "the program comes through a storm of profiles")
    note(f"{rounds} rounds, the longest disarming took {worst:.2f} s")
    ok(rounds >= STORM_ROUNDS and worst < PATIENCE, "they come and go")
    ok(changed_bytes(program.pid, libc) + changed_bytes(program.pid, CALLED) == 0,
       "and leave nothing")
    target, _ = arm(family, load(family, [CALLED, libc], many))
    load(family, [CALLED], tables)
    program.send(f"storm {ms // 4}")
    ok(run("rmmod", "perfguard").returncode != 0, "the module stays while a profile is armed")
    forget(family, target)
    ok(wait_until(lambda: run("rmmod", "perfguard").returncode == 0),
       "it goes with one half loaded, the socket still open")
    ok(program.answer() == "ok" and
       changed_bytes(program.pid, libc) + changed_bytes(program.pid, CALLED) == 0,
       "the program does not notice")
    family.close()
    program.end()
    run("insmod", MODULE)


def states_of(family, profile):
    return [one["state"] for one in guards(family, profile)]


def heat(family, program, profile, wanted):
    """Hit the guards until they are in these states; when they were not yet, or None."""
    end = time.monotonic() + PATIENCE
    while (looked := time.monotonic()) < end:
        program.do("call 1000" if IS_SLOW else "call 5000")
        if states_of(family, profile) == wanted:
            return looked
    return None


def with_a_plan(program):
    """The third guard is to be hit once a second."""
    tables = tables_of(program)
    tables["GUARDS"] = changed(tables["GUARDS"], 2, 3, 1)
    return tables


def process_ends():
    """The process of a target ends while a guard is shed; the profile stays armed."""
    family, program = Family(), Called()
    answer = family.do("TARGET_NEW", u32(NUMBER["A_TARGET_PID"], program.pid),
                       u32(NUMBER["A_TARGET_FLAGS"], OWNED))
    target = number(answer[NUMBER["A_TARGET_ID"]])
    profile = load(family, [CALLED], with_a_plan(program))
    family.do("PROFILE_ARM", which(profile), u32(NUMBER["A_PROFILE_TARGET_ID"], target))
    ok(heat(family, program, profile, [ACTIVE, ACTIVE, SHED]),
       "a guard of a target that is one process is shed")
    program.end()
    time.sleep(13)
    ok(states_of(family, profile) == [ACTIVE, ACTIVE, SHED],
       "when the process has ended, it is not put on again after its ten seconds")
    forget(family, target)
    ok(not armed(family), "and the profile goes with the target")
    family.close()


def governor():
    """A guard that is hit far more often than planned is shed, and tried again."""
    family, program = Family(), Called()
    tables = with_a_plan(program)
    profile = load(family, [CALLED], tables)
    target, _ = arm(family, profile)
    program.do("call 1")

    def states():
        return states_of(family, profile)

    start = heat(family, program, profile, [ACTIVE, ACTIVE, SHED])
    ok(start, "a guard far beyond its plan is shed, no other")
    dump = guards(family, profile)[2]
    ok(dump["sheds"] == 1 and row(family, profile)["nr_shed"] == 1, "that is reported")
    ok(changed_bytes(program.pid, CALLED) == 2, "its breakpoint is gone")
    before = [one["hits"] for one in guards(family, profile)]
    program.do("call 100")
    after = [one["hits"] for one in guards(family, profile)]
    ok([b - a for a, b in zip(before, after)] == [100, 100, 0], "and the others count on")
    ok(wait_until(lambda: states() == [ACTIVE] * 3) and
       9.9 < time.monotonic() - start and
       changed_bytes(program.pid, CALLED) == 3 and row(family, profile)["nr_shed"] == 0,
       "after ten seconds it is on again")
    program.do("call 100")
    ok(guards(family, profile)[2]["hits"] == after[2] + 100, "and counts")
    start = heat(family, program, profile, [ACTIVE, ACTIVE, SHED])
    ok(start and guards(family, profile)[2]["sheds"] == 2, "as hot as before it is shed again")
    ok(wait_until(lambda: states() == [ACTIVE] * 3) and 19.9 < time.monotonic() - start,
       "for longer")
    profile = load(family, [CALLED], tables)
    arm(family, profile)
    ok(states() == [ACTIVE] * 3 and changed_bytes(program.pid, CALLED) == 3,
       "a newer profile begins with all guards")
    ok(heat(family, program, profile, [ACTIVE, ACTIVE, SHED]), "which are shed as well")
    forget(family, target)
    ok(changed_bytes(program.pid, CALLED) == 0, "and taken off while shed")
    family.close()
    program.end()


def unmounted():
    """What was disarmed can be unmounted."""
    directory = tempfile.mkdtemp()
    run("mount", "-t", "tmpfs", "tmpfs", directory)
    path = pathlib.Path(directory, "called")
    path.write_bytes(pathlib.Path(CALLED).read_bytes())
    path.chmod(0o755)
    family, program = Family(), Called(str(path))
    target, processes = arm(family, load(family, [path], tables_of(program)))
    program.do("call 1")
    program.end()
    ok(processes == 1 and run("umount", directory).returncode != 0,
       "the file system of a guarded program stays")
    forget(family, target)
    ok(run("umount", directory).returncode == 0, "disarmed, it can go")
    family.close()


def beside():
    """Another program is audited while one is guarded."""
    family, program, victim = Family(), Called(), Victim()
    target, _ = arm(family, load(family, [CALLED], tables_of(program)))
    audit = Audit("--duration", 900, "--slower-than", "10ms", "-p", victim.pid)
    audit.next("ready")
    victim.unit("nothing")  # the thread slept when we came; from here on it is seen
    for _ in range(5):
        victim.unit("sleep 100")
    ended = [audit.next_long("ended", 100) for _ in range(5)]
    audit.finish()
    ok(all(ended) and len(audit.slept("ended", 100)) == 5, "an audit works beside a profile")
    ok(len(armed(family)) == 1, "which it leaves alone")
    forget(family, target)
    family.close()
    victim.end()
    program.end()


for test in (loading, dumps, limits, wrong, orders, refused, half, swap, unmounted, beside,
             governor, process_ends, storm):
    note(test.__name__)
    test()
ok("Nothing is watched" in collect("status").stdout, "nothing is left")
done()
