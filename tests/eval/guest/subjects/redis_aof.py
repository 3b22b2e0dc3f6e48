# SPDX-License-Identifier: GPL-2.0
"""redis-server with a log that is synced at each write: its loop waits for the disk."""

from disk import Disk
from programs.program import Unexpected
from programs.redis import Server, encode, reply

from .subject import Bug, ServerSubject, connect

KEYS = 80000
DELAY_MS = 150


class SyncingServer(Server):
    port = 7012

    def __init__(self):
        super().__init__()
        self.disk = Disk()

    def command(self):
        # No rewriting of the log: it would be another process' disk time.
        return [self.exe, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
                "--appendonly", "yes", "--appendfsync", "always",
                "--auto-aof-rewrite-percentage", "0", "--hz", "1", "--dir", str(self.dir)]

    def configure(self):
        self.disk.mount(self.dir)

    def prepare(self):
        super().prepare()
        with self.connect() as connection:
            for i in range(0, KEYS, 500):
                pairs = ((f"more:{j}", "xxx") for j in range(i, i + 500))
                connection.sendall(encode("MSET", *sum(pairs, ())))
                reply(connection)


class RedisAof(ServerSubject):
    # One thread of the host runs all of the guest: more of them would wait for each other.
    connections = 2
    packages = ("redis-server", "redis-tools", "dmsetup", "e2fsprogs")
    bugs = {
        "redis-aof": Bug("a write while the disk is slow", "blocking I/O outside any callback",
                         ("flushAppendOnlyFile",), "write", after="disk_is_fast"),
        "redis-save": Bug("SAVE of 80,000 keys", "blocking command in the event loop",
                          ("rdbSave",), "save"),
    }

    def make_server(self):
        return SyncingServer()

    def send(self, *words):
        with connect(self.server) as connection:
            connection.sendall(encode(*words))
            if reply(connection) != b"+OK\r\n":
                raise Unexpected(" ".join(words))

    def write(self):
        self.server.disk.delay(DELAY_MS)
        self.send("SET", "key:1", "xxx")
        self.disk_is_fast()

    def disk_is_fast(self):
        self.server.disk.delay(0)

    def save(self):
        self.send("SAVE")


def make():
    return RedisAof()
