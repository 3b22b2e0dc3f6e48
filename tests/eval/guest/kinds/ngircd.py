# SPDX-License-Identifier: GPL-2.0
"""ngIRCd: clients in one channel, each also with itself."""

import os

from programs.program import Mix, Program, Unexpected, read_some


def nick():
    """Each connection is a process."""
    return f"c{os.getpid() % 10000000}"


class IrcMix(Mix):
    # What stands in the line that ends the answer; what others said comes before it.
    ends = {"ping": b"PONG", "message": b" PRIVMSG c", "to all": b"PONG", "names": b" 366 ",
            "who": b" 315 ", "list": b" 323 ", "whois": b" 318 ", "join": b" 366 ",
            "topic": b" 332 ", "unknown": b" 421 ", "nobody": b" 401 "}
    labels = list(ends)

    def request(self, label):
        self.turn += 1
        return {
            "ping": "PING :localhost",
            # Comes back to whom it is sent.
            "message": f"PRIVMSG {nick()} :hello {self.turn}",
            "to all": f"PRIVMSG #all :hello {self.turn}\r\nPING :localhost",
            "names": "NAMES #all",
            "who": "WHO #all",
            "list": "LIST",
            "whois": f"WHOIS {nick()}",
            "join": f"PART #own{self.number}\r\nJOIN #own{self.number}",
            "topic": "TOPIC #all",
            "unknown": "NOTHING",
            "nobody": f"PRIVMSG none{self.turn} :hello",
        }[label].encode() + b"\r\n"

    def answer(self, connection, label):
        data = b""
        while self.ends[label] not in data or not data.endswith(b"\r\n"):
            if b"ERROR" in data:
                raise Unexpected(f"{label}: {data[:80]}")
            data += read_some(connection)


class Server(Program):
    exe = "/usr/sbin/ngircd"
    packages = ("ngircd",)
    port = 7028

    def configure(self):
        (self.dir / "conf").write_text(f"""
[Global]
	Name = irc.eval
	Info = eval
	Listen = 127.0.0.1
	Ports = {self.port}
	PidFile =
[Limits]
	MaxConnectionsIP = 0
	MaxPenaltyTime = 0
	MaxNickLength = 12
	PingTimeout = 86400
[Options]
	DNS = no
	Ident = no
	PAM = no
[Channel]
	Name = #all
	Topic = all that is said
""")

    def command(self):
        return [self.exe, "-n", "-f", str(self.dir / "conf")]

    def connect(self):
        connection = super().connect()
        connection.sendall(f"NICK {nick()}\r\nUSER eval 0 * :eval\r\nJOIN #all\r\n"
                           .encode())
        data = b""
        while b" 366 " not in data:
            data += read_some(connection)
        return connection

    def mix(self, number, count, seed):
        return IrcMix(number, count, seed)
