# SPDX-License-Identifier: GPL-2.0
"""Another user's uprobe at a guarded instruction, and kernels that execute it again.

The program is one count: it exits with the number of times that its inc was executed.  The
kernel's own tracer is the other user, and notes what it saw before.
"""

import contextlib
import os
import pathlib
import re
import struct
import subprocess
import tempfile

from family import Family
from perfguard import IS_SLOW, MODULE, TOP, collect, done, note, ok, run, skip, wait_until
from profile import Context, Profile, Type, guards
from record import HIT, Recorder, kinds

BASE = 0x400000
HEADERS = 64 + 56
# xor %edi, %edi; inc %edi; mov $60, %eax; syscall
CODE = bytes.fromhex("31ff ffc7 b83c000000 0f05")
AT = HEADERS + 2
TRACEFS = pathlib.Path("/sys/kernel/tracing")
ONCE, AGAIN, FAILED = 1, 2, 3
MODULE_STEPS, STEPPED = 2, 3


def write_program(path):
    size = HEADERS + len(CODE)
    header = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack(
        "<HHIQQQIHHHHHH", 2, 62, 1, BASE + HEADERS, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0, BASE, BASE, size, size, 4096)
    path.write_bytes(header + segment + CODE)
    path.chmod(0o755)


def count(program):
    return subprocess.run([program], check=False).returncode


def event(order):
    """Python's own mode for this seeks, which the tracer's files refuse."""
    file = os.open(TRACEFS / "uprobe_events", os.O_WRONLY | os.O_APPEND)
    os.write(file, f"{order}\n".encode())
    os.close(file)


@contextlib.contextmanager
def traced(program):
    """The tracer's probe; yields a function that returns what it saw since: [(ip, edi)]."""
    event(f"p:foreign {program}:{AT:#x} ip=%ip:x64 edi=%di:x32")
    enable = TRACEFS / "events/uprobes/foreign/enable"
    enable.write_text("1", encoding="ascii")

    def seen():
        text = (TRACEFS / "trace").read_text(encoding="utf-8")
        (TRACEFS / "trace").write_text("", encoding="ascii")
        return [(int(ip, 16), int(edi, 16))
                for ip, edi in re.findall(r"foreign: .*ip=(0x\w+) edi=(0x\w+)", text)]

    seen()
    try:
        yield seen
    finally:
        enable.write_text("0", encoding="ascii")
        event("-:foreign")


@contextlib.contextmanager
def recorded(program):
    """A site of ours there; yields the recorder."""
    recorder = Recorder()
    target = recorder.watch("exe", program)
    recorder.ask("open")
    recorder.sites(target, program, [(AT, 1, 0)])
    try:
        yield recorder
    finally:
        recorder.off(target)
        recorder.end()


def compare(text, program, recorder, seen):
    """Run it once: who saw what."""
    result = count(program)
    views = seen()
    hits = len(kinds(recorder.read(), HIT))
    note(f"{text}: counted {result}, the other user saw {[tuple(map(hex, v)) for v in views]}")
    ok(result == 1, f"{text}: the instruction is executed once")
    ok(hits == 1, f"{text}: we see the hit")
    ok(views == [(BASE + AT, 0)], f"{text}: the other user sees the thread as it came")


def trial(wanted, text):
    """What the module found out at load, and how it is reported."""
    family = Family()
    stats = family.stats()
    family.close()
    note(f"trial {stats['trial']}, error {stats.get('trial_error', 0)}")
    ok(stats["trial"] == wanted and bool(stats.get("trial_error")) == (wanted == FAILED),
       f"the trial at load has found out: {text}")
    check, status = collect("check").stdout, collect("status").stdout
    line = next((one for one in check.splitlines() if " instructions " in one), "")
    note(line)
    ok(line.startswith("ok" if wanted == ONCE else "note"), "check reports it")
    bad = next((one.strip() for one in status.splitlines() if "are single-stepped" in one), "")
    ok(bool(bad) == (wanted != ONCE) and bad in line, "status does if it is bad")


def reload(before="true", after="true"):
    # What was taken off just now may still be on its way out.
    wait_until(lambda: run("rmmod", "perfguard").returncode == 0)
    result = run("sh", "-ec", f"{before}; insmod {MODULE}; {after}")
    if result.returncode:
        raise RuntimeError(result.stderr)


def guarded(program):
    """A guard's step mode follows who else is there."""
    family = Family()
    profile = Profile(str(program), [(HEADERS, 7, 8, 16)], [(AT, 0)], [Type(10**12, 1)],
                      [Context(0, 8, [(0, 10, 10)])])

    def mode(which):
        return guards(family, which)[0]["step_mode"]

    with traced(program) as seen:
        first = profile.arm(family, "first")[0]
        ok(mode(first) == STEPPED, "a guard at another user's place is stepped")
        ok(count(program) == 1 and seen() == [(BASE + AT, 0)], "and both see the thread as it came")
    ok(wait_until(lambda: mode(first) == MODULE_STEPS), "and no more when the other has gone")
    ok(count(program) == 1, "the instruction is still executed once")
    second = profile.arm(family, "second")[0]
    ok(wait_until(lambda: mode(second) == MODULE_STEPS),
       "a profile that takes the place of another is not stepped for that")
    collect("disarm", "--all")
    family.close()


def again(program):
    """Loaded where the kernel executes again what a handler has carried out."""
    if IS_SLOW:
        skip("a kernel without the correction", "the debug kernel does not load again.ko")
        return
    result = run("insmod", TOP / "build" / os.environ["PERFGUARD_KERNEL"] / "taker/again.ko")
    ok(result.returncode == 0, f"a kernel without the correction: {result.stderr.strip() or 'so'}")
    with recorded(program):
        ok(count(program) == 2, "on it, what a module carries out that was loaded before is executed twice")
    reload()
    trial(AGAIN, "the kernel executes an instruction again")
    with recorded(program) as recorder:
        ok(count(program) == 1 and len(kinds(recorder.read(), HIT)) == 1,
           "the module leaves it to such a kernel, which executes it once")
    run("rmmod", "again")
    reload()


def failed(program):
    """Loaded where no trial can be made: all is stepped."""
    reload("mount -t tmpfs none /proc", "umount /proc")
    trial(FAILED, "nothing")
    with recorded(program) as recorder:
        ok(count(program) == 1 and len(kinds(recorder.read(), HIT)) == 1,
           "without a trial, the instruction is executed once")
    reload()


def main():
    directory = tempfile.TemporaryDirectory()
    program = pathlib.Path(directory.name, "count")
    write_program(program)
    trial(ONCE, "this kernel executes an instruction once")
    ok(count(program) == 1, "the program counts to one")
    with recorded(program) as recorder:
        ok(count(program) == 1 and len(kinds(recorder.read(), HIT)) == 1, "and does with our site")
    with traced(program) as seen, recorded(program) as recorder:
        compare("attached before us", program, recorder, seen)
    with recorded(program) as recorder, traced(program) as seen:
        compare("attached after us", program, recorder, seen)
    with recorded(program) as recorder:
        with traced(program):
            pass
        ok(count(program) == 1 and len(kinds(recorder.read(), HIT)) == 1,
           "as before when the other user has gone")
    guarded(program)
    again(program)
    failed(program)
    done()


main()
