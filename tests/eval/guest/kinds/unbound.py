# SPDX-License-Identifier: GPL-2.0
"""unbound, one thread, over names of its own, by UDP."""

import socket
import struct

from programs.program import Mix, Program, Unexpected, read_some

A, TXT, MX, AAAA, PTR = 1, 16, 15, 28, 12
INTERNET, CHAOS = 1, 3
NAMES = 200


def question(number, name, kind, family=INTERNET):
    labels = b"".join(bytes([len(one)]) + one.encode() for one in name.split("."))
    return struct.pack("!6H", number, 0x100, 1, 0, 0, 0) + labels + b"\0" + \
        struct.pack("!2H", kind, family)


class DnsMix(Mix):
    # The code, and the number of answers.
    answers = {"address": (0, 1), "no such name": (3, 0), "text": (0, 1), "several": (0, 4),
               "no such type": (0, 0), "mail": (0, 1), "reverse": (0, 1), "refused": (5, 0),
               "version": (0, 1)}
    labels = list(answers)

    def request(self, label):
        self.turn += 1
        i, number = self.turn % NAMES, self.turn & 0xffff
        return {
            "address": lambda: question(number, f"host{i}.eval", A),
            "no such name": lambda: question(number, f"none{i}.eval", A),
            "text": lambda: question(number, f"host{i}.eval", TXT),
            "several": lambda: question(number, "all.eval", A),
            "no such type": lambda: question(number, f"host{i}.eval", AAAA),
            "mail": lambda: question(number, "all.eval", MX),
            "reverse": lambda: question(number, f"{i}.0.0.10.in-addr.arpa", PTR),
            "refused": lambda: question(number, f"host{i}.other", A),
            "version": lambda: question(number, "version.bind", TXT, CHAOS),
        }[label]()

    def answer(self, connection, label):
        number, flags, _, answers, _, _ = struct.unpack("!6H", read_some(connection)[:12])
        if (flags & 15, answers) != self.answers[label] or number != self.turn & 0xffff:
            raise Unexpected(f"{label}: code {flags & 15}, {answers} answers")


class Server(Program):
    exe = "/usr/sbin/unbound"
    packages = ("unbound",)
    port = 7027

    def configure(self):
        data = []
        for i in range(NAMES):
            data += [f'"host{i}.eval. 3600 IN A 10.0.0.{i}"',
                     f'"host{i}.eval. 3600 IN TXT host-number-{i}"']
        data += [f'"all.eval. 3600 IN A 10.0.1.{i}"' for i in range(4)]
        data += ['"all.eval. 3600 IN MX 10 host1.eval."']
        lines = "".join(f"\tlocal-data: {one}\n" for one in data)
        lines += "".join(f'\tlocal-data-ptr: "10.0.0.{i} host{i}.eval"\n' for i in range(NAMES))
        (self.dir / "conf").write_text(f"""
server:
	interface: 127.0.0.1
	port: {self.port}
	num-threads: 1
	do-daemonize: no
	username: ""
	chroot: ""
	pidfile: ""
	use-syslog: no
	module-config: "iterator"
	minimal-responses: yes
	local-zone: "eval." static
	local-zone: "other." refuse
{lines}
remote-control:
	control-enable: no
""")

    def command(self):
        return [self.exe, "-d", "-c", str(self.dir / "conf")]

    def connect(self):
        connection = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        connection.connect(("127.0.0.1", self.port))
        connection.settimeout(120)
        return connection

    def mix(self, number, count, seed):
        return DnsMix(number, count, seed)
