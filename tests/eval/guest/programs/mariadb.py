# SPDX-License-Identifier: GPL-2.0
"""MariaDB: distinct statements, over one small InnoDB table per connection and a shared one."""

import pathlib
import shutil
import struct
import subprocess

from .program import Mix, Program, Unexpected

# A database without tables, if install() has made it.
INSTALLED = pathlib.Path(__file__).resolve().parents[4] / "build/eval/mariadb"
ROWS = 1000
COM_QUERY = 3
CAPABILITIES = 0x0001 | 0x0008 | 0x0200 | 0x8000 | 0x80000  # long password, db, 4.1, secure, plugin


def read_packet(connection, buffer):
    """The next packet's contents; buffer keeps what came behind it."""
    while len(buffer) < 4 or len(buffer) < 4 + int.from_bytes(buffer[:3], "little"):
        data = connection.recv(65536)
        if not data:
            raise Unexpected("the connection was closed")
        buffer += data
    length = int.from_bytes(buffer[:3], "little")
    packet = bytes(buffer[4:4 + length])
    del buffer[:4 + length]
    return packet


def packet(number, contents):
    return struct.pack("<I", len(contents) | number << 24) + contents


def read_result(connection):
    """The rows of an answer, 0 if it has none; raises Unexpected on an error."""
    buffer = bytearray()
    first = read_packet(connection, buffer)
    if first[0] == 0xff:
        raise Unexpected(first[9:100].decode(errors="replace"))
    if first[0] == 0:
        return 0
    rows = ends = 0
    while ends < 2:
        data = read_packet(connection, buffer)
        if data[0] == 0xff:
            raise Unexpected(data[9:100].decode(errors="replace"))
        if data[0] == 0xfe and len(data) < 9:
            ends += 1
        else:
            rows += ends == 1
    return rows


class MariadbMix(Mix):
    labels = ["point select", "range sum", "update", "insert", "begin", "count by index",
              "range order", "delete", "join", "like scan", "distinct", "update no index",
              "select 1", "replace", "group by"]
    # A transaction is three requests in a row, of three labels.
    follow = {"begin": "update in transaction", "update in transaction": "commit"}
    rows = {"point select": 1, "range sum": 1, "count by index": 1, "range order": 10,
            "join": 5, "like scan": 1, "select 1": 1}

    def __init__(self, number, count, seed):
        super().__init__(number, count, seed)
        self.next_label = None
        self.first = self.last = seed * 1000000

    def choose(self, label):
        if self.next_label:
            label = self.next_label
        elif label == "delete" and self.first == self.last:
            label = "insert"
        self.next_label = self.follow.get(label)
        return label

    def request(self, label):
        self.turn += 1
        row = 1 + self.turn * 37 % (ROWS - 20)
        table = f"t{self.number}"
        if label == "insert":
            self.last += 1
        if label == "delete":
            self.first += 1
        text = {
            "point select": f"select c from {table} where id={row}",
            "range sum": f"select sum(k) from {table} where id between {row} and {row + 9}",
            "range order": f"select c from {table} where id between {row} and {row + 9} order by c",
            "distinct": f"select distinct c from {table} where id between {row} and {row + 9}",
            "group by": f"select k % 3, count(*) from {table} where id between {row} and {row + 9}"
                        " group by k % 3",
            "count by index": f"select count(*) from {table} where k between {row} and {row + 9}",
            "like scan": "select count(*) from s where c like '%x7%'",
            "join": f"select a.c, b.c from {table} a join s b on b.id = a.k % 20 + 1"
                    f" where a.id between {row} and {row + 4}",
            "insert": f"insert into {table} values ({self.last}, {self.last}, 'new', 0)",
            "delete": f"delete from {table} where id={self.first}",
            "replace": f"replace into {table} values ({row}, {row}, 'c{row:08}', 0)",
            "update": f"update {table} set k = k + 1 where id={row}",
            "update no index": f"update {table} set n = n + 1 where id={row}",
            "update in transaction": f"update {table} set n = n + 1 where id={row}",
            "begin": "begin",
            "commit": "commit",
            "select 1": "select 1",
        }[label]
        return packet(0, bytes([COM_QUERY]) + text.encode())

    def answer(self, connection, label):
        rows = read_result(connection)
        if rows != self.rows.get(label, rows):
            raise Unexpected(f"{label}: {rows} rows")


class Server(Program):
    exe = "/usr/sbin/mariadbd"
    port = 7005
    most_connections = 4
    requests = 1000

    def options(self, data=None):
        return ["--no-defaults", f"--datadir={data or self.dir / 'data'}",
                f"--socket={self.dir}/socket", "--user=root",
                "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=32M",
                "--innodb-log-file-size=16M"]

    def make(self, data):
        """By the plain server's options: what bootstraps does not get along with all."""
        done = subprocess.run(
            ["mariadb-install-db", *Server.options(self, data), "--skip-test-db",
             "--auth-root-authentication-method=normal"], stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=900, check=False)
        if done.returncode:
            shutil.rmtree(data, ignore_errors=True)
            raise SystemExit(f"mariadb-install-db: {done.stdout[-600:]}{done.stderr[-600:]}")

    def install(self):
        if not INSTALLED.exists():
            INSTALLED.parent.mkdir(parents=True, exist_ok=True)
            self.make(INSTALLED)

    def configure(self):
        if INSTALLED.exists():
            shutil.copytree(INSTALLED, self.dir / "data")
        else:
            self.make(self.dir / "data")

    def command(self):
        return [self.exe, *self.options(), "--bind-address=127.0.0.1", f"--port={self.port}",
                "--skip-name-resolve", "--event-scheduler=off"]

    def statements(self):
        """The statements that make the tables."""
        lines = ["create user eval@'%' identified by ''", "grant all on *.* to eval@'%'",
                 "create database d", "use d"]
        for i in range(4):
            lines += [f"create table t{i} (id int primary key, k int, c varchar(20), n int,"
                      " key (k)) engine=innodb",
                      f"insert into t{i} select seq, seq, concat('c', lpad(seq, 8, '0')), 0"
                      f" from seq_1_to_{ROWS}"]
        lines += ["create table s (id int primary key, c varchar(20)) engine=innodb",
                  "insert into s select seq, concat('x', seq) from seq_1_to_20"]
        return lines

    def prepare(self):
        subprocess.run(["mariadb", "--no-defaults", f"--socket={self.dir}/socket"],
                       input="".join(line + ";\n" for line in self.statements()), text=True,
                       check=True, timeout=120)

    def connect(self):
        connection = super().connect()
        buffer = bytearray()
        greeting = read_packet(connection, buffer)
        if greeting[0] != 10:
            raise Unexpected(f"greeting {greeting[:40]}")
        contents = struct.pack("<IIB23x", CAPABILITIES, 1 << 24, 33)
        contents += b"eval\0" + b"\0" + b"d\0" + b"mysql_native_password\0"
        connection.sendall(packet(1, contents))
        reply = read_packet(connection, buffer)
        if reply[0] == 0xfe:
            connection.sendall(packet(3, b""))
            reply = read_packet(connection, buffer)
        if reply[0] != 0:
            raise Unexpected(f"login: {reply[:80]}")
        return connection

    def mix(self, number, count, seed):
        return MariadbMix(number, count, seed)

    def loads(self):
        return [("mysqlslap, 4 connections",
                 ["mysqlslap", "--no-defaults", "--host=127.0.0.1", f"--port={self.port}",
                  "--user=eval", "--create-schema=d", "--no-drop", "--concurrency=4",
                  f"--number-of-queries={self.requests}",
                  "--query=select c from t1 where id=500"], self.requests)]
