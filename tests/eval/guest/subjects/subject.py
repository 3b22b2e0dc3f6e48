# SPDX-License-Identifier: GPL-2.0
"""Base of all subjects of the evaluation: a program with its normal load, and its bugs.

A subject is a real program of Debian's, stripped as it comes.  It is trained on its normal load
alone.  Each of its bugs is a request, or an action, that makes this program slow by a defect or
a weakness of its own, together with the functions that a report has to name.

The runner (slow.py) makes one object, calls start(), and then runs load() in processes of their
own and bugs in its own.
"""

import dataclasses
import os
import pathlib
import random
import sys
import time

from programs.program import ask, draw

GUEST = pathlib.Path(__file__).resolve().parents[1]


@dataclasses.dataclass
class Bug:
    """One slow behaviour.

    root_cause names functions, any of which identifies the cause: as in the binary's dynamic
    symbols; "NAME>" stands for a function that NAME calls and that has no name, and
    "MODULE:" for any function of a library (its file's name up to ".so").
    trigger is a method of the subject: it makes the program slow once and returns when that is
    over.
    """

    title: str
    kind: str
    root_cause: tuple
    trigger: str
    # The bug of the paper's Table 3 that it stands for.
    paper: str = ""
    repeats: int = 3
    # A method to call before each time, which is not judged.
    before: str = ""
    # Put it right again before anything else is tried.
    after: str = ""


class Subject:
    """Base of a class per program."""

    # {name of the bug, as in BUG=: Bug}
    bugs = {}
    # Debian's packages of the program and of what makes its load.
    packages = ()
    # Scripts of tests/eval/ that have to be run before, outside of the guest.
    builds = ()
    # How long to train, and to run the load that training has not seen, in s of a guest that
    # makes 10^9 instructions in each.
    train_seconds = 12
    normal_seconds = 6
    # Or so long in each stage, and without a load while training reads and learns: for those
    # whose load takes much of the CPU from it.
    stage_seconds = 0
    # Requests for measuring the overhead, 0 where it cannot be measured by requests.
    cost_requests = 400

    def __init__(self):
        name = type(self).__module__.rsplit(".", 1)[-1]
        self.name = name
        self.dir = pathlib.Path("/tmp/eval") / name
        # The process that is guarded.
        self.pid = 0

    def install(self):
        """On the host: nothing takes long in a guest."""

    def start(self):
        """Start the program and set self.pid; ready for its load afterwards."""
        raise NotImplementedError

    def target(self):
        """The options of pg-collect train that name it."""
        return ["-p", str(self.pid)]

    def armed_by(self):
        """Options of pg-collect arm."""
        return []

    def load(self, seed):
        """Its normal load, until the process is ended by SIGTERM.

        Another seed asks for other things of the same kinds.
        """
        raise NotImplementedError

    def ask(self, number, seed):
        """A number of requests of the normal load, one after the other."""
        raise NotImplementedError

    def stop(self):
        raise NotImplementedError

    def wait_until(self, condition, seconds, otherwise):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise SystemExit(f"{self.name}: {otherwise}")
            time.sleep(0.1)


class ServerSubject(Subject):
    """A Program and its labelled mix, sent by client.py."""

    connections = 4

    def __init__(self):
        super().__init__()
        self.server = self.make_server()
        self.server.dir = self.dir

    def make_server(self):
        raise NotImplementedError

    def start(self):
        self.server.start()
        self.pid = self.server.pid

    def client(self, connections, seed, *options):
        return [sys.executable, str(GUEST / "client.py"), f"subject:{self.name}",
                "--connections", str(connections), "--seed", str(seed), *map(str, options)]

    def load(self, seed):
        command = self.client(self.connections, seed)
        os.execv(command[0], command)

    def ask(self, number, seed):
        """The same labels in the same order, whatever the seed; no process is started."""
        mix = self.server.mix(0, 1, seed)
        with connect(self.server) as connection:
            for label in draw(random.Random(number), mix.labels, number):
                ask(mix, connection, mix.choose(label))

    def ask_one(self, mix, label):
        """A single request, which may take long."""
        with connect(self.server) as connection:
            ask(mix, connection, label)

    def stop(self):
        self.server.stop()


def connect(server):
    """A connection that may wait long for an answer."""
    connection = server.connect()
    connection.settimeout(300)
    return connection
