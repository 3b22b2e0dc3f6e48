# SPDX-License-Identifier: GPL-2.0
"""In the guest: which threads the module says serve requests, and which do.

usage: handovers.py PROGRAM OUT

OUT/handovers.json has, for each request that was asked, the truth, and what the module recorded of
it.  Nothing is judged here.  Of real servers the truth is the kernel's trace of the calls by which
threads read from connections; the tests' own servers with pools (tests/vm/service.c, glib-pool.c)
answer with the threads that gave the work and had it.
"""

import collections
import csv
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[2]
sys.path[:0] = [str(HERE), str(TOP / "tests/vm/guest")]

import programs  # noqa: E402
from calls import Calls  # noqa: E402
from family import Family  # noqa: E402
from perfguard import Audit, note, wait_until  # noqa: E402
from recorded import Begun, Recorded  # noqa: E402
from service import SERVICE, Peer, ask_who, is_up  # noqa: E402

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


def measure_pool(name):
    """[{truth: [worker, giver], module: the same of those that were taken}]"""
    peer = Peer(PEER)
    server = subprocess.Popen(list(map(str, POOLS[name])))
    wait_until(lambda: is_up(PORT))
    audit = Audit("--duration", SPAN, "-p", server.pid)
    if not audit.next("ready"):
        raise RuntimeError(audit.finish().errors)
    recorded, asked = Recorded(Family()), []
    ask_who(PORT, CONNECTIONS, REQUESTS // CONNECTIONS, PAUSE, asked)
    recorded.finish()
    audit.finish()
    server.kill()
    peer.shutdown()
    begun = Begun(recorded)
    # The loop takes it back; what is of interest is who had it in between.
    return [{"truth": [worker, giver], "asked": [port, first, last],
             "module": [row for row in begun.within(port, first, last) if row[1] == server.pid]}
            for port, first, last, giver, worker in asked]


def main():
    name, out = sys.argv[1], pathlib.Path(sys.argv[2])
    found = {"is_pool": name in POOLS,
             "requests": measure_pool(name) if name in POOLS else measure_server(name, out)}
    note(f"{found['requests'][:6]}")
    (out / "handovers.json").write_text(json.dumps(found))


main()
