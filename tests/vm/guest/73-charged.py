# SPDX-License-Identifier: GPL-2.0
"""What the module keeps of a program's threads is charged to the program's memory cgroup."""

import pathlib
import time

from family import Family
from perfguard import done, note, ok, wait_until
from scripted import WAIT
from tenants import CGROUPS, GUARD, OURS, THEIRS, all_of, make_profile, start

PROGRAMS, THREADS = 8, 16   # in each cgroup, and of each program
# Of each thread: its state is larger than this.
LEAST_BYTES = PROGRAMS * THREADS * 256
SCRIPT = [(WAIT, 0, 1000), (GUARD, 0, 0)] * 1000 + [(WAIT, 0, 0)]
DROP_CACHES = pathlib.Path("/proc/sys/vm/drop_caches")


def field(path, name):
    for line in path.read_text(encoding="ascii").splitlines():
        key, value = line.split()
        if key == name:
            return int(value)
    raise RuntimeError(f"{path} has no {name}")


def slab_bytes():
    """Of both cgroups.  The kernel adds them up now and then."""
    time.sleep(3)
    return [field(cgroup / "memory.stat", "slab_unreclaimable") for cgroup in (OURS, THEIRS)]


def nr_tasks(program):
    return len(list(pathlib.Path(f"/proc/{program.pid}/task").iterdir()))


def charges(family, profile):
    """Equally many threads in two cgroups; those of one are guarded, and it pays for them."""
    programs = [start(cgroup=cgroup) for cgroup in (OURS, THEIRS) * PROGRAMS]
    with all_of(*programs):
        for program in programs:
            program.begin(SCRIPT, THREADS)
        wait_until(lambda: all(nr_tasks(program) > THREADS for program in programs))
        before = slab_bytes()
        profile.arm(family, cgroup=OURS)
        ok(wait_until(lambda: family.targets()[0]["threads"] >= PROGRAMS * THREADS),
           f"{family.targets()[0]['threads']} threads in one cgroup are watched")
        ours, theirs = (now - then for now, then in zip(slab_bytes(), before))
        note(f"slab of that cgroup {ours:+}, of the other {theirs:+}")
        ok(ours >= LEAST_BYTES, "they are charged to it")
        ok(theirs < LEAST_BYTES, "and not to the other")


def nr_dying():
    """Cgroups that are removed and still referenced, be it by memory that was not freed."""
    DROP_CACHES.write_text("3", encoding="ascii")
    return field(CGROUPS / "cgroup.stat", "nr_dying_descendants")


def main():
    (CGROUPS / "cgroup.subtree_control").write_text("+memory", encoding="ascii")
    for cgroup in (OURS, THEIRS):
        cgroup.mkdir()
    family = Family()
    before = nr_dying()
    charges(family, make_profile())
    for cgroup in (OURS, THEIRS):
        wait_until(lambda cgroup=cgroup: not field(cgroup / "cgroup.events", "populated"))
        cgroup.rmdir()
    ok(wait_until(lambda: nr_dying() <= before, 30), "removed, the cgroups are given back")
    done()


main()
