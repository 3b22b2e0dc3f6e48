# SPDX-License-Identifier: GPL-2.0
"""MariaDB: statements whose time grows with their operands."""

import threading

from programs.mariadb import COM_QUERY, ROWS, MariadbMix, Server, packet, read_result

from .subject import Bug, ServerSubject, connect

BIG_ROWS = 80000
HELD_SECONDS = 1


class Mix(MariadbMix):
    """Point statements on the tables, and what the bugs ask for, on little."""

    labels = ["point select", "update", "range order", "like scan", "sha1", "regexp", "insert",
              "select by key"]
    rows = {**MariadbMix.rows, "sha1": 1, "regexp": 1, "select by key": 1}

    def own(self, row):
        """The statements that MariadbMix lacks: {label: statement}."""
        return {
            "sha1": f"select sha1(repeat('a', {20 + row % 10}))",
            "regexp": f"select concat(repeat('a', {3 + row % 3}), 'b') regexp '^(a+)+$'",
            "select by key": f"select c from big where k={row}",
        }

    def request(self, label):
        own = self.own(1 + (self.turn + 1) * 37 % (ROWS - 20))
        if label not in own:
            return super().request(label)
        self.turn += 1
        return packet(0, bytes([COM_QUERY]) + own[label].encode())


class BigServer(Server):
    port = 7015

    def statements(self):
        # Not in order, so that sorting has something to do.
        return super().statements() + [
            "create table big (id int primary key, k int, n int, c varchar(40), key (k))"
            " engine=innodb",
            "insert into big select seq, seq, seq * 7919 % 80021, concat('c', md5(seq))"
            f" from seq_1_to_{BIG_ROWS}"]

    def options(self):
        # A thread ends with its connection, instead of waiting in a cache for the next one.
        return super().options() + ["--max-allowed-packet=128M", "--thread-cache-size=0"]

    def mix(self, number, count, seed):
        return Mix(number, count, seed)


class Mariadb(ServerSubject):
    # More would wait for each other: the guest's processors are few and slow.
    connections = 1
    packages = ("mariadb-server", "mariadb-client")
    bugs = {
        "mariadb-sha": Bug("SHA1 of a long string", "cost by the size of an argument",
                           ("Item_func_sha::val_str_ascii",), "sha", paper="MySQL 49491"),
        "mariadb-scan": Bug("a join without an index reads all rows", "missing index",
                            ("rr_sequential", "handler::ha_rnd_next"), "scan"),
        "mariadb-sort": Bug(f"ORDER BY of {BIG_ROWS} rows for one", "sorting all for one row",
                            ("filesort",), "sort"),
        "mariadb-regexp": Bug("a pattern that is tried in all ways",
                              "exponential backtracking",
                              ("Regexp_processor_pcre::exec", "libpcre2-8:"), "regexp"),
        "mariadb-rowlock": Bug("a row that another connection keeps locked",
                               "lock contention in mid-unit",
                               ("handler::ha_index_read_map>",), "rowlock"),
    }

    def make_server(self):
        return BigServer()

    def start(self):
        super().start()
        self.connection = connect(self.server)
        self.other = connect(self.server)

    def query(self, text, connection=None):
        connection = connection or self.connection
        connection.sendall(packet(0, bytes([COM_QUERY]) + text.encode()))
        return read_result(connection)

    def sha(self):
        self.query("select sha1(repeat(repeat('a', 1024), 56 * 1024))")

    def scan(self):
        self.query("select sum((select count(*) from big where n = s.id)) from s"
                   " where id <= 8")

    def sort(self):
        self.query(f"select c from big order by c limit {BIG_ROWS // 2}, 1")

    def regexp(self):
        self.query("select concat(repeat('a', 20), 'b') regexp '^(a+)+$'")

    def rowlock(self):
        self.query("begin", self.other)
        self.query("update t0 set k = k + 1 where id=5", self.other)
        commit = threading.Timer(HELD_SECONDS, self.query, ("commit", self.other))
        commit.start()
        self.query("update t0 set k = k + 1 where id=5")
        commit.join()

    def stop(self):
        self.connection.close()
        self.other.close()
        super().stop()


def make():
    return Mariadb()
