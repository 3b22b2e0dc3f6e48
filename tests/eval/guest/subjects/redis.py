# SPDX-License-Identifier: GPL-2.0
"""redis-server: commands whose time grows with their operands."""

from programs.program import Unexpected, read_some
from programs.redis import RedisMix, Server, encode, reply

from .subject import Bug, ServerSubject, connect

BIG = 100000
SMALL = 20
# So many of them in one command.
STEP = 1000
KEYS = 100000
# Apart from the few keys of the normal load.
MANY_DATABASE = 1
LOOP = "local s = 0 for i = 1, tonumber(ARGV[1]) do s = s + i end return s"


class Mix(RedisMix):
    """The benchmark's commands, and the ones of the bugs on small things."""

    labels = RedisMix.labels[:9] + ["SORT", "SMEMBERS", "LRANGE all", "LCS", "KEYS",
                                    "EVAL"]
    first_byte = {**RedisMix.first_byte, "SORT": b"*20", "SMEMBERS": b"*20",
                  "LRANGE all": b"*20", "LCS": b":", "KEYS": b"*0", "EVAL": b":"}

    def request(self, label):
        own = {"SORT": ("SORT", "small:list"), "SMEMBERS": ("SMEMBERS", "small:set"),
               "LRANGE all": ("LRANGE", "small:list", 0, -1),
               "LCS": ("LCS", "small:a", "small:b", "LEN"), "KEYS": ("KEYS", "nosuch*"),
               "EVAL": ("EVAL", LOOP, 0, 20)}
        if label in own:
            self.turn += 1
            return encode(*own[label])
        return super().request(label)


class BigServer(Server):
    port = 7011

    def prepare(self):
        super().prepare()
        with self.connect() as connection:
            def send(*words):
                connection.sendall(encode(*words))
                reply(connection)
            for size, name in ((SMALL, "small"), (BIG, "big")):
                for i in range(0, size, STEP):
                    # Not in order, as lists are.
                    send("RPUSH", f"{name}:list",
                         *(j * 7919 % size for j in range(i, min(i + STEP, size))))
            send("SADD", "small:set", *(f"{j}x" for j in range(SMALL)))
            send("SELECT", MANY_DATABASE)
            for i in range(0, KEYS, STEP):
                send("MSET", *sum(((f"key:{j}", "v") for j in range(i, i + STEP)), ()))
            send("SELECT", 0)
            send("SET", "small:a", "ab" * 20)
            send("SET", "small:b", "ba" * 20)
            send("SET", "big:a", "ab" * 1500)
            send("SET", "big:b", "ba" * 1500)

    def mix(self, number, count, seed):
        return Mix(number, count, seed)


class Redis(ServerSubject):
    packages = ("redis-server", "redis-tools")
    bugs = {
        "redis-sort": Bug("SORT of a list of 100,000", "O(N log N) in the event loop",
                          ("sortCommandGeneric",), "sort"),
        "redis-lcs": Bug("LCS of two strings of 3,000", "quadratic algorithm",
                         ("lcsCommand",), "lcs"),
        "redis-keys": Bug("KEYS where there are 100,000", "large input in the event loop",
                          ("keysCommand",), "keys"),
        # The function that runs it has no name: Lua is part of the program.
        "redis-lua": Bug("script that loops", "user's code in the event loop",
                         ("luaCallFunction",), "lua"),
    }

    def make_server(self):
        return BigServer()

    def send(self, *words, database=0):
        with connect(self.server) as connection:
            if database:
                connection.sendall(encode("SELECT", database))
                reply(connection)
            connection.sendall(encode(*words))
            if not read_some(connection)[:1] in b"*:":
                raise Unexpected(" ".join(words))

    def sort(self):
        self.send("SORT", "big:list", "STORE", "big:sorted")

    def lcs(self):
        self.send("LCS", "big:a", "big:b", "LEN")

    def keys(self):
        self.send("KEYS", "*:*9*9*nosuch*", database=MANY_DATABASE)

    def lua(self):
        self.send("EVAL", LOOP, 0, 3000000)


def make():
    return Redis()
