# SPDX-License-Identifier: GPL-2.0
"""MariaDB with a pool of threads: a statement is not its connection's thread's."""

from .mariadb import BigServer, Mariadb, Mix
from .subject import Bug


class PoolMix(Mix):
    labels = ["point select", "update", "range order", "replace in text", "sha1", "insert"]
    rows = {**Mix.rows, "replace in text": 1}

    def own(self, row):
        return {**super().own(row),
                "replace in text": f"select replace(repeat('ab', {20 + row % 10}), 'a', 'xyz')"}


class PoolServer(BigServer):
    port = 7016

    def options(self):
        return super().options() + ["--thread-handling=pool-of-threads"]

    def mix(self, number, count, seed):
        return PoolMix(number, count, seed)


class MariadbPool(Mariadb):
    bugs = {
        "mariadb-replace": Bug("REPLACE() of 13,000 places in a text", "quadratic algorithm",
                               ("Item_func_replace::val_str_internal",), "replace"),
    }

    def make_server(self):
        return PoolServer()

    def replace(self):
        self.query("select length(replace(repeat('ab', 13000), 'a', 'xyz'))")


def make():
    return MariadbPool()
