# SPDX-License-Identifier: GPL-2.0
"""varnish with few threads, before a lighttpd."""

from programs.http import HttpMix
from programs.program import Program

from . import lighttpd


class VarnishMix(HttpMix):
    pages = {
        "hit": ("GET", "/small/*.html", {}, 200),
        "hit text": ("GET", "/text/*.txt", {}, 200),
        "passed on": ("GET", "/small/*.html", {"X-Pass": "1"}, 200),
        "own answer": ("GET", "/synth", {}, 200),
        "not found": ("GET", "/small/none*.html", {}, 404),
        "range": ("GET", "/text/*.txt", {"Range": "bytes=100-199"}, 206),
        "head": ("HEAD", "/small/*.html", {}, 200),
        "redirect": ("GET", "/redirect", {}, 301),
        "purged": ("PURGE", "/dir/", {}, 200),
    }


class Server(Program):
    exe = "/usr/sbin/varnishd"
    packages = ("varnish", "lighttpd", "gcc", "libc6-dev")
    port = 7023

    def __init__(self):
        super().__init__()
        self.behind = lighttpd.Server()

    def configure(self):
        self.behind.start()
        (self.dir / "vcl").write_text(f"""
vcl 4.1;
backend default {{ .host = "127.0.0.1"; .port = "{self.behind.port}"; }}
sub vcl_recv {{
	if (req.method == "PURGE") {{ return (purge); }}
	if (req.url == "/synth") {{ return (synth(200, "OK")); }}
	if (req.http.X-Pass) {{ return (pass); }}
	unset req.http.If-Modified-Since;
}}
sub vcl_backend_response {{ set beresp.ttl = 1d; }}
""")

    def command(self):
        return [self.exe, "-F", "-j", "none", "-a", f"127.0.0.1:{self.port}", "-f",
                str(self.dir / "vcl"), "-n", str(self.dir / "state"), "-s", "malloc,32m", "-p",
                "timeout_idle=86400", "-p", "thread_pools=1", "-p", "thread_pool_min=8"]

    def serving_pid(self):
        return self.child()

    def stop(self):
        super().stop()
        self.behind.stop()

    def mix(self, number, count, seed):
        return VarnishMix(number, count, seed)
