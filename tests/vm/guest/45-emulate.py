# SPDX-License-Identifier: GPL-2.0
"""Whole programs with a breakpoint in every function, and in the midst of them."""

import os
import pathlib
import socket
import subprocess
import tempfile
import time

from perfguard import IS_SLOW, TOP, done, note, ok, run, skip, wait_until
from record import HIT, Recorder, kinds, mappings

SITES = str(TOP / "build/tests/vm/sites")
SQLITE = "/usr/bin/sqlite3"
REDIS = "/usr/bin/redis-server"
# Of the instructions that the module carries out, each so many-th has a breakpoint.
STRIDE = 400 if IS_SLOW else 40
ROWS = 40 if IS_SLOW else 400


def library(program, name):
    for line in run("ldd", program).stdout.splitlines():
        if name in line:
            return os.path.realpath(line.split("=>")[1].split()[0])
    raise FileNotFoundError(name)


def sites_of(path, *stride):
    """[(offset, sp_delta, is_cheap)]"""
    return [tuple(int(word) for word in line.split())
            for line in run(SITES, path, *stride).stdout.splitlines()]


def sql():
    """A script that has to do with most of what there is."""
    yield "create table a (id integer primary key, name text, x real, y integer);"
    yield "create index by_y on a (y);"
    yield "create table b (id integer, a integer references a(id), note text);"
    yield "create virtual table words using fts5(body);"
    yield "begin;"
    for i in range(ROWS):
        yield f"insert into a values ({i}, 'name {i * 7919 % 1009}', {i} / 7.0, {i * i % 97});"
        yield f"insert into b values ({i}, {i * 31 % ROWS}, hex({i * 65537}));"
        yield f"insert into words values ('w{i % 13} is of {i % 7} and w{i % 29} too');"
    yield "commit;"
    yield "select count(*), sum(x), avg(y), min(name), max(name), group_concat(y % 5) from a;"
    yield "select a.name, b.note from a join b on b.a = a.id where a.y < 20 order by a.name, b.id;"
    yield "select y, count(*) c, round(total(x), 3) from a group by y having c > 3 order by c, y;"
    yield "select rowid, body from words where words match 'w3 and w5' order by rank, rowid;"
    yield "update a set x = x * 1.5, name = upper(name) where y % 3 = 0;"
    yield "delete from b where id % 11 = 4;"
    yield "select id, json_object('n', name, 'v', json_array(x, y)) from a where id % 17 = 1;"
    yield ("select json_extract(json_group_array(json_object('k', y)), '$[3].k'), "
           "json_patch('{\"a\":[1,2.5e3]}', '{\"b\":null,\"c\":true}') from a;")
    yield ("with recursive c(n, f) as (select 1, 1.0 union all select n + 1, f * n from c "
           "where n < 60) select n, f, printf('%.6e|%08x|%s', f, n, n) from c;")
    yield ("select id, sum(y) over (order by id rows between 3 preceding and current row), "
           "rank() over (partition by y order by x desc) from a order by id limit 100;")
    yield ("select substr(name, 2, 4), replace(name, 'A', 'bb'), name like '%1%', "
           "instr(name, '2') from a limit 90;")
    yield ("select date('2024-02-28', '+2 days'), strftime('%j %W', '2023-12-31'), "
           "7 / 2, 7 % -3, -7 >> 1;")
    yield "pragma integrity_check; vacuum; pragma page_count; explain query plan select * from a;"
    yield "select quote(x'00ff'), typeof(1e400), abs(-9223372036854775807), 0.1 + 0.2, 1 = 1.0;"


def run_sql(script):
    """(exit, output, errors)"""
    with open(script, encoding="utf-8") as file:
        ended = subprocess.run([SQLITE, "-batch", ":memory:"], stdin=file, capture_output=True,
                               timeout=900, check=False)
    return ended.returncode, ended.stdout, ended.stderr


