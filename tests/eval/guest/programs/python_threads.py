# SPDX-License-Identifier: GPL-2.0
"""CPython's ThreadingHTTPServer: a thread for each connection, which is kept."""

import pathlib

from .http import HttpMix
from .program import Program

SERVER = pathlib.Path(__file__).resolve().parents[1] / "runtimes/server.py"


class ThreadsMix(HttpMix):
    pages = {
        "page": ("GET", "/", {}, 200),
        "sum": ("GET", "/sum", {}, 200),
        "sort": ("GET", "/sort", {}, 200),
    }


class Server(Program):
    exe = "/usr/bin/python3.11"
    packages = ("python3",)
    port = 7045

    def command(self):
        return [self.exe, str(SERVER), str(self.port), "HTTP/1.1"]

    def mix(self, number, count, seed):
        return ThreadsMix(number, count, seed)
