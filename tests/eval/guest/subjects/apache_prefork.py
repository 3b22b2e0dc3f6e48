# SPDX-License-Identifier: GPL-2.0
"""Apache httpd, prefork MPM without keep-alive: a process for each connection, which waits for
the next one in accept4."""

import pathlib

from programs.http import HttpMix
from programs.program import Unexpected

from . import apache

PROCESSES = 4


class Connection:
    """Looks like one that is kept; each request has one of its own."""

    def __init__(self, connect):
        self.connect = connect
        self.socket = connect()
        self.timeout = self.socket.gettimeout()
        self.recv = self.socket.recv
        self.is_used = False

    def sendall(self, data):
        if self.is_used:
            self.socket = self.connect()
            self.socket.settimeout(self.timeout)
            self.recv = self.socket.recv
        self.is_used = True
        self.socket.sendall(data)

    def settimeout(self, seconds):
        self.timeout = seconds
        self.socket.settimeout(seconds)

    def getsockname(self):
        return self.socket.getsockname()

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class ClosedMix(HttpMix):
    """The end of the connection is the end of the answer."""

    def answer(self, connection, label):
        data = b"".join(iter(lambda: connection.recv(262144), b""))
        # The process waits for it.
        connection.close()
        words = data.split(b"\r\n", 1)[0].split()
        if len(words) < 2 or int(words[1]) != self.pages[label][3]:
            raise Unexpected(f"{label}: {words}")


class Mix(ClosedMix):
    pages = apache.Mix.pages


class SlowMix(ClosedMix):
    pages = apache.SlowMix.pages


class Server(apache.Server):
    port = 7013
    sizes = {"big": apache.BIG}
    modules = ["mpm_prefork", *apache.MODULES]
    processes = f"""
StartServers {PROCESSES}
ServerLimit {PROCESSES}
MaxRequestWorkers {PROCESSES}
MinSpareServers 1
MaxSpareServers {PROCESSES}
KeepAlive Off
"""

    def serving_pid(self):
        """One of them, once all are there."""
        pid = self.process.pid
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return int(children[0]) if len(children) == PROCESSES else 0

    def connect(self):
        return Connection(super().connect)

    def mix(self, number, count, seed):
        return Mix(number, count, seed)


class ApachePrefork(apache.Apache):
    bugs = {f"apache-prefork-{name}": apache.BUGS[name]
            for name in ("propfind", "regex")}
    # Some processes are to spare, as such a server has them: they wait for a client.
    connections = PROCESSES // 2

    def make_server(self):
        return Server()

    def target(self):
        return ["-e", Server.exe]

    def slow_mix(self):
        return SlowMix(0, 1, 0)


def make():
    return ApachePrefork()
