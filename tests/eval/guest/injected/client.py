# SPDX-License-Identifier: GPL-2.0
"""A client that takes its time to read a large answer: that is no time of the server's."""

import socket
import subprocess
import time

from programs import nginx, redis
from programs.mariadb import COM_QUERY, packet
from programs.redis import encode, reply
from subjects import mariadb

from . import LATE, Injection
from .http import Connection

BYTES = 2 << 20     # more than the kernel takes
SEND_BYTES, RECEIVE_BYTES = 262144, 65536


def read_late(connection, nr_bytes):
    """The whole answer, after a pause."""
    time.sleep(LATE)
    while nr_bytes > 0:
        data = connection.recv(1 << 20)
        if not data:
            raise RuntimeError("the connection was closed")
        nr_bytes -= len(data)


class Reader(Injection):
    named = ("client",)

    def start(self):
        subprocess.run(["sysctl", "-qw", f"net.ipv4.tcp_wmem=4096 16384 {SEND_BYTES}"], check=True)
        super().start()


class Nginx(Reader):
    def connect(self):
        (self.server.dir / "www/small/large.txt").write_bytes(bytes(BYTES))
        self.victim = Connection(self.server.port, RECEIVE_BYTES)

    def usual(self):
        self.victim.get("/small/1.html")

    def inject(self):
        self.victim.get("/small/large.txt", LATE)


class Redis(Reader):
    def connect(self):
        super().connect()
        self.victim.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
        self.victim.sendall(encode("SET", "large", bytes(BYTES)))
        reply(self.victim)

    def usual(self):
        self.victim.sendall(encode("GET", "key:1"))
        reply(self.victim)

    def inject(self):
        self.victim.sendall(encode("GET", "large"))
        read_late(self.victim, BYTES + len(f"${BYTES}\r\n\r\n"))


class Mariadb(Reader):
    """Its threads wait in the write; it writes a packet of the protocol at a time."""

    def connect(self):
        super().connect()
        self.victim.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)

    def ask(self, text):
        self.victim.sendall(packet(0, bytes([COM_QUERY]) + text.encode()))

    def usual(self):
        self.ask("do 1")
        self.victim.recv(4096)

    def inject(self):
        rows, size = BYTES >> 16, 1 << 16
        self.ask(f"select repeat('a', {size}) from seq_1_to_{rows}")
        read_late(self.victim, rows * (size + 4 + 4))
        # Names of columns, and the end.
        self.victim.settimeout(0.2)
        try:
            while self.victim.recv(65536):
                pass
        except TimeoutError:
            self.victim.settimeout(None)


INJECTIONS = {"nginx": lambda: Nginx(nginx.Server()), "redis": lambda: Redis(redis.Server()),
              "mariadb": lambda: Mariadb(mariadb.BigServer())}
