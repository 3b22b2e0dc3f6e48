# SPDX-License-Identifier: GPL-2.0
"""Users and cgroups of the tests, and tests/vm/scripted run by them."""

import contextlib
import os
import pathlib

from perfguard import MS, collect
from profile import Context, Profile, Type
from scripted import NAP, SCRIPTED, WAIT, Scripted

ALICE, BOB = 1001, 1002
CGROUPS = pathlib.Path("/sys/fs/cgroup")
OURS, THEIRS = CGROUPS / "pg-ours", CGROUPS / "pg-theirs"
BELOW = OURS / "below"
THRESHOLD = 3 * MS
NAP_US = 30000
GUARD = 1                   # the function that carries the guard
CALM = [(WAIT, 0, 20), (GUARD, 0, 0), (WAIT, 0, 20)]
LATE = [(WAIT, 0, 20), (GUARD, 0, 0), (NAP, 0, NAP_US), (WAIT, 0, 20)]


def join(cgroup, pid):
    (cgroup / "cgroup.procs").write_text(str(pid), encoding="ascii")


def start(uid=0, cgroup=CGROUPS, args=()):
    """The program, by a user in a cgroup from its exec on."""
    def enter():
        join(cgroup, os.getpid())
        os.setresuid(uid, uid, uid)

    return Scripted(*args, preexec_fn=enter)


def make_profile():
    """Units beyond THRESHOLD are late; one function has a guard."""
    program = Scripted()
    depth = program.run(CALM)[0][1][0][0][1]
    program.end()
    return Profile(SCRIPTED, [program.boundary()], [(program.offsets[GUARD], 0)],
                   [Type(THRESHOLD, 1)], [Context(0, depth, [(0, 10, 10)])])


@contextlib.contextmanager
def all_of(*programs):
    """Their end is the end of guarding, too."""
    yield programs
    for program in programs:
        program.end()
    collect("disarm", "--all")


def watched(family):
    return {one["pid"] for one in family.table("PROCESS_GET", "PROCESS")}


def alerts_of(family, program, since):
    return [one for one in family.alerts(since) if one.get("pid") == program.pid]
