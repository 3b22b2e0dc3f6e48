# SPDX-License-Identifier: GPL-2.0
"""A profile as plain lists, and its way into the module without pg-collect."""

import dataclasses
import os
import struct

from family import NUMBER, attribute, number, u32, u64

PAPER, INLINE = 1, 2
WAIT, EVENT_SITE = 1, 3
NO_TYPE = 0


@dataclasses.dataclass
class Type:
    threshold_ns: int
    id: int
    base_early: int = 0
    base_final: int = 0
    least_final: int = -32768
    course: int = 0
    # Limits of the parts: own, cpu, blocked, block I/O; 0 is none.
    parts_ns: tuple = (0, 0, 0, 0)
    interrupt_ns: int = 0   # more for own and CPU time of one that was interrupted
    batch_ns: int = 0       # and of one that is not of the first event of its wait
    novel_ns: int = 0       # limit of own time of one that may be of no type
    # Limits of requests that it reads, and of their parts: working, peers, held.
    requests_ns: tuple = (0, 0, 0, 0)


@dataclasses.dataclass
class Context:
    guard: int
    depth: int
    weights: list           # [(type index, early, final)]
    course: int = 0


@dataclasses.dataclass
class Profile:
    """Of one executable; boundaries and guards are tuples as the spec orders their fields."""
    path: str
    boundaries: list        # [(return_offset, syscall, distance, rise)], all of one loop
    guards: list            # [(offset, sp_delta)]
    types: list
    contexts: list
    is_paper: bool = False
    is_inline: bool = False
    # A guard at which another loop, one that no thread is in, begins its events.
    foreign: int = -1
    event: int = -1         # a guard at which the loop begins its events

    def loops(self):
        """Packed event loops, and packed boundaries."""
        ids = [1]
        rows = [(offset, 0, WAIT, syscall, 0, distance, rise, 0, 0)
                for offset, syscall, distance, rise in self.boundaries]
        if self.event >= 0:
            rows.append((0, 0, EVENT_SITE, 0, 0, 0, 0, self.event, 0))
        if self.foreign >= 0:
            ids.append(2)
            rows += [(1, 1, WAIT, 0, 0, 0, 0, 0, 0),
                     (0, 1, EVENT_SITE, 0, 0, 0, 0, self.foreign, 0)]
        return ([struct.pack("<II", one, 0) for one in ids],
                [struct.pack("<QIIIIIIII", *row) for row in rows])

    def arrays(self):
        """{attribute: [packed structure]}"""
        courses, boundaries = self.loops()
        return {
            "LOOPS": courses,
            "BOUNDARIES": boundaries,
            "GUARDS": [struct.pack("<QIIII", offset, 0, delta, 0, 0)
                       for offset, delta in self.guards],
            "TYPES": [struct.pack("<QQQQQQQQQQQQIIhhhH", one.threshold_ns, *one.parts_ns,
                                  one.interrupt_ns, one.batch_ns, one.novel_ns, *one.requests_ns,
                                  one.course, one.id, one.base_early, one.base_final,
                                  one.least_final, 0)
                      for one in self.types],
            "CONTEXTS": [struct.pack("<IIII", one.course, one.guard, one.depth,
                                     len(one.weights)) for one in self.contexts],
            "WEIGHTS": [struct.pack("<HBB", *weight) for one in self.contexts
                        for weight in one.weights],
        }

    def load(self, family, name="test"):
        """The profile's id"""
        answer = family.do("PROFILE_NEW",
                           attribute(NUMBER["A_PROFILE_NAME"], name.encode() + b"\0"),
                           u64(NUMBER["A_PROFILE_HASH"], 1),
                           u32(NUMBER["A_PROFILE_FLAGS"],
                               PAPER * self.is_paper | INLINE * self.is_inline))
        profile = number(answer[NUMBER["A_PROFILE_ID"]])
        which = u32(NUMBER["A_PROFILE_ID"], profile)
        fd = os.open(self.path, os.O_RDONLY)
        family.do("PROFILE_ADD", which, u32(NUMBER["A_PROFILE_OBJECT_FD"], fd))
        os.close(fd)
        for kind, rows in self.arrays().items():
            for i in range(0, len(rows), 1000):
                family.do("PROFILE_ADD", which,
                          attribute(NUMBER["A_PROFILE_" + kind], b"".join(rows[i:i + 1000])))
        return profile

    def arm(self, family, name="test", target=None, **scope):
        """(profile id, target id, processes); in a scope as scoped() has it"""
        profile = self.load(family, name)
        wanted = [u32(NUMBER["A_PROFILE_ID"], profile)]
        if target is not None:
            wanted.append(u32(NUMBER["A_PROFILE_TARGET_ID"], target))
        wanted += scoped("PROFILE", **scope)
        answer = family.do("PROFILE_ARM", *wanted)
        return (profile, number(answer[NUMBER["A_PROFILE_TARGET_ID"]]),
                number(answer[NUMBER["A_PROFILE_PROCESSES"]]))


def scoped(prefix, uid=None, cgroup=None, pids=None, args=None):
    """The attributes of a scope: a user, the directory of a cgroup, ids, what arguments have."""
    wanted = []
    if uid is not None:
        wanted.append(u32(NUMBER[f"A_{prefix}_UID"], uid))
    if cgroup:
        wanted.append(u64(NUMBER[f"A_{prefix}_CGROUP_ID"], os.stat(cgroup).st_ino))
    if pids is not None:
        wanted.append(attribute(NUMBER[f"A_{prefix}_SCOPE_PIDS"], struct.pack(f"{len(pids)}I", *pids)))
    if args is not None:
        wanted.append(attribute(NUMBER[f"A_{prefix}_SCOPE_ARGS"], args.encode() + b"\0"))
    return wanted


def armed(family):
    return family.table("PROFILE_GET", "PROFILE")


def types(family, profile):
    return family.table("TYPE_GET", "TYPE", u32(NUMBER["A_TYPE_PROFILE_ID"], profile))


def guards(family, profile):
    return family.table("GUARD_GET", "GUARD", u32(NUMBER["A_GUARD_PROFILE_ID"], profile))
