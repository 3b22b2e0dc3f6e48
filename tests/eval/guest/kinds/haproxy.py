# SPDX-License-Identifier: GPL-2.0
"""haproxy with one thread, before a lighttpd."""

from programs.http import HttpMix
from programs.program import Program

from . import lighttpd


class HaproxyMix(HttpMix):
    pages = {
        "passed on": ("GET", "/small/*.html", {}, 200),
        "rewritten": ("GET", "/old/*.html", {}, 200),
        "own answer": ("GET", "/health", {}, 200),
        "text": ("GET", "/text/*.txt", {}, 200),
        "redirect": ("GET", "/moved", {}, 302),
        "not found": ("GET", "/small/none*.html", {}, 404),
        "denied": ("GET", "/admin", {}, 403),
        "compressed": ("GET", "/text/*.txt", {"Accept-Encoding": "gzip"}, 200),
    }


class Server(Program):
    exe = "/usr/sbin/haproxy"
    packages = ("haproxy", "lighttpd")
    port = 7022

    def __init__(self):
        super().__init__()
        self.behind = lighttpd.Server()

    def configure(self):
        self.behind.start()
        (self.dir / "conf").write_text(f"""
global
	nbthread 1
defaults
	mode http
	timeout client 1d
	timeout server 1d
	timeout connect 10s
	timeout http-keep-alive 1d
frontend all
	bind 127.0.0.1:{self.port}
	http-request return status 200 content-type text/plain string ok if {{ path /health }}
	http-request redirect location /dir/ if {{ path /moved }}
	http-request deny if {{ path_beg /admin }}
	http-request replace-path /old/(.*) /small/\\1
	filter compression
	compression algo gzip
	compression type text/plain
	default_backend behind
backend behind
	server one 127.0.0.1:{self.behind.port}
""")

    def command(self):
        return [self.exe, "-db", "-f", str(self.dir / "conf")]

    def stop(self):
        super().stop()
        self.behind.stop()

    def mix(self, number, count, seed):
        return HaproxyMix(number, count, seed)
