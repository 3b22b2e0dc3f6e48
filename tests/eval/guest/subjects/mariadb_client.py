# SPDX-License-Identifier: GPL-2.0
"""The mariadb client with a defect (build-mariadb-client), which reads statements from a pipe.

Its server is not guarded.  What it reads comes from a named pipe that never ends, and its answers
go to another, so that the processes of the load and of the bugs can be its users in turn.
"""

import os
import pathlib
import random
import select
import signal
import subprocess
import time

from programs import mariadb
from programs.program import Unexpected

from .subject import Bug, Subject

CACHE = os.environ.get("PERFGUARD_CACHE") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "perfguard")
CLIENT = pathlib.Path(CACHE) / "eval/mariadb-client"
# Tuples of the long line, and the most in a line of the normal load.
LONG = 8000
MOST = 100
ANSWER_SECONDS = 120


class Server(mariadb.Server):
    port = 7013

    def prepare(self):
        super().prepare()
        with self.connect() as connection:
            connection.sendall(mariadb.packet(0, b"\3create table x (a int, b varchar(20))"
                                                 b" engine=memory"))
            mariadb.read_result(connection)


def insert(first, tuples):
    return "insert into x values " + ",".join(f"({i},'v{i}')"
                                              for i in range(first, first + tuples)) + ";"


class MariadbClient(Subject):
    packages = ("mariadb-server", "mariadb-client", "cmake", "dpkg-dev", "libncurses-dev",
                "libssl-dev", "zlib1g-dev")
    builds = ("build-mariadb-client",)
    bugs = {
        "mariadb-client-line": Bug(f"one line of {LONG:,} tuples, in a multi-byte character set",
                                   "quadratic algorithm", ("my_strcasecmp_mb",), "long_line",
                                   paper="MySQL 15811"),
    }

    def __init__(self):
        super().__init__()
        self.server = Server()
        self.server.dir = self.dir / "server"
        self.process = None
        self.turn = 0
        self.said = b""

    def pipe(self, name):
        """Opened for reading and writing it has no end, even if others open and close it."""
        return os.open(self.dir / name, os.O_RDWR)

    def start(self):
        self.server.start()
        for name in ("in", "out"):
            (self.dir / name).unlink(missing_ok=True)
            os.mkfifo(self.dir / name)
        self.lines, self.answers = self.pipe("in"), self.pipe("out")
        with open(self.dir / "errors", "wb") as errors:
            self.process = subprocess.Popen(
                [str(CLIENT), "--no-defaults", "--host=127.0.0.1", f"--port={self.server.port}",
                 "--user=eval", "--default-character-set=gbk", "--batch", "--unbuffered",
                 "--skip-column-names", "d"],
                stdin=self.lines, stdout=self.answers, stderr=errors)
        self.pid = self.process.pid
        self.execute("select 0;")

    def execute(self, statements):
        """Execute statements; returns when the client answers the mark behind them."""
        self.turn += 1
        mark = f"mark-{os.getpid()}-{self.turn}"
        data = f"{statements} select '{mark}';\n".encode()
        end = time.monotonic() + ANSWER_SECONDS
        os.set_blocking(self.lines, True)
        while data:
            data = data[os.write(self.lines, data):]
        while f"{mark}\n".encode() not in self.said:
            if not select.select([self.answers], [], [], max(0, end - time.monotonic()))[0]:
                raise Unexpected(f"no answer to {statements[:60]}: "
                                 f"{(self.dir / 'errors').read_text()[-300:]}")
            self.said = self.said[-len(mark):] + os.read(self.answers, 65536)
        self.said = b""

    def statement(self, chance):
        row = chance.randrange(1, mariadb.ROWS - 20)
        kind = chance.choices(["insert", "select", "rows", "update", "lines", "comment", "delete",
                               "two", "charset"], [8, 4, 3, 3, 2, 1, 1, 2, 1])[0]
        return {
            "insert": lambda: insert(row, chance.randrange(1, MOST)),
            "select": lambda: f"select c from t1 where id = {row};",
            "rows": lambda: f"select * from t1 where id between {row} and {row + 19};",
            "update": lambda: f"update t1 set n = n + 1 where id = {row};",
            "lines": lambda: f"select c\n  from t1\n  where id = {row};",
            "comment": lambda: f"/* nothing to do */ -- {row}\n",
            "delete": lambda: "delete from x;",
            "two": lambda: f"select c from t1 where id = {row}; {insert(row, 3)}",
            "charset": lambda: "\\C gbk\n",
        }[kind]()

    def load(self, seed):
        stop = []
        signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
        chance = random.Random(seed)
        while not stop:
            self.execute(self.statement(chance))

    def ask(self, number, seed):
        chance = random.Random(seed)
        for _ in range(number):
            self.execute(self.statement(chance))

    def long_line(self):
        self.execute("delete from x;")
        self.execute(insert(1, LONG))

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        self.server.stop()


def make():
    return MariadbClient()
