# SPDX-License-Identifier: GPL-2.0
"""A disk that takes long for what the server writes before it answers."""

import subprocess
import time

from disk import Disk
from kinds import postgres
from programs.redis import encode, reply
from subjects.mariadb import BigServer
from subjects.redis_aof import SyncingServer

from . import LATE, Injection
from .sql import Mariadb, Postgres

# Of a write, and of the flush after it.
DELAY_MS = int(LATE * 1000 / 2)


class Redis(Injection):
    named = ("disk",)

    def usual(self):
        self.victim.sendall(encode("SET", "key:1", "xxx"))
        reply(self.victim)

    def inject(self):
        self.server.disk.delay(DELAY_MS)
        self.usual()
        self.server.disk.delay(0)


class OnDisk:
    """A server's directory is on a disk of its own."""

    def __init__(self):
        super().__init__()
        self.disk = Disk(256 * 1024)

    def configure(self):
        self.disk.mount(self.dir)
        super().configure()


class MariadbServer(OnDisk, BigServer):
    port = 7081

    def options(self, data=None):
        # Threads of its own write now and then, and who commits then waits for them.
        return super().options() + ["--innodb-flush-log-at-trx-commit=1",
                                    "--innodb-flush-log-at-timeout=2700",
                                    "--innodb-max-dirty-pages-pct-lwm=70"]


class PostgresServer(OnDisk, postgres.Server):
    port = 7082

    def configure(self):
        super().configure()
        subprocess.run(["chmod", "a+rwx", str(self.dir)], check=True)

    def command(self):
        words = super().command()
        return words[:-1] + [words[-1].replace("fsync=off", "fsync=on")]


class Commit:
    """A statement that is committed, to the disk."""

    named = ("disk",)

    def usual(self):
        self.query(self.victim, "update t0 set k = k + 1 where id = 5")

    def inject(self):
        # What the server writes because of the one before is not to be waited for.
        time.sleep(1)
        self.server.disk.delay(DELAY_MS)
        self.usual()
        self.server.disk.delay(0)


class MariadbDisk(Commit, Mariadb):
    pass


class PostgresDisk(Commit, Postgres):
    pass


INJECTIONS = {"redis": lambda: Redis(SyncingServer()),
              "mariadb": lambda: MariadbDisk(MariadbServer()),
              "postgres": lambda: PostgresDisk(PostgresServer())}
