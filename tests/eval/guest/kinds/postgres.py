# SPDX-License-Identifier: GPL-2.0
"""PostgreSQL, by simple queries; a process for each connection."""

import pathlib
import shutil
import struct
import subprocess

from programs.program import Mix, Program, Unexpected

# A cluster, if install() has made it.
INSTALLED = pathlib.Path(__file__).resolve().parents[4] / "build/eval/postgres"
ROWS = 1000


def message(kind, body):
    return kind + struct.pack("!I", len(body) + 4) + body


def read_until_ready(connection):
    """The types of the messages up to ReadyForQuery."""
    data, kinds = b"", b""
    while True:
        while len(data) >= 5 and len(data) > (size := struct.unpack("!I", data[1:5])[0]):
            kinds += data[:1]
            if data[:1] == b"E":
                raise Unexpected(data[:size].decode(errors="replace"))
            if data[:1] == b"Z":
                return kinds
            data = data[size + 1:]
        more = connection.recv(65536)
        if not more:
            raise Unexpected("the connection was closed")
        data += more


class PostgresMix(Mix):
    # How many rows come back.
    rows = {"point select": 1, "select 1": 1, "range sum": 1, "update": 0, "insert": 0,
            "order": 10, "join": 5, "group": 10, "like": 1, "delete": 0}
    labels = list(rows)

    def request(self, label):
        self.turn += 1
        table, key = f"t{self.number}", self.turn * 7 % ROWS
        new = self.seed * 1000000 + self.turn
        return message(b"Q", {
            "point select": lambda: f"SELECT c FROM {table} WHERE id = {key}",
            "select 1": lambda: "SELECT 1",
            "range sum": lambda: f"SELECT sum(k) FROM {table} WHERE id BETWEEN {key} AND {key + 99}",
            "update": lambda: f"UPDATE {table} SET k = k + 1 WHERE id = {key}",
            "insert": lambda: f"INSERT INTO log VALUES ({self.number}, {new}, 'xxx')",
            "order": lambda: f"SELECT c FROM {table} ORDER BY c LIMIT 10",
            "join": lambda: f"SELECT a.c FROM {table} a JOIN shared b ON a.id = b.id WHERE a.id "
                            f"BETWEEN {key % 900} AND {key % 900 + 4}",
            "group": lambda: f"SELECT id % 10, count(*) FROM {table} GROUP BY 1",
            "like": lambda: f"SELECT count(*) FROM {table} WHERE c LIKE '%5%'",
            "delete": lambda: f"DELETE FROM log WHERE client = {self.number} AND id < {new - 20}",
        }[label]().encode() + b"\0")

    def answer(self, connection, label):
        rows = read_until_ready(connection).count(b"D")
        if rows != self.rows[label]:
            raise Unexpected(f"{label}: {rows} rows")


class Server(Program):
    exe = "/usr/lib/postgresql/15/bin/postgres"
    packages = ("postgresql-15",)
    port = 7025
    most_connections = 4

    def run(self, *command):
        subprocess.run(["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups",
                        *command], check=True, stdout=subprocess.DEVNULL, cwd="/")

    def install(self):
        """What initdb makes takes a while in a guest."""
        if (INSTALLED / "PG_VERSION").exists():
            return
        shutil.rmtree(INSTALLED, ignore_errors=True)
        made = pathlib.Path("/tmp/eval-postgres")
        shutil.rmtree(made, ignore_errors=True)
        self.run(pathlib.Path(self.exe).with_name("initdb"), "-D", str(made), "-A", "trust", "-N",
                 "--no-instructions")
        shutil.move(made, INSTALLED)

    def target(self):
        return ["-e", self.exe]

    def configure(self):
        data = self.dir / "data"
        shutil.copytree(INSTALLED, data)
        subprocess.run(["chown", "-R", "postgres", data], check=True)

    def command(self):
        # All below the directory was made readable by all, which the server refuses.
        return ["sh", "-c", f"chmod -R go-rwx {self.dir}/data && exec setpriv --reuid postgres "
                f"--regid postgres --clear-groups {self.exe} -D {self.dir}/data -p {self.port} "
                "-c unix_socket_directories= -c fsync=off -c autovacuum=off"]

    def connect(self):
        connection = super().connect()
        body = struct.pack("!I", 196608) + b"user\0postgres\0database\0postgres\0\0"
        connection.sendall(struct.pack("!I", len(body) + 4) + body)
        read_until_ready(connection)
        return connection

    def prepare(self):
        with self.connect() as connection:
            statements = ["CREATE TABLE log (client int, id int, c text)",
                          "CREATE INDEX ON log (client, id)"]
            for table in ("t0", "t1", "t2", "t3", "shared"):
                statements += [
                    f"CREATE TABLE {table} (id int PRIMARY KEY, k int, c text)",
                    f"INSERT INTO {table} SELECT i, i % 100, md5(i::text) FROM generate_series(0, "
                    f"{ROWS + 100}) i", f"ANALYZE {table}"]
            for statement in statements:
                connection.sendall(message(b"Q", statement.encode() + b"\0"))
                read_until_ready(connection)

    def mix(self, number, count, seed):
        return PostgresMix(number, count, seed)
