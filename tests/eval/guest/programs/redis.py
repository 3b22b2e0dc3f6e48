# SPDX-License-Identifier: GPL-2.0
"""redis-server: the commands of redis-benchmark, one label each.

PING is there twice, as redis-benchmark has it, because an inline command is parsed by other
code.  The four LRANGE of redis-benchmark differ in a number only and are one label.  Keys exist
before the mix begins, and lists and sets stay in one encoding and never run empty.
"""

from .program import Mix, Program, Unexpected, read_some

LIST = 2000
SET = 3000
ZSET = 1000


def encode(*words):
    out = [b"*%d\r\n" % len(words)]
    for word in words:
        word = word if isinstance(word, bytes) else str(word).encode()
        out.append(b"$%d\r\n%s\r\n" % (len(word), word))
    return b"".join(out)


def is_complete(data):
    """Whether it holds one whole answer; values have no line end in them."""
    if not data.endswith(b"\r\n"):
        return False
    first, _, rest = data.partition(b"\r\n")
    if first[:1] in b"+-:" or first in (b"$-1", b"*-1", b"*0"):
        return True
    if first[:1] == b"$":
        return len(rest) == int(first[1:]) + 2
    return rest.count(b"\r\n") >= 2 * int(first[1:])


def reply(connection):
    data = b""
    while not is_complete(data):
        data += read_some(connection)
    return data


class RedisMix(Mix):
    labels = ["GET", "SET", "INCR", "LPUSH", "HSET", "LPOP", "SADD", "PING", "RPUSH", "RPOP",
              "ZADD", "SPOP", "ZPOPMIN", "LRANGE", "MSET", "PING inline"]
    first_byte = {"PING": b"+P", "PING inline": b"+P", "GET": b"$3", "SET": b"+O", "INCR": b":",
                  "MSET": b"+O", "LPUSH": b":", "RPUSH": b":", "LPOP": b"$3", "RPOP": b"$3",
                  "SADD": b":1", "HSET": b":0", "SPOP": b"$", "ZADD": b":1", "ZPOPMIN": b"*2",
                  "LRANGE": b"*"}
    # Adds one, takes one; and how far the balance may go either way, over all connections.
    pairs = {"LPUSH": "LPOP", "RPUSH": "RPOP", "SADD": "SPOP", "ZADD": "ZPOPMIN"}
    slack = {"LPUSH": 800, "RPUSH": 800, "SADD": 400, "ZADD": 400}

    def __init__(self, number, count, seed):
        super().__init__(number, count, seed)
        self.balance = dict.fromkeys(self.pairs, 0)

    def choose(self, label):
        for add, take in self.pairs.items():
            limit = self.slack[add] // self.count
            if label == add and self.balance[add] >= limit:
                return take
            if label == take and self.balance[add] <= -limit:
                return add
        return label

    def request(self, label):
        self.turn += 1
        for add, take in self.pairs.items():
            self.balance[add] += (label == add) - (label == take)
        key = f"key:{self.turn % 50}"
        member = f"element:{self.seed}:{self.number}:{self.turn}"
        return {
            "PING": lambda: encode("PING"),
            "PING inline": lambda: b"PING\r\n",
            "GET": lambda: encode("GET", key),
            "SET": lambda: encode("SET", key, "xxx"),
            "INCR": lambda: encode("INCR", "counter"),
            "LPUSH": lambda: encode("LPUSH", "list", "xxx"),
            "RPUSH": lambda: encode("RPUSH", "list", "xxx"),
            "LPOP": lambda: encode("LPOP", "list"),
            "RPOP": lambda: encode("RPOP", "list"),
            "SADD": lambda: encode("SADD", "set", member),
            "SPOP": lambda: encode("SPOP", "set"),
            "HSET": lambda: encode("HSET", "hash", f"field:{self.turn % 50}", "xxx"),
            "ZADD": lambda: encode("ZADD", "zset", self.turn % 1000, member),
            "ZPOPMIN": lambda: encode("ZPOPMIN", "zset"),
            "LRANGE": lambda: encode("LRANGE", "range", 0, (99, 299, 499, 599)[self.turn % 4]),
            "MSET": lambda: encode("MSET", *sum(((f"key:{i}", "xxx") for i in range(10)), ())),
        }[label]()

    def answer(self, connection, label):
        data = reply(connection)
        if not data.startswith(self.first_byte[label]):
            raise Unexpected(f"{label}: {data[:60]}")


class Server(Program):
    exe = "/usr/bin/redis-server"
    port = 7001

    def command(self):
        # hz 1: the server's own timer must not add units of its own.
        return [self.exe, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
                "--appendonly", "no", "--hz", "1", "--dir", str(self.dir)]

    def prepare(self):
        with self.connect() as connection:
            def send(*words):
                connection.sendall(encode(*words))
                reply(connection)
            send("FLUSHALL")
            send("SET", "counter", 1000000)
            for i in range(50):
                send("SET", f"key:{i}", "xxx")
                send("HSET", "hash", f"field:{i}", "xxx")
            for i in range(0, 600, 100):
                send("RPUSH", "range", *["xxx"] * 100)
            for i in range(0, LIST, 100):
                send("RPUSH", "list", *["xxx"] * 100)
            for i in range(0, SET, 100):
                send("SADD", "set", *[f"element:first:{j}" for j in range(i, i + 100)])
            for i in range(0, ZSET, 100):
                pairs = ((j, f"element:first:{j}") for j in range(i, i + 100))
                send("ZADD", "zset", *sum(pairs, ()))

    def mix(self, number, count, seed):
        return RedisMix(number, count, seed)

    def loads(self):
        return [(f"redis-benchmark -c {c}",
                 ["redis-benchmark", "-p", str(self.port), "-c", str(c), "-n",
                  str(self.requests), "-t", "get", "-q"], self.requests) for c in (1, 4)]
