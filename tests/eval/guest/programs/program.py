# SPDX-License-Identifier: GPL-2.0
"""Base of all programs: a server in a directory of its own, and a mix of labelled requests.

A label names what the server has to do for a request, not how the request is spelt: requests
for the same work by other arguments have the same label, and a request that must fail has
another label than one that must succeed.  Each answer is checked to be the label's.
"""

import pathlib
import socket
import subprocess
import time


class Unexpected(Exception):
    """An answer that is not what the label says."""


class Program:
    """A server; a class per program says what is its own."""

    exe = ""
    # Of Debian, besides those that scripts/setup installs.
    packages = ()
    port = 0
    # How many requests a count load sends.
    requests = 2000
    # As many as the mix has tables, or the like, for.
    most_connections = 1000

    def __init__(self):
        self.dir = pathlib.Path("/tmp/eval") / type(self).__module__.rsplit(".", 1)[-1]
        self.process = None
        # The process whose loops serve.
        self.pid = 0

    def install(self):
        """On the host: make, for all guests, what would take long in one."""

    def command(self):
        raise NotImplementedError

    def configure(self):
        """Write what the server needs below self.dir."""

    def prepare(self):
        """Bring the running server into the state that the mix starts from."""

    def target(self):
        """Which processes pg-collect is to train on."""
        return ["-p", str(self.pid)]

    def serving_pid(self):
        return self.process.pid

    def start(self):
        self.dir.mkdir(parents=True, exist_ok=True)
        self.configure()
        subprocess.run(["chmod", "-R", "a+rwX", str(self.dir)], check=True)
        with open(self.dir / "output", "ab") as output:
            # Of its own group: Apache's parent process ends its whole group with itself.
            self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL,
                                            stdout=output, stderr=output, cwd=self.dir,
                                            start_new_session=True)
        self.wait_until(self.is_up, 90, "it does not listen")
        self.wait_until(self.serving_pid, 30, "it has no process that serves")
        self.pid = self.serving_pid()
        self.prepare()

    def is_up(self):
        if self.process.poll() is not None:
            raise SystemExit(f"{self.exe} ended: {(self.dir / 'output').read_text()[-800:]}")
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def wait_until(self, condition, seconds, otherwise):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise SystemExit(f"{self.exe}: {otherwise}")
            time.sleep(0.1)

    def child(self):
        """The only child of the process that was started, or 0."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        words = children.read_text().split()
        return int(words[0]) if len(words) == 1 else 0

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def connect(self):
        """A connection that is ready for requests."""
        connection = socket.create_connection(("127.0.0.1", self.port), 120)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def mix(self, number, count, seed):
        """The requests of connection number of count connections."""
        raise NotImplementedError

    def loads(self):
        """Plain loads: [(name, command, requests sent)]; the server counts their units."""
        return []


class Mix:
    """The labelled requests of one connection.  ask() makes one and checks its answer."""

    # From the most to the least frequent: Zipf's law goes by the place.
    labels = []

    def __init__(self, number, count, seed):
        self.number = number
        self.count = count
        # Makes new keys differ from those of another client before.
        self.seed = seed
        self.turn = 0

    def choose(self, label):
        """The label to use instead where the state forbids this one."""
        return label

    def request(self, label):
        """The bytes that ask for it."""
        raise NotImplementedError

    def answer(self, connection, label):
        """Read all of the answer; raises Unexpected."""
        raise NotImplementedError


def read_some(connection):
    data = connection.recv(262144)
    if not data:
        raise Unexpected("the connection was closed")
    return data


def draw(chance, labels, number):
    """So many of these labels, by Zipf's law."""
    return chance.choices(labels, [1 / rank for rank in range(1, len(labels) + 1)], k=number)


def ask(mix, connection, label):
    connection.sendall(mix.request(label))
    mix.answer(connection, label)
