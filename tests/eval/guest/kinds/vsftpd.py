# SPDX-License-Identifier: GPL-2.0
"""vsftpd with anonymous users; a process, or two, for each session."""

import re
import socket

from programs.program import Mix, Program, Unexpected, read_some

FILES = 20


def answer_of(connection):
    """All lines up to the one that ends an answer."""
    data = b""
    while not re.search(rb"^\d{3} [^\n]*\n\Z", data, re.M):
        data += read_some(connection)
    return data


class FtpMix(Mix):
    # What to ask, and the code.
    asks = {"get": ("RETR small*.txt", b"226"), "nothing": ("NOOP", b"200"),
            "size": ("SIZE small*.txt", b"213"), "list": ("LIST", b"226"),
            "where": ("PWD", b"257"), "time": ("MDTM small*.txt", b"213"),
            "get large": ("RETR large*.txt", b"226"), "change": ("CWD /", b"250"),
            "not there": ("SIZE none*.txt", b"550"), "names": ("NLST", b"226"),
            "status": ("STAT", b"211"), "unknown": ("NOTHING", b"500"),
            "denied": ("DELE small*.txt", b"550")}
    labels = list(asks)
    transfers = ("get", "list", "get large", "names")

    def request(self, label):
        self.turn += 1
        if label in self.transfers:
            return b"EPSV\r\n"
        return self.line(label)

    def line(self, label):
        return self.asks[label][0].replace("*", str(self.turn % FILES)).encode() + b"\r\n"

    def answer(self, connection, label):
        data = answer_of(connection)
        if label in self.transfers:
            port = int(data.split(b"|||")[1].split(b"|")[0])
            with socket.create_connection(("127.0.0.1", port), 120) as transfer:
                connection.sendall(self.line(label))
                while transfer.recv(262144):
                    pass
            # After that it has begun, or with it.
            while not (end := re.search(rb"^226 ", data, re.M)):
                data = answer_of(connection)
            data = data[end.start():]
        if not data.startswith(self.asks[label][1]):
            raise Unexpected(f"{label}: {data[:80]}")


class Server(Program):
    exe = "/usr/sbin/vsftpd"
    packages = ("vsftpd",)
    port = 7029

    def target(self):
        return ["-e", self.exe]

    def configure(self):
        root = self.dir / "root"
        root.mkdir(exist_ok=True)
        for i in range(FILES):
            (root / f"small{i}.txt").write_text("a small file\n")
            (root / f"large{i}.txt").write_text("a line of text\n" * 10000)
        (self.dir / "empty").mkdir(exist_ok=True)
        # A root that its user can write to is refused.
        (self.dir / "conf").write_text(f"""
listen=YES
background=NO
listen_address=127.0.0.1
listen_port={self.port}
anonymous_enable=YES
local_enable=NO
anon_root={root}
no_anon_password=YES
secure_chroot_dir={self.dir}/empty
idle_session_timeout=86400
xferlog_enable=NO
""")

    def command(self):
        return ["sh", "-c", f"chmod 755 {self.dir}/root {self.dir}/empty && exec {self.exe} "
                f"{self.dir}/conf"]

    def connect(self):
        connection = super().connect()
        answer_of(connection)
        for line in (b"USER anonymous", b"TYPE I"):
            connection.sendall(line + b"\r\n")
            if not answer_of(connection).startswith(b"2"):
                raise Unexpected(line)
        return connection

    def mix(self, number, count, seed):
        return FtpMix(number, count, seed)
