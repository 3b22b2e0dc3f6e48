# SPDX-License-Identifier: GPL-2.0
"""redis-server where every second connection waits for what the one before it pushes."""

from . import redis
from .redis import encode


class BlockedMix(redis.RedisMix):
    first_byte = redis.RedisMix.first_byte | {"BLPOP": b"*"}

    def __init__(self, number, count, seed):
        super().__init__(number, count, seed)
        self.labels = [("RPUSH", "BLPOP")[number % 2], "GET", "SET"]

    def choose(self, label):
        return label

    def request(self, label):
        key = f"of:{self.seed}:{self.number // 2}"
        # Whoever pushes may have ended.
        return {"RPUSH": lambda: encode("RPUSH", key, "xxx"),
                "BLPOP": lambda: encode("BLPOP", key, 1)}.get(
                    label, lambda: super(BlockedMix, self).request(label))()


class Server(redis.Server):
    port = 7044

    def mix(self, number, count, seed):
        return BlockedMix(number, count, seed)
