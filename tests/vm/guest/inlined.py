# SPDX-License-Identifier: GPL-2.0
"""A program whose sites can jump (tests/vm/inlined.c), and a recorder of them."""

import os
import select

from perfguard import TOP
from record import OWNED, RECORD, Program, Recorder, file_offset, mappings

INLINED = str(TOP / "build/tests/vm/inlined")
INLINE = 2
NAMES = ("plain", "rip", "rsp", "call", "jump", "branch", "fs")
HEADS = (0xe9, 0xe9, 0xe9, 0xe8, 0xe9, 0xe9, 0xe9)


class Inlined(Program):
    """tests/vm/inlined, and where its sites are."""

    def __init__(self):
        super().__init__(INLINED)
        self.sites = [(int(address, 16), int(delta)) for address, delta in
                      (word.split(":") for word in self.answer().split())]

    def offsets(self):
        """[(offset, id, sp_delta)] as the recorder takes them; ids count from 1."""
        return [(file_offset(self.pid, address)[1], i + 1, delta)
                for i, (address, delta) in enumerate(self.sites)]

    def bytes(self, pid=None):
        """The first byte of each site in the memory of a process."""
        with open(f"/proc/{pid or self.pid}/mem", "rb", buffering=0) as memory:
            return tuple(os.pread(memory.fileno(), 1, address)[0] for address, _ in self.sites)


class Setting:
    """A recorder with the stream open, the program, and its target."""

    def __init__(self, kind="pid", flags=OWNED | RECORD, site_flags=INLINE):
        self.recorder = Recorder()
        self.program = Inlined()
        self.target = self.recorder.watch(kind, self.program.pid if kind == "pid" else INLINED,
                                          flags)
        self.recorder.ask("open")
        self.answer = self.recorder.sites(self.target, INLINED, self.program.offsets(), site_flags)

    def off(self):
        return self.recorder.off(self.target)

    def end(self):
        self.program.end()
        self.recorder.end()


def mapped(pid):
    """The names of the module's mappings in a process."""
    return [path for *_, path in mappings(pid) if "perfguard-" in path]


def is_ready(program):
    return select.select([program.process.stdout], [], [], 0)[0]
