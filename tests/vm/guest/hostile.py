# SPDX-License-Identifier: GPL-2.0
"""tests/vm/hostile, what it has to answer, and a profile for it."""

from perfguard import TOP
from profile import Context, Profile, Type
from record import Program, file_offset

HOSTILE = str(TOP / "build/tests/vm/hostile")
LIBM = "/lib/x86_64-linux-gnu/libm.so.6"
POLL = 7
MASK = (1 << 64) - 1


def work(n):
    x = n
    for _ in range(n):
        x = (x * 6364136223846793005 + 1442695040888963407) & MASK
    return x


def at_stack(n):
    x = n
    for _ in range(n):
        x = (x + 7) * 11 & MASK
    return x


def at_edges(n):
    return 5 * at_stack(n) & MASK


class Hostile(Program):
    """tests/vm/hostile, and a profile with guards in it, for which each unit is late."""

    def __init__(self, *command):
        super().__init__(*(command or (HOSTILE,)))
        words = self.answer().split()
        self.address, self.distance = int(words[0], 16), int(words[1])
        self.guards = [int(word, 16) for word in words[2:]]

    def profile(self, path=HOSTILE):
        offset = file_offset(self.pid, self.address)[1]
        guards = [(file_offset(self.pid, address)[1], 0) for address in self.guards]
        return Profile(path, [(offset, POLL, self.distance, self.distance + 8)], guards,
                       [Type(1, 100)], [Context(0, 8, [(0, 1, 1)])])

    def asked(self, line):
        """The number it answers, or None."""
        words = self.do(line).split()
        return int(words[1]) if len(words) == 2 else None
