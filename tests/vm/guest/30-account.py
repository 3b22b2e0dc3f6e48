# SPDX-License-Identifier: GPL-2.0
"""Where the time of a unit went."""

import os
import subprocess
import time

from family import NUMBER, Family, u32, u64
from perfguard import (EXACT, IS_SLOW, Audit, LONG, MS, VICTIM, Victim, done, near, note, ok,
                       run, skip)

# As in the uapi header.
ACCOUNT = 1 << 1


def unit(audit, victim, command, ms=20):
    """The line of the unit that a command takes, for so many ms at least."""
    victim.do(command)
    return audit.next_long("ended", ms)


def parts_sum(line):
    parts = line["time_ns"]
    return near(parts["cpu"] + parts["runqueue"] + parts["blocked"], line["elapsed_ns"], 0.01)


def note_parts(text, line):
    parts = line["time_ns"]
    note(f"{text}: elapsed {line['elapsed_ns'] / MS:.1f} ms, " +
         ", ".join(f"{name} {value / MS:.1f}" for name, value in parts.items()
                   if value is not None))


def has_disk():
    """A block device that is not in the page cache: a loop device."""
    return run("modprobe", "loop").returncode == 0 or os.path.exists("/dev/loop-control")


# Block I/O is accounted for threads that are started while this is set.
run("sysctl", "-w", "kernel.task_delayacct=1")
# All on one CPU, where a competitor can starve it.
os.sched_setaffinity(0, {0})
victim = Victim()
os.sched_setaffinity(0, {0, 1} if os.cpu_count() > 1 else {0})
audit = Audit("--duration", LONG, "--slower-than", "20ms", "-p", victim.pid)
audit.next("ready")
victim.do("nothing")
lines = []

line = unit(audit, victim, "spin 300", 300)
note_parts("busy", line)
lines.append(line)
ok(line["time_ns"]["cpu"] >= 0.9 * (line["elapsed_ns"] - line["time_ns"]["runqueue"]) and
   line["time_ns"]["cpu"] >= 0.5 * line["elapsed_ns"], "a busy unit shows CPU")

asked = time.monotonic_ns()
line = unit(audit, victim, "sleep 300", 300)
# A busy host may hold it up between the order to sleep and the sleep.
least, most = (300 * MS, 330 * MS) if EXACT else (150 * MS, time.monotonic_ns() - asked)
note_parts("sleeping", line)
lines.append(line)
ok(least <= line["time_ns"]["blocked"] <= most, "a sleeping unit shows blocked")

line = unit(audit, victim, "lock 300", 240)
note_parts("lock", line)
lines.append(line)
ok(line["time_ns"]["blocked"] >= (240 * MS if EXACT else 150 * MS),
   "a unit that waits for a lock shows blocked")

os.sched_setaffinity(0, {0})
burners = [subprocess.Popen([VICTIM, "burn"]) for _ in range(3)]
os.sched_setaffinity(0, {0, 1} if os.cpu_count() > 1 else {0})
line = unit(audit, victim, "spin 600", 600)
for burner in burners:
    burner.kill()
    burner.wait()
note_parts("starved", line)
lines.append(line)
ok(line["time_ns"]["runqueue"] >= 0.5 * line["elapsed_ns"], "a starved unit shows run queue")

def write(path, text):
    with open(path, "w", encoding="ascii") as handle:
        handle.write(text)


def slow_disk(pid):
    """A loop device, throttled for the process: alone it is memory.  None without."""
    if not has_disk():
        return None
    run("dd", "if=/dev/urandom", "of=/tmp/disk", "bs=1M", "count=16")
    device = run("losetup", "-f", "--show", "--direct-io=off", "/tmp/disk").stdout.strip()
    number = os.stat(device).st_rdev
    os.makedirs("/sys/fs/cgroup/slow", exist_ok=True)
    try:
        write("/sys/fs/cgroup/cgroup.subtree_control", "+io")
        write("/sys/fs/cgroup/slow/io.max",
              f"{os.major(number)}:{os.minor(number)} rbps=2097152")
        write("/sys/fs/cgroup/slow/cgroup.procs", str(pid))
    except OSError:
        return None
    return device


device = slow_disk(victim.pid)
if device:
    write("/proc/sys/vm/drop_caches", "3")
    line = unit(audit, victim, f"read {device}")
    note_parts("cold read", line)
    lines.append(line)
    ok((line["time_ns"]["block_io"] or 0) >= 0.5 * line["elapsed_ns"],
       "a cold read shows block I/O")
    ok(line["time_ns"]["block_io"] <= line["time_ns"]["blocked"],
       "which is a part of blocked")
    run("losetup", "-d", device)
elif ok(IS_SLOW, "there is a slow disk to read from"):
    skip("a cold read shows block I/O", "this kernel cannot throttle a device")

ok(all(parts_sum(line) for line in lines), "the parts sum to the elapsed time within 1 %")

# What the flags say counts from the thread's next wait on.
family = Family()
target = family.targets()[0]
for flags, wanted in ((target["flags"] & ~ACCOUNT, False), (target["flags"], True)):
    # As long as its places are recorded each wait goes the long way.
    for _ in range(100):
        victim.do("nothing")
    family.record(target["id"], flags)
    victim.do("nothing")
    line = unit(audit, victim, "sleep 300", 300)
    ok((line["time_ns"] is not None) == wanted,
       f"with the account {'on' if wanted else 'off'}, so are the times of a unit")

# So does the threshold, where a unit ends before the watch looks at it.
LATE, NR = 200 * MS // 1000, 100
before = family.targets()[0]["late"]
family.do("TARGET_SET", u32(NUMBER["A_TARGET_ID"], target["id"]),
          u64(NUMBER["A_TARGET_THRESHOLD_NS"], LATE))
for _ in range(NR):
    victim.do("spin 1")
victim.do("nothing")
late = family.targets()[0]["late"] - before
ok(late >= NR, f"a lower threshold holds at once: {late} of {NR} units are late")
audit.finish()
loop = audit.loops()[0]
parts = loop["time_ns"]
ok(near(parts["cpu"] + parts["runqueue"] + parts["blocked"], parts["elapsed"], 0.01),
   "so do the sums over the loop")
victim.end()
done()
