# SPDX-License-Identifier: GPL-2.0
"""A neighbour's unit that takes long, in the loop that also has the request."""

from kinds import python
from programs import nginx, redis
from programs.redis import encode, reply

from . import Injection, beside, calibrated
from .http import Connection

FILES = 2000        # of a directory, to begin with


class Redis(Injection):
    named = ("queued",)

    def connect(self):
        super().connect()
        self.other = self.server.connect()
        self.turns = calibrated(self.compute, 200_000)

    def compute(self, turns):
        self.other.sendall(encode("EVAL", f"local n = 0 for i = 1, {turns} do n = n + i end "
                                  "return 1", 0))
        reply(self.other)

    def usual(self):
        self.victim.sendall(encode("GET", "key:1"))
        reply(self.victim)

    def inject(self):
        beside(lambda: self.compute(self.turns), self.usual)


class Python(Injection):
    named = ("queued",)

    def connect(self):
        super().connect()
        self.other = self.server.connect()
        self.turns = calibrated(self.compute, 50_000)

    @staticmethod
    def ask(connection, line):
        connection.sendall(line.encode() + b"\n")
        while not connection.recv(4096).endswith(b"\n"):
            pass

    def compute(self, turns):
        self.ask(self.other, f"sum {turns}")

    def usual(self):
        self.ask(self.victim, "sum 3")

    def inject(self):
        beside(lambda: self.compute(self.turns), self.usual)


class Nginx(Injection):
    """A listing of a directory of many files."""

    named = ("queued",)

    def connect(self):
        self.victim = Connection(self.server.port)
        self.other = Connection(self.server.port)
        self.make(FILES)
        self.make(calibrated(lambda _: self.list(), FILES))

    def make(self, files):
        root = self.server.dir / "www/list"
        for number in range(files):
            (root / f"of-many-{number}").touch()

    def list(self):
        self.other.get("/list/")

    def usual(self):
        self.victim.get("/small/1.html")

    def inject(self):
        beside(self.list, self.usual)


INJECTIONS = {"redis": lambda: Redis(redis.Server()), "python": lambda: Python(python.Server()),
              "nginx": lambda: Nginx(nginx.Server())}
