# SPDX-License-Identifier: GPL-2.0
"""nginx before another server, which answers some requests late."""

import http.server
import threading
import time

from . import nginx
from .http import HttpMix

LATE_MS = 60


class ProxyMix(HttpMix):
    pages = {
        "fast": ("GET", "/behind/fast", {}, 200),
        "static": ("GET", "/small/*.html", {}, 200),
        "slow": ("GET", "/behind/slow", {}, 200),
    }


class Behind(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):   # pylint: disable=invalid-name
        if self.path.endswith("slow"):
            time.sleep(LATE_MS / 1000)
        self.send_response(200)
        self.send_header("Content-Length", "6")
        self.end_headers()
        self.wfile.write(b"behind")

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


class Server(nginx.Server):
    port = 7042
    behind_port = 7043

    def configure(self):
        super().configure()
        path = self.dir / "conf"
        path.write_text(path.read_text().replace("		location /list/", f"""\
		location /behind/ {{
			proxy_pass http://behind/;
			proxy_http_version 1.1;
			proxy_set_header Connection "";
		}}
		location /list/""").replace("	server {", f"""\
	upstream behind {{ server 127.0.0.1:{self.behind_port}; keepalive 64; }}
	server {{""", 1))
        behind = http.server.ThreadingHTTPServer(("127.0.0.1", self.behind_port), Behind)
        threading.Thread(target=behind.serve_forever, daemon=True).start()

    def mix(self, number, count, seed):
        return ProxyMix(number, count, seed)
