# SPDX-License-Identifier: GPL-2.0
"""Late units are reported while they last, and their stacks name the function."""

import os
import pathlib

from perfguard import Audit, LONG, MS, Victim, done, exact_only, functions, note, ok

THRESHOLD = 50 * MS
SLACK = 20 * MS
DELAY_MS = 130
PLAN = [("sleep", "sleep_here"), ("spin", "spin_here"), ("lock", "lock_here")]
TIMES = 100
PAGE = 4096


def reports(audit):
    """The first report of the next unit, and its end; the same if it was over by then."""
    first = audit.next("late|ended")
    if first and first["kind"] == "ended":
        return first, first
    return first, audit.next("ended")


def has_hole(pid):
    """Whether of the eight pages from a sleeper's stack pointer on one is not in memory."""
    pointer = int(pathlib.Path(f"/proc/{pid}/syscall").read_text().split()[-2], 16)
    with open(f"/proc/{pid}/pagemap", "rb", buffering=0) as file:
        entries = os.pread(file.fileno(), 8 * 8, pointer // PAGE * 8)
    return any(entry < 1 << 7 for entry in entries[7::8])


exact_only("late units")
victim = Victim()
audit = Audit("--duration", LONG, "--slower-than", "50ms", "--top", 1000,
              "-p", victim.pid)
ok(audit.next("ready"), "the audit finds the loop")
victim.do("nothing")    # the thread slept when we came; from here on it is seen

reported, in_time, named, ended_right, worst = 0, 0, 0, 0, 0
for i in range(TIMES):
    word, function = PLAN[i % len(PLAN)]
    victim.do(f"{word} {DELAY_MS}")
    late, ended = reports(audit)
    ended_right += bool(ended) and ended["unit"] == late["unit"] and \
        ended["elapsed_ns"] >= DELAY_MS * MS
    if not late or late["kind"] == "ended":
        note(f"number {i}, {word}, was not reported while it ran: {late and late['elapsed_ns']} ns")
        continue
    reported += 1
    latency = late["elapsed_ns"] - THRESHOLD
    worst = max(worst, latency)
    in_time += 0 <= latency <= SLACK
    named += any(function in functions(stack) for stack in late["stacks"])
note(f"worst delay of a report: {worst / MS:.1f} ms")
ok(reported == TIMES, f"{reported} of {TIMES} late units reported while they ran")
ok(in_time == TIMES, f"{in_time} of {TIMES} within threshold + {SLACK // MS} ms")
ok(named == reported, f"{named} of {reported} stacks name the function")
ok(ended_right == TIMES, f"{ended_right} of {TIMES} ends reported, with the whole time")

victim.send(f"hole {10 * DELAY_MS}")
late = audit.next("late")
ok(has_hole(victim.pid), "a stack with a page that was never written to")
ok(late and functions(late["stacks"][0])[-1] == "_start" and late["stacks"][0]["end"] is None,
   "is complete all the same")
victim.answer()
audit.next("ended")

victim.do("sleep 20")
victim.do("spin 20")
victim.send("lock 0")
first = audit.next("late")
again = audit.next("late")
third = audit.next("late")
ok(first and "lock_here" in functions(first["stacks"][0]),
   "a unit that waits for ever is reported, and no shorter one before it")
ok(third and third["unit"] == again["unit"] == first["unit"] and
   again["elapsed_ns"] >= 2 * first["elapsed_ns"] and
   third["elapsed_ns"] >= 2 * again["elapsed_ns"],
   "it is reported again at growing intervals: never before its time has doubled")
ok(all(frame["module"] and frame["build_id"] and frame["offset"]
       for stack in first["stacks"] for frame in stack["frames"]),
   "each frame has module, build-id and offset")
ok(functions(first["stacks"][0])[-1] in ("_start", "clone3", "clone"),
   "the stack is complete to the thread's start")
audit.finish()
slow = audit.kind("slow")
ok(any(line["unit"] == first["unit"] for line in slow),
   "the unit that never ended is in the summary")
ok(audit.code == 0, "the audit ends cleanly on SIGINT")
victim.end()
done()
