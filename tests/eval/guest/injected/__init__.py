# SPDX-License-Identifier: GPL-2.0
"""Delays of one kind each, injected into servers; a file for each cause.

An Injection has a server, and a client of it, the victim, whose requests are quick.  inject()
makes one of them late by the cause, and nothing else.
"""

import importlib
import threading
import time

CAUSES = ("upstream", "pool", "queue", "client", "disk", "lock")
LATE = 0.35         # by so much a request is made late, s
PAUSE = 0.05        # the neighbour is at work by then


class Injection:
    """Base of all; a class is one server with one cause."""

    # How the part may be called that has most of the time.
    named = ()
    # Of Debian, besides those of the server.
    packages = ()

    def __init__(self, server):
        self.server = server

    def start(self):
        self.server.start()
        self.connect()

    def connect(self):
        """Connect the victim, and whom the injection needs besides."""
        self.victim = self.server.connect()

    def address(self):
        return "{}:{}".format(*self.victim.getsockname())

    def usual(self):
        """One request of the victim that nothing delays."""
        raise NotImplementedError

    def inject(self):
        """One that is delayed; returns once it is answered."""
        raise NotImplementedError

    def stop(self):
        self.server.stop()


def beside(other, own):
    """Call own() a while after other() has begun, and return when both are done."""
    thread = threading.Thread(target=other)
    thread.start()
    time.sleep(PAUSE)
    own()
    thread.join()


def calibrated(call, number, seconds=LATE + PAUSE):
    """What call(number) is to be called with, to take that long."""
    begin = time.monotonic()
    call(number)
    return int(number * seconds / (time.monotonic() - begin))


def names(cause):
    return list(importlib.import_module(f"injected.{cause}").INJECTIONS)


def load(cause, name):
    return importlib.import_module(f"injected.{cause}").INJECTIONS[name]()
