# SPDX-License-Identifier: GPL-2.0
"""dnsmasq, which asks two other name servers by datagrams: one answers at once, one late."""

import socketserver
import struct
import threading
import time

from kinds import unbound
from kinds.unbound import A, NAMES, question

LATE_MS = 30
QUESTION = struct.Struct("!6H")
ADDRESS = struct.pack("!HHHIH4B", 0xc00c, 1, 1, 0, 4, 10, 0, 0, 1)


class ForwardMix(unbound.DnsMix):
    answers = {"fast": (0, 1), "own": (0, 1), "slow": (0, 1)}
    labels = list(answers)

    def request(self, label):
        self.turn += 1
        name = {"own": f"host{self.turn % NAMES}.own"}.get(
            label, f"host{self.turn % NAMES}.of{self.number}.{label}")
        return question(self.turn & 0xffff, name, A)


class Upstream(socketserver.ThreadingUDPServer):
    """Has an address for each name, after some time."""

    daemon_threads = True
    max_packet_size = 4096

    class RequestHandlerClass(socketserver.BaseRequestHandler):
        def handle(self):
            asked, connection = self.request
            time.sleep(self.server.late_ms / 1000)
            number, *_ = QUESTION.unpack_from(asked)
            end = asked.index(b"\0", QUESTION.size) + 5
            connection.sendto(QUESTION.pack(number, 0x8180, 1, 1, 0, 0) +
                              asked[QUESTION.size:end] + ADDRESS, self.client_address)

    def __init__(self, port, late_ms):
        self.late_ms = late_ms
        super().__init__(("127.0.0.1", port), self.RequestHandlerClass)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Server(unbound.Server):
    exe = "/usr/sbin/dnsmasq"
    packages = ("dnsmasq-base",)
    port = 7046
    fast_port, slow_port = 7047, 7048

    def configure(self):
        own = "".join(f"address=/host{i}.own/10.0.0.{i}\n" for i in range(NAMES))
        (self.dir / "conf").write_text(f"""\
port={self.port}
listen-address=127.0.0.1
bind-interfaces
user=root
no-resolv
no-hosts
cache-size=0
pid-file
server=/fast/127.0.0.1#{self.fast_port}
server=/slow/127.0.0.1#{self.slow_port}
{own}""")
        Upstream(self.fast_port, 0)
        Upstream(self.slow_port, LATE_MS)

    def command(self):
        return [self.exe, "-k", "-C", str(self.dir / "conf")]

    def mix(self, number, count, seed):
        return ForwardMix(number, count, seed)
