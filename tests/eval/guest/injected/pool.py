# SPDX-License-Identifier: GPL-2.0
"""A pool whose threads are all busy with what others asked for."""

import shutil

from disk import Disk
from programs import nginx, program
from programs.mariadb import COM_QUERY, packet, read_result
from subjects.mariadb_pool import PoolServer

from . import LATE, PAUSE, Injection, beside, calibrated
from .http import Connection

HERE = __file__.rpartition("/")[0]
DELAY_MS = int((LATE + PAUSE) * 1000)
READ_BYTES = 1 << 20


class NginxServer(nginx.Server):
    """One thread reads files; those of a slow disk without the kernel's cache."""

    port = 7084

    def __init__(self):
        super().__init__()
        self.disk = Disk()

    def configure(self):
        super().configure()
        path = self.dir / "conf"
        path.write_text("thread_pool one threads=1;\n" + path.read_text().replace(
            "	sendfile on;", f"""\
	sendfile off;
	aio threads=one;
	directio {READ_BYTES};
	output_buffers 1 {READ_BYTES};"""))
        self.disk.mount(self.dir / "www/slow")
        (self.dir / "www/slow/large.txt").write_bytes(bytes(READ_BYTES))


class Nginx(Injection):
    named = ("handed over",)

    def connect(self):
        self.victim = Connection(self.server.port)
        self.other = Connection(self.server.port)
        self.server.disk.delay(0, DELAY_MS)

    def usual(self):
        self.victim.get("/small/1.html")

    def inject(self):
        beside(lambda: self.other.get("/slow/large.txt"), self.usual)


class NodeServer(program.Program):
    exe = shutil.which("node") or "node"
    packages = ("nodejs",)
    port = 7085

    def command(self):
        return ["env", "UV_THREADPOOL_SIZE=1", self.exe, f"{HERE}/pool.js", str(self.port)]


class Node(Injection):
    """Its one thread computes keys."""

    named = ("handed over",)

    def connect(self):
        self.victim = Connection(self.server.port)
        self.other = Connection(self.server.port)
        # Its first ones take longer.
        self.compute(1000)
        self.turns = calibrated(self.compute, 20_000)

    def compute(self, turns):
        self.other.get(f"/{turns}")

    def usual(self):
        self.victim.get("/10")

    def inject(self):
        beside(lambda: self.compute(self.turns), self.usual)


class MariadbServer(PoolServer):
    port = 7086

    def options(self, data=None):
        return super().options() + ["--thread-pool-size=1", "--thread-pool-oversubscribe=1",
                                    "--thread-pool-stall-limit=60000"]


class Mariadb(Injection):
    """Its threads read the statements: until then they are queued."""

    named = ("queued", "handed over")

    def connect(self):
        super().connect()
        self.other = self.server.connect()
        self.turns = calibrated(self.compute, 200_000)

    def query(self, connection, text):
        connection.sendall(packet(0, bytes([COM_QUERY]) + text.encode()))
        read_result(connection)

    def compute(self, turns):
        self.query(self.other, f"do benchmark({turns}, sha1('a'))")

    def usual(self):
        self.query(self.victim, "do 1")

    def inject(self):
        beside(lambda: self.compute(self.turns), self.usual)


INJECTIONS = {"nginx": lambda: Nginx(NginxServer()), "node": lambda: Node(NodeServer()),
              "mariadb": lambda: Mariadb(MariadbServer())}
