# SPDX-License-Identifier: GPL-2.0
"""A lock that another client, or another process, holds."""

import fcntl
import subprocess
import threading

from kinds import postgres
from programs import apache, program
from subjects.mariadb import BigServer

from . import LATE, PAUSE, Injection, beside
from .http import Connection
from .sql import Mariadb, Postgres

HERE = __file__.rpartition("/")[0]


class Row:
    """Of a table, that another transaction has changed."""

    named = ("lock",)

    def connect(self):
        super().connect()
        self.other = self.server.connect()

    def update(self, client):
        self.query(client, "update t0 set k = k + 1 where id = 5")

    def usual(self):
        self.update(self.victim)

    def wait(self, seconds):
        self.query(self.other, "begin")
        self.update(self.other)
        commit = threading.Timer(seconds, self.query, (self.other, "commit"))
        commit.start()
        self.update(self.victim)
        commit.join()

    def inject(self):
        self.wait(LATE)


class MariadbRow(Row, Mariadb):
    pass


class PostgresRow(Row, Postgres):
    """Its processes wait for each other's signals; who has the row is the other client's."""

    def connect(self):
        super().connect()
        self.named = (f"waiting for process {self.value(self.other, 'select pg_backend_pid()')}",)

    def usual(self):
        # That it waits there is not known before it has.
        self.wait(PAUSE)


class PythonServer(program.Program):
    """A thread for each connection."""

    exe = "/usr/bin/python3.11"
    packages = ("python3",)
    port = 7083

    def command(self):
        return [self.exe, "-P", "-B", f"{HERE}/locks.py", str(self.port), str(self.dir / "lock")]


class Python(Injection):
    """flock() of a file."""

    named = ("lock",)

    def connect(self):
        self.victim = Connection(self.server.port)

    def usual(self):
        self.victim.get("/")

    def inject(self):
        with open(self.server.dir / "lock", "w", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            unlock = threading.Timer(LATE, fcntl.flock, (file, fcntl.LOCK_UN))
            unlock.start()
            self.usual()
            unlock.join()


class ApacheServer(apache.Server):
    """Names of files are looked up by a program, by one thread at a time."""

    port = 7087
    packages = ("apache2",)
    modules = apache.MODULES + ["rewrite"]

    def write_conf(self, settings):
        late = f"case $name in slow) sleep {LATE + PAUSE};; esac"
        program_ = self.dir / "names"
        program_.write_text(f"#!/bin/sh\nwhile read -r name; do {late}; echo 1; done\n")
        program_.chmod(0o755)
        super().write_conf(settings + f"""
RewriteEngine On
RewriteMap names prg:{program_}
RewriteRule ^/named/(.*)$ /small/${{names:$1}}.html [PT]
""")

    def serving_pid(self):
        """The other child is the program."""
        done = subprocess.run(["pgrep", "-P", str(self.process.pid), "apache2"], text=True,
                              capture_output=True, check=False)
        return int(done.stdout or 0)


class Apache(Injection):
    """What its threads share a program by."""

    named = ("lock",)

    def connect(self):
        self.victim = Connection(self.server.port)
        self.other = Connection(self.server.port)

    def usual(self):
        self.victim.get("/named/fast")

    def inject(self):
        beside(lambda: self.other.get("/named/slow"), self.usual)


INJECTIONS = {"mariadb": lambda: MariadbRow(BigServer()),
              "apache": lambda: Apache(ApacheServer()),
              "postgres": lambda: PostgresRow(postgres.Server()),
              "python": lambda: Python(PythonServer())}
