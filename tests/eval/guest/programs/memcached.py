# SPDX-License-Identifier: GPL-2.0
"""memcached by its text protocol; a hit and a miss of a command are two labels."""

import collections

from .program import Mix, Program, Unexpected, read_some


class MemcachedMix(Mix):
    labels = ["get hit", "set", "get miss", "incr", "gets hit", "add stored", "delete found",
              "touch", "replace", "append", "get several", "cas stored", "decr", "prepend",
              "delete not found", "add not stored", "incr not found", "version"]
    starts = {"get hit": b"VALUE", "set": b"STORED", "get miss": b"END", "incr": b"",
              "gets hit": b"VALUE", "add stored": b"STORED", "delete found": b"DELETED",
              "touch": b"TOUCHED", "replace": b"STORED", "append": b"STORED",
              "get several": b"VALUE", "cas stored": b"STORED", "decr": b"",
              "prepend": b"STORED", "delete not found": b"NOT_FOUND",
              "add not stored": b"NOT_STORED", "incr not found": b"NOT_FOUND",
              "version": b"VERSION"}
    until_end = ("get hit", "get miss", "gets hit", "get several")

    def __init__(self, number, count, seed):
        super().__init__(number, count, seed)
        self.added = collections.deque()
        self.cas = None

    def choose(self, label):
        if label == "delete found" and not self.added:
            return "add stored"
        if label == "add stored" and len(self.added) > 200:
            return "delete found"
        # The token is that of the last gets, of a key that nothing else changes.
        if label == "cas stored" and self.cas is None:
            return "gets hit"
        # A value that is appended to for ever would move to other slabs.
        return label

    def request(self, label):
        self.turn += 1
        me = self.number
        key = f"{me}:key:{self.turn % 50}"
        new = f"{me}:new:{self.seed}:{self.turn}"
        if label == "add stored":
            self.added.append(new)
        lines = {
            "get hit": lambda: f"get {key}",
            "gets hit": lambda: f"gets {me}:cas",
            "get miss": lambda: f"get {me}:none:{self.turn % 50}",
            "get several": lambda: "get " + " ".join(f"{me}:key:{i}" for i in range(8)),
            "set": lambda: f"set {key} 0 0 3\r\nxxx",
            "add stored": lambda: f"add {new} 0 0 3\r\nxxx",
            "add not stored": lambda: f"add {key} 0 0 3\r\nxxx",
            "replace": lambda: f"replace {key} 0 0 3\r\nxxx",
            "append": lambda: f"append {me}:long:{self.turn % 200} 0 0 1\r\nx",
            "prepend": lambda: f"prepend {me}:long:{self.turn % 200} 0 0 1\r\nx",
            "cas stored": lambda: f"cas {me}:cas 0 0 3 {self.cas}\r\nxxx",
            "delete found": lambda: f"delete {self.added.popleft()}",
            "delete not found": lambda: f"delete {me}:none:{self.turn % 50}",
            "incr": lambda: f"incr {me}:counter 1",
            "decr": lambda: f"decr {me}:counter 1",
            "incr not found": lambda: f"incr {me}:none:{self.turn % 50} 1",
            "touch": lambda: f"touch {key} 1000",
            "version": lambda: "version",
        }
        return lines[label]().encode() + b"\r\n"

    def answer(self, connection, label):
        end = b"END\r\n" if label in self.until_end else b"\r\n"
        data = read_some(connection)
        while not data.endswith(end):
            data += read_some(connection)
        if not data.startswith(self.starts[label]) or (
                label in ("incr", "decr") and not data[:1].isdigit()):
            raise Unexpected(f"{label}: {data[:60]}")
        if label == "gets hit":
            self.cas = data.split(b"\r\n", 1)[0].split()[4].decode()
        elif label == "cas stored":
            self.cas = None


class Server(Program):
    exe = "/usr/bin/memcached"
    port = 7003
    most_connections = 4

    def command(self):
        return [self.exe, "-u", "nobody", "-l", "127.0.0.1", "-p", str(self.port), "-m", "64"]

    def prepare(self):
        with self.connect() as connection:
            for me in range(4):
                keys = [f"{me}:key:{i}" for i in range(50)]
                keys += [f"{me}:long:{i}" for i in range(200)]
                for key in keys + [f"{me}:cas"]:
                    connection.sendall(f"set {key} 0 0 3\r\nxxx\r\n".encode())
                    read_some(connection)
                connection.sendall(f"set {me}:counter 0 0 7\r\n1000000\r\n".encode())
                read_some(connection)

    def mix(self, number, count, seed):
        return MemcachedMix(number, count, seed)

    def loads(self):
        return [(f"own client, {c} connections",
                 ["@client", "--connections", str(c), "--requests", str(self.requests),
                  "--label", "get hit"],
                 self.requests) for c in (1, 4)]
