# SPDX-License-Identifier: GPL-2.0
"""In the guest: which threads the module says serve requests, and which do.

usage: handovers.py PROGRAM OUT

OUT/handovers.json has, for each request that was asked, the truth, and what the module recorded of
it.  Nothing is judged here.  Of real servers the truth is the kernel's trace of the calls by which
threads read from connections; the tests' own servers with pools (tests/vm/service.c, glib-pool.c)
answer with the threads that gave the work and had it.
"""

import bisect
import collections
import csv
import json
import pathlib
import random
import socket
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[2]
sys.path[:0] = [str(HERE), str(TOP / "tests/vm/guest")]

import programs  # noqa: E402
from calls import Calls  # noqa: E402
from family import Family  # noqa: E402
from perfguard import Audit, note, wait_until  # noqa: E402
from recorded import Recorded  # noqa: E402
from service import SERVICE, Peer, is_up  # noqa: E402

CONNECTIONS = 4
REQUESTS = 2000
PAUSE = 0.004           # between a connection's requests, s
SPAN = 100000           # more than all takes, s of the guest's
PORT, PEER = 7330, 7331
GLIB = str(TOP / "build/tests/eval/glib-pool")
# Those that answer with the threads that gave the work and had it.
POOLS = {"pool": [SERVICE, PORT, PEER], "gthreadpool": [GLIB, "pool", PORT],
         "gtask": [GLIB, "task", PORT]}
READS = (0, 19, 45, 47)     # read, readv, recvfrom, recvmsg


class Begun:
    """What the module recorded, by port and in order of time."""

    def __init__(self, recorded):
        self.of = collections.defaultdict(list)
        for time_ns, tid, connection, giver in sorted(recorded.begun):
            self.of[recorded.ports.get(connection, 0)].append((time_ns, tid, giver))

    def within(self, port, first_ns, last_ns):
        rows = self.of[port]
        return [row[1:] for row in rows[bisect.bisect_left(rows, (first_ns,)):
                                        bisect.bisect_right(rows, (last_ns,))]]


def measure_server(name, out):
    """[{truth: threads that read it, module: [thread, by whom]}]"""
    program = programs.load(name)
    program.start()
    audit = Audit("--duration", SPAN, *program.target())
    if not audit.next("ready"):
        raise RuntimeError(audit.finish().errors)
    recorded, trace = Recorded(Family()), Calls([program.pid], READS)
    subprocess.run([sys.executable, "-B", str(HERE / "client.py"), name, "--connections",
                    str(CONNECTIONS), "--pause", str(PAUSE), "--seed", "2", "--requests",
                    str(REQUESTS), "--pid", str(program.pid), "--out", str(out)],
                   check=True, timeout=1500)
    reads = trace.done()
    recorded.finish()
    audit.finish()
    program.stop()
    with open(out / "sockets.tsv", encoding="ascii") as rows:
        fds = {int(row["port"]): int(row["fd"]) for row in csv.DictReader(rows, delimiter="\t")}
    by_fd = collections.defaultdict(list)
    for _, when, tid, fd in reads:
        by_fd[fd].append((when, tid))
    begun, found = Begun(recorded), []
    with open(out / "requests.tsv", encoding="ascii") as rows:
        for row in csv.DictReader(rows, delimiter="\t"):
            port, first, last = (int(row[key]) for key in ("port", "sent_ns", "answered_ns"))
            # The trace's clock is of microseconds.
            readers = {tid for when, tid in by_fd[fds[port]] if first - 1000 <= when <= last}
            found.append({"truth": sorted(readers), "module": begun.within(port, first, last)})
    return found


def ask_pool(seed, found):
    """A client of the pool; each answer says who gave its work, and who had it."""
    chance = random.Random(seed)
    with socket.create_connection(("127.0.0.1", PORT)) as connection:
        port = connection.getsockname()[1]
        for _ in range(REQUESTS // CONNECTIONS):
            begin = time.monotonic_ns()
            connection.sendall(f"poolwho {chance.randrange(200, 3000)}\n".encode())
            giver, worker = map(int, connection.recv(64).split())
            found.append((port, begin, time.monotonic_ns(), giver, worker))
            time.sleep(chance.random() * 2 * PAUSE)


def measure_pool(name):
    """[{truth: [worker, giver], module: the same of those that were taken}]"""
    peer = Peer(PEER)
    server = subprocess.Popen(list(map(str, POOLS[name])))
    wait_until(lambda: is_up(PORT))
    audit = Audit("--duration", SPAN, "-p", server.pid)
    if not audit.next("ready"):
        raise RuntimeError(audit.finish().errors)
    recorded, asked = Recorded(Family()), []
    clients = [threading.Thread(target=ask_pool, args=(seed, asked))
               for seed in range(CONNECTIONS)]
    for one in clients:
        one.start()
    for one in clients:
        one.join()
    recorded.finish()
    audit.finish()
    server.kill()
    peer.shutdown()
    begun = Begun(recorded)
    # The loop takes it back; what is of interest is who had it in between.
    return [{"truth": [worker, giver],
             "module": [row for row in begun.within(port, first, last) if row[1] == server.pid]}
            for port, first, last, giver, worker in asked]


def main():
    name, out = sys.argv[1], pathlib.Path(sys.argv[2])
    found = {"is_pool": name in POOLS,
             "requests": measure_pool(name) if name in POOLS else measure_server(name, out)}
    note(f"{found['requests'][:6]}")
    (out / "handovers.json").write_text(json.dumps(found))


main()
