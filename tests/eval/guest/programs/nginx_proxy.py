# SPDX-License-Identifier: GPL-2.0
"""nginx before another server, which answers some requests late."""

from injected.http import Upstream

from . import nginx
from .http import HttpMix

LATE_MS = 60


class ProxyMix(HttpMix):
    pages = {
        "fast": ("GET", "/behind/0", {}, 200),
        "static": ("GET", "/small/*.html", {}, 200),
        "slow": ("GET", f"/behind/{LATE_MS}", {}, 200),
    }


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
        Upstream(self.behind_port).start()

    def mix(self, number, count, seed):
        return ProxyMix(number, count, seed)
