# SPDX-License-Identifier: GPL-2.0
"""A wait that was stopped begins again as restart_syscall, and is the loop's all the same."""

import os
import pathlib
import signal

from perfguard import TOP, Audit, LONG, MS, done, is_in, note, ok, wait_until
from record import Program

# What makes the places known, so that waits go the short way.
WARM = 300
POLL = 7


def do(program, line):
    """Come after the loop's own wait has begun: else the loop sleeps elsewhere only."""
    program.do(line)
    while pathlib.Path(f"/proc/{program.pid}/syscall").read_text().split()[0] != str(POLL):
        os.sched_yield()


def stop(program):
    program.process.send_signal(signal.SIGSTOP)
    ok(wait_until(lambda: is_in(program.pid, "T")), "it stops in its wait")
    program.process.send_signal(signal.SIGCONT)
    ok(wait_until(lambda: is_in(program.pid, "S")), "and waits again")


program = Program(TOP / "build/tests/vm/one-site")
audit = Audit("--duration", LONG, "--slower-than", "20ms", "-p", program.pid)
audit.next("ready")
for _ in range(WARM):
    do(program, "nothing")
do(program, "spin 100")
ok(audit.next_long("ended", 100), "a late unit is reported")
for turn in range(3):
    stop(program)
    do(program, "spin 300")
    line = audit.next_long("ended", 300)
    if ok(line, "a late unit after a wait that was stopped is reported"):
        note(f"it took {line['elapsed_ns'] / MS:.0f} ms")
    for _ in range(WARM):
        do(program, "nothing")
audit.finish()
program.end()
done()
