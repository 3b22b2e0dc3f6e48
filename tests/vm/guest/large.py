# SPDX-License-Identifier: GPL-2.0
"""Processes of a large program, about which requests take long, and such a request."""

import os
import shutil
import subprocess
import threading
import time

from family import Refused
from profile import Context, Profile, Type
from record import changed_bytes, sites_of

PYTHON = os.path.realpath("/usr/bin/python3")


class Large:
    """Some processes of a large program that is nobody else's; they wait for input."""

    def __init__(self, directory, nr_processes, nr_sites):
        self.path = shutil.copy(PYTHON, os.path.join(directory, "program"))
        self.processes = [subprocess.Popen([self.path, "-c", "print(flush=True); input()"],
                                           stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                           stderr=subprocess.DEVNULL)
                          for _ in range(nr_processes)]
        for process in self.processes:
            process.stdout.readline()
        self.guards = sites_of(self.path)[:nr_sites]
        self.sites = [(offset, i, delta) for i, (offset, delta) in enumerate(self.guards)]

    def profile(self):
        """No thread waits where it says, so nothing is inferred."""
        return Profile(self.path, [(1, 0, 8, 16)], self.guards, [Type(1 << 40, 1)],
                       [Context(0, 8, [(0, 1, 1)])])

    def changed(self):
        return sum(changed_bytes(process.pid, self.path) for process in self.processes)

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()


class Order(threading.Thread):
    """One that takes long."""

    def __init__(self, order, *arguments):
        super().__init__()
        self.order, self.arguments = order, arguments
        self.result = self.began = self.ended = None

    def run(self):
        self.began = time.monotonic()
        try:
            self.result = self.order(*self.arguments)
        except Refused as error:
            self.result = error
        self.ended = time.monotonic()

    def is_under_way(self):
        return self.began is not None and self.ended is None
