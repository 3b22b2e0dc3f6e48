# SPDX-License-Identifier: GPL-2.0
"""A server that is asked, and sleeps before it answers."""

from kinds import haproxy
from programs import apache, nginx_proxy

from . import LATE, Injection
from .http import Connection, Upstream

PORT = 7080


class Nginx(nginx_proxy.Server):
    behind_port = PORT

    def configure(self):
        # The upstream of its own is none of ours.
        self.behind_port = PORT + 1
        super().configure()
        path = self.dir / "conf"
        path.write_text(path.read_text().replace(f"127.0.0.1:{PORT + 1};", f"127.0.0.1:{PORT};"))


class Haproxy(haproxy.Server):
    def __init__(self):
        super().__init__()
        self.behind = Upstream(PORT + 2)


class Apache(apache.Server):
    modules = apache.MODULES + ["proxy", "proxy_http"]

    def write_conf(self, settings):
        super().write_conf(settings + f"ProxyPass /behind/ http://127.0.0.1:{PORT}/behind/\n")


class Proxy(Injection):
    named = (f"waiting for 127.0.0.1:{PORT}",)

    def start(self):
        Upstream(PORT).start()
        super().start()

    def connect(self):
        self.victim = Connection(self.server.port)

    def usual(self):
        self.victim.get("/behind/1")

    def inject(self):
        self.victim.get(f"/behind/{LATE * 1000:.0f}")


class HaproxyInjection(Proxy):
    named = (f"waiting for 127.0.0.1:{PORT + 2}",)


INJECTIONS = {"nginx": lambda: Proxy(Nginx()), "haproxy": lambda: HaproxyInjection(Haproxy()),
              "apache": lambda: Proxy(Apache())}
