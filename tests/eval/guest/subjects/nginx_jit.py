# SPDX-License-Identifier: GPL-2.0
"""nginx as in nginx.py, but with its expressions compiled: code without unwind information."""

from . import nginx
from .subject import Bug

# Compiled code is about ten times as fast, and ends with an error soon after this length.
AGENT = "a" * 33


class SlowMix(nginx.Mix):
    """The requests of the bug."""

    pages = {"map": ("GET", "/agent", {"User-Agent": AGENT + "!"}, 200)}


class Server(nginx.Server):
    port = 7017
    pcre_jit = "on"


class NginxJit(nginx.Nginx):
    bugs = {
        "nginx-jit": Bug("compiled expression of a map that backtracks", "exponential algorithm",
                         nginx.REGEX, "map"),
    }
    slow_mix = SlowMix

    def make_server(self):
        return Server()


def make():
    return NginxJit()