class Redis:
    """A server without files; replies come as they are."""

    def __init__(self, directory):
        self.path = os.path.join(directory, "socket")
        self.process = subprocess.Popen(
            [REDIS, "--port", "0", "--unixsocket", self.path, "--save", "", "--dir", directory,
             "--enable-debug-command", "yes"], stdout=subprocess.DEVNULL)
        self.socket = socket.socket(socket.AF_UNIX)
        wait_until(lambda: self.socket.connect_ex(self.path) == 0)
        self.socket.settimeout(300)
        self.file = self.socket.makefile("rb")

    def reply(self):
        line = self.file.readline()
        if not line:
            raise EOFError("the server is gone")
        if line[:1] == b"$" and line[1:2] != b"-":
            line += self.file.read(int(line[1:]) + 2)
        elif line[:1] == b"*" and line[1:2] != b"-":
            line += b"".join(self.reply() for _ in range(int(line[1:])))
        return line

    def ask(self, *words):
        words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(words) +
                            b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
        return self.reply()

    def end(self):
        self.file.close()
        self.socket.close()
        self.process.terminate()
        return self.process.wait(60)


def commands():
    """All types of data; none that answers by chance or by the time."""
    for i in range(ROWS // 4):
        yield "set", f"s{i}", "v" * (i * 37 % 300)
        yield "append", f"s{i}", i
        yield "setrange", f"s{i}", i % 50, "xyz"
        yield "incrby", "n", i * 17
        yield "incrbyfloat", "f", i / 8
        yield "setbit", "bits", i * 7, 1
        yield "rpush", "list", *range(i % 9 + 1)
        yield "lpush", "list", "w" * (i % 70)
        yield "sadd", "numbers", i * i % 61
        yield "sadd", "words", f"w{i % 23}"
        yield "hset", "hash", f"k{i}", i, f"l{i % 7}", "z" * (i % 90)
        yield "zadd", "sorted", i * 7919 % 101, f"m{i}"
        yield "pfadd", "hyper", i * 3
        yield "geoadd", "places", i % 90, i % 60, f"p{i}"
        yield "xadd", "stream", f"{i + 1}-1", "field", i, "other", i % 3
        yield "getrange", f"s{i}", 2, -3
    yield from (
        ("lrange", "list", 0, -1), ("linsert", "list", "before", 3, "here"), ("lpos", "list", 4),
        ("lrem", "list", 2, 1), ("ltrim", "list", 5, 60), ("rpoplpush", "list", "other"),
        ("sort", "numbers", "desc"), ("sort", "words", "alpha", "limit", 2, 9),
        ("sinterstore", "both", "numbers", "numbers"), ("scard", "both"),
        ("object", "encoding", "both"),
        ("hget", "hash", "k7"), ("hlen", "hash"), ("hincrby", "hash", "k3", 12),
        ("zrange", "sorted", 0, -1, "withscores"),
        ("zrangebylex", "sorted", "-", "+", "limit", 0, 4),
        ("zunionstore", "union", 2, "sorted", "numbers", "weights", 2, 3),
        ("zrevrangebyscore", "union", "+inf", 20, "withscores"), ("zrank", "sorted", "m9"),
        ("pfcount", "hyper"), ("bitcount", "bits"), ("bitpos", "bits", 0),
        ("bitop", "not", "b2", "bits"),
        ("georadius", "places", 15, 37, 2000, "km", "withdist", "asc"), ("geohash", "places", "p3"),
        ("xrange", "stream", "-", "+"), ("xgroup", "create", "stream", "g", "0"),
        ("xlen", "stream"), ("xtrim", "stream", "maxlen", 10), ("getdel", "s3"), ("strlen", "s9"),
        ("eval", "local t = {} for i = 1, 50 do t[i] = redis.call('incr', 'c') end "
         "return {cjson.encode(t), string.format('%5.2f', 3.14159), t[50]}", 0),
        ("eval", "return cmsgpack.unpack(cmsgpack.pack({1, 'two', 3.5}))", 0),
        ("eval", "return redis.sha1hex('x')", 0), ("lcs", "s40", "s41"), ("copy", "hash", "hash2"),
        ("restore", "r", 0, b"\x00\x03abc\x0a\x00" + 8 * b"\x00"), ("type", "stream"),
        ("get", "nothing"),
        ("incr", "list"), ("nonsense",), ("multi",), ("incr", "n"), ("get", "f"), ("exec",),
        ("dbsize",), ("debug", "digest"), ("debug", "reload"), ("debug", "digest"), ("flushall",),
        ("dbsize",))


def run_redis(look=lambda pid: None):
    """(exit, replies); @look is called while the server is there."""
    with tempfile.TemporaryDirectory() as directory:
        server = Redis(directory)
        replies = [server.ask(*words) for words in commands()]
        look(server.process.pid)
        return server.end(), replies


def has_steps(pid):
    """Whether an instruction was stepped.  The kernel does that in a page it maps for it."""
    return any(path == "[uprobes]" for *_, path in mappings(pid))


class Guarded:
    """Breakpoints in some files, for all that run a program from now on."""

    def __init__(self, program, files):
        self.recorder = Recorder()
        self.target = self.recorder.watch("exe", program)
        self.recorder.ask("open")
        self.nr = 0
        for path, sites in files.items():
            listed = [(offset, self.nr + i, sp_delta)
                      for i, (offset, sp_delta, _) in enumerate(sites)]
            answer = self.recorder.sites(self.target, path, listed)
            if not isinstance(answer[0], float):
                raise RuntimeError(f"{path}: {answer}")
            self.nr += len(sites)
            if answer[1]:
                note(f"{path}: {answer[1]} sites refused")

    def hits(self):
        """Different sites seen hit; what the stream had no room for is not among them."""
        return len({event.number for event in kinds(self.recorder.read(), HIT)})

    def end(self):
        self.recorder.off(self.target)
        self.recorder.end()


def share(sites):
    nr = sum(len(each) for each in sites.values())
    cheap = sum(site[2] for each in sites.values() for site in each)
    return f"{nr} breakpoints, {100 * cheap / nr:.1f} % not to be stepped"


def sqlite(what, files):
    with tempfile.TemporaryDirectory() as directory:
        script = os.path.join(directory, "script")
        pathlib.Path(script).write_text("\n".join(sql()) + "\n", encoding="utf-8")
        start = time.monotonic()
        wanted = run_sql(script)
        middle = time.monotonic()
        guarded = Guarded(SQLITE, files)
        begin = time.monotonic()
        result = run_sql(script)
        end = time.monotonic()
        hits = guarded.hits()
        guarded.end()
        note(f"{what}: {share(files)}, {hits} of them seen hit; {len(wanted[1])} bytes of output; "
             f"{middle - start:.1f} s without, {end - begin:.1f} s with them")
        ok(wanted[0] == 0 and len(wanted[1]) > 20 * ROWS, f"{what}: the script does its work")
        ok(result == wanted, f"{what}: the same output, byte for byte")
        ok(hits > guarded.nr / 40, f"{what}: and many of them were hit")


def redis(what, files):
    steps = []
    start = time.monotonic()
    wanted = run_redis()
    middle = time.monotonic()
    guarded = Guarded(REDIS, files)
    begin = time.monotonic()
    result = run_redis(lambda pid: steps.append(has_steps(pid)))
    end = time.monotonic()
    hits = guarded.hits()
    guarded.end()
    note(f"{what}: {share(files)}, {hits} of them seen hit; {len(wanted[1])} replies; "
         f"{middle - start:.1f} s without, {end - begin:.1f} s with them")
    differing = [(words, *pair) for words, *pair in zip(commands(), wanted[1], result[1])
                 if pair[0] != pair[1]]
    for words, one, other in differing[:3]:
        note(f"{words}: {one[:60]} without, {other[:60]} with them")
    errors = sum(reply[:1] == b"-" for reply in wanted[1])
    note(f"{what}: {errors} replies are errors; stepped: {steps}")
    ok(wanted[0] == 0 and errors < 20, f"{what}: the commands do their work")
    ok(result == wanted, f"{what}: the same replies, byte for byte")
    ok(hits > guarded.nr / 40, f"{what}: and many of them were hit")


def main():
    if os.path.exists(SQLITE):
        lib = library(SQLITE, "libsqlite3")
        sqlite("sqlite, all functions", {path: sites_of(path) for path in (SQLITE, lib)})
        sqlite("sqlite, in their midst", {lib: sites_of(lib, STRIDE)})
    else:
        skip("sqlite", "not installed")
    if os.path.exists(REDIS):
        redis("redis, all functions", {REDIS: sites_of(REDIS)})
        redis("redis, in their midst", {REDIS: sites_of(REDIS, STRIDE)})
    else:
        skip("redis", "not installed")
    done()


main()
