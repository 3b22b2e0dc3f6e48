# SPDX-License-Identifier: GPL-2.0
"""A page of a watched thread's stack that nobody serves holds nobody up.

A handler that waited for it would be waited for by whoever removes a uprobe, wherever that is,
and by whoever waits for all handlers of the machine.
"""

import os
import pathlib
import subprocess

from family import NUMBER, Family, number, parse, u64
from guarded import LATE
from perfguard import IS_SLOW, MODULE, MS, TOP, collect, done, note, ok, run, wait_until
from profile import Context, Profile, Type
from record import ACCOUNT, HIT, OWNED, RECORD, Recorder, kinds
from scripted import NAP, SCRIPTED, WAIT, Scripted

FOUND_BY_GUARD = 1
BOUND = 60
NAP_US = 60_000
THRESHOLD = 20 * MS
# Beyond the frames of the stack, and within what a report copies.
FAR = 32 * 1024
TRACEFS = pathlib.Path("/sys/kernel/tracing")
TAKER = TOP / "build" / os.environ["PERFGUARD_KERNEL"] / "taker/taker.ko"


def within(text, *command):
    """A command that has to end in good time; it may not even die."""
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        errors = process.communicate(timeout=BOUND)[1]
    except subprocess.TimeoutExpired:
        errors = "it does not end"
    ok(process.poll() == 0, f"{text}: {errors.strip() or 'done'}")


def others(when):
    """What nobody of the watched program has a part in."""
    within(f"{when}, another program's uprobe comes and goes", "sh", "-ec", f"""
        cd {TRACEFS}
        echo p:foreign /bin/sh:0x1000 >> uprobe_events
        echo 1 > events/uprobes/foreign/enable
        echo 0 > events/uprobes/foreign/enable
        echo -:foreign >> uprobe_events""")
    within(f"{when}, a module is loaded", "insmod", TAKER,
           "function=__x64_sys_getppid")
    within(f"{when}, and unloaded", "rmmod", "taker")


def ends(program):
    """Whether the program has done what it was told."""
    return wait_until(lambda: pathlib.Path(f"{program.log}.0").exists(), BOUND)


def begin(program, steps):
    pathlib.Path(f"{program.log}.0").unlink(missing_ok=True)
    program.begin(steps)


def stack_sizes(family, seq):
    """Bytes of the first stack of a record: copied, and in all."""
    for row in family.table("ALERT_GET", "RECORD", u64(NUMBER["A_RECORD_SEQ"], seq)):
        part = dict(parse(row.get("stack", b"")))
        if NUMBER["A_STACK_SIZE"] in part:
            return (number(part[NUMBER["A_STACK_SIZE"]]),
                    number(part[NUMBER["A_STACK_FULL_SIZE"]]))
    return 0, 0


def arm(family, program, depths):
    # That a unit is of the second type, which has a limit, is known at its guard alone.
    profile = Profile(SCRIPTED, [program.boundary()],
                      [(program.offsets[1], 0), (program.offsets[2], 0)],
                      [Type(10**12, 1, 10, 10), Type(THRESHOLD, 2)],
                      [Context(0, depths[0], [(0, 10, 10)]), Context(1, depths[1], [(1, 100, 100)])])
    profile.arm(family, "unserved")


def kernel_kib():
    """Memory of the kernel's objects that cannot be taken back."""
    text = pathlib.Path("/proc/meminfo").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in text.splitlines()
                if line.startswith("SUnreclaim:"))


def charged(family, depths):
    """What stacks take is charged, not only what could be read of them."""
    program = Scripted("unserved")
    arm(family, program, depths)
    before = kernel_kib()
    program.run([(WAIT, 0, 0), (1, 0, 0), (NAP, 0, 25_000), (2, 0, 0)] * 150 + [(WAIT, 0, 0)])
    grown, ring = kernel_kib() - before, family.stats()["ring_bytes"] // 1024
    note(f"{grown} KiB more in use, {ring} KiB of records")
    # KASAN keeps what was freed.
    ok(ring > 100 and (IS_SLOW or grown < 2 * ring + 1024),
       "no more memory is taken than is charged")
    program.end()
    collect("disarm", "--all")


def late(family, program, depths):
    """A guard finds its unit late, and the stack is not all there."""
    arm(family, program, depths)
    begin(program, [(WAIT, 0, 20), (1, 0, 0), (NAP, 0, NAP_US), (2, 0, 0), (NAP, 0, NAP_US),
                    (WAIT, 0, 0)])
    ok(ends(program), "a late unit goes on")
    others("with a late unit")
    found = [one for one in family.alerts() if one["kind"] == LATE and one["pid"] == program.pid]
    ok(len(found) >= 1 and found[0]["found_by"] == FOUND_BY_GUARD, "its guard reported it")
    size, full = stack_sizes(family, found[0]["seq"]) if found else (0, 0)
    note(f"{size} of {full} bytes of stack")
    ok(256 < size < FAR < full, "with its stack as far as that is there")
    within("with a late unit, disarm", TOP / "pg-collect", "disarm", "--all")


def recorded(family, program, recorder):
    """A recorded hit is to read a word that is not there."""
    target = recorder.watch("pid", program.pid, OWNED | ACCOUNT | RECORD)
    recorder.ask("open")
    recorder.sites(target, SCRIPTED, [(program.offsets[1], 1, 0), (program.offsets[2], 2, FAR)])
    before = family.stats()["stream_unread"]
    begin(program, [(WAIT, 0, 20), (1, 0, 0), (2, 0, 0), (WAIT, 0, 0)])
    ok(ends(program), "a recorded program goes on")
    others("with a recorded hit")
    hits = kinds(recorder.read(), HIT)
    values = {hit.number: hit.value for hit in hits}
    note(f"hits: {values}")
    ok(values.get(1, 0) and values.get(2) == 0, "a word that is not there is recorded as none")
    ok(family.stats()["stream_unread"] == before + 1, "and is counted")
    within("with a recorded hit, disarm", TOP / "pg-collect", "disarm", "--all")
    recorder.end()


def main():
    program, family = Scripted("unserved"), Family()
    # How deep the functions are called; before anything is watched.
    units = program.run([(WAIT, 0, 20), (1, 0, 0), (2, 0, 0), (WAIT, 0, 0)])[0][1]
    depths = [depth for _, depth in units[0]]
    recorded(family, program, Recorder())
    late(family, program, depths)
    program.end()
    charged(family, depths)
    family.close()
    within("the module goes", "rmmod", "perfguard")
    run("insmod", MODULE)
    done()


main()
