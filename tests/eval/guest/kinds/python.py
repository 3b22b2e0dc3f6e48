# SPDX-License-Identifier: GPL-2.0
"""A server in CPython, one thread over select(): evaluate.py."""

import pathlib

from programs.program import Mix, Program, Unexpected, read_some


class PythonMix(Mix):
    # What to ask, and how the answer begins.
    asks = {"sum": ("sum 3*", "="), "sort": ("sort 2*", "["), "match": ("match u*@host.eval", "host"),
            "json": ("json *", "{"), "digest": ("digest text*", ""), "unknown": ("nothing *", "?"),
            "error": ("sum x*", "!")}
    labels = list(asks)

    def request(self, label):
        self.turn += 1
        return self.asks[label][0].replace("*", str(self.turn % 50)).encode() + b"\n"

    def answer(self, connection, label):
        data = b""
        while not data.endswith(b"\n"):
            data += read_some(connection)
        if not data.decode().startswith(self.asks[label][1]):
            raise Unexpected(f"{label}: {data[:80]}")


class Server(Program):
    exe = "/usr/bin/python3.11"
    packages = ("python3",)
    port = 7030

    def command(self):
        return [self.exe, str(pathlib.Path(__file__).with_name("evaluate.py")), str(self.port)]

    def mix(self, number, count, seed):
        return PythonMix(number, count, seed)
