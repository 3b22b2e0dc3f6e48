# SPDX-License-Identifier: GPL-2.0
"""In the guest: what is a unit of a server in CPython, Node.js and Java?

usage: runtimes.py CLASSES OUT

Each server is asked by CONNECTIONS clients.  pg-collect check says whether its work is in units;
where it says so, the server is trained on and armed, and its units and false alarms are counted
while the clients count their requests: first with connections that last, then with one for each
request.  A server that has a thread for each request is only asked like that.
OUT/runtimes.json has what came of it.  Nothing is judged here.
"""

import collections
import http.client
import json
import multiprocessing
import pathlib
import signal
import socket
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[2]
sys.path[:0] = [str(HERE), str(TOP / "tests/vm/guest")]

from guarded import Armed, reload, show  # noqa: E402
from perfguard import collect, note, wait_until  # noqa: E402

CONNECTIONS = 4
PAUSE = 0.02        # between a client's requests, s
SECONDS = 60
PORT = 8100
PATHS = ("/", "/", "/sum", "/", "/sort")
CANNOT = 3          # exit of check
OUT = pathlib.Path(sys.argv[2])
SUMS = ("units", "late", "starved", "novel")


def servers(classes):
    """[(name, command, whether connections last)]"""
    python = ["python3", str(HERE / "runtimes/server.py"), str(PORT)]
    return [
        ("CPython", [*python, "HTTP/1.1"], True),
        ("CPython, a thread a request", [*python, "HTTP/1.0"], False),
        ("Node.js", ["node", str(HERE / "runtimes/server.js"), str(PORT)], True),
        ("Java", ["java", "-cp", classes, "Server", str(PORT)], True),
    ]


def ask(count, lasts):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    turn, connection = 0, None
    while True:
        if not connection:
            connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)
        connection.request("GET", PATHS[turn % len(PATHS)])
        connection.getresponse().read()
        turn += 1
        with count.get_lock():
            count.value += 1
        if not lasts:
            connection.close()
            connection = None
        time.sleep(PAUSE)


class Load:
    def __init__(self, lasts):
        self.count = multiprocessing.Value("Q", 0)
        self.clients = [multiprocessing.Process(target=ask, args=(self.count, lasts), daemon=True)
                        for _ in range(CONNECTIONS)]
        for one in self.clients:
            one.start()

    def stop(self):
        for one in self.clients:
            one.terminate()
        for one in self.clients:
            one.join(20)


def is_up():
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", PORT)) == 0


def busiest(before, after, known):
    """Units, in time or late, of the loop that did most: others have timers, or accept."""
    units = collections.Counter()
    for kind in known["types"]:
        units[kind["loop"]] += sum(after[kind["id"]][what] - before[kind["id"]][what]
                                   for what in ("units", "late"))
    return max(units.values())


def measure(armed, known, lasts):
    """Requests, and what the module counted meanwhile."""
    load = Load(lasts)
    time.sleep(5)
    before, asked = armed.types(), load.count.value
    time.sleep(SECONDS)
    after, answered = armed.types(), load.count.value
    load.stop()
    done = {what: sum(after[kind][what] - before[kind][what] for kind in after) for what in SUMS}
    done |= {"requests": answered - asked, "busiest": busiest(before, after, known)}
    # A late unit is not among those in time.
    done["units"] += done["late"]
    note(f"{'lasting' if lasts else 'single'} connections: {done}")
    return done


def try_out(name, command, lasts):
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    done = {"name": name}
    try:
        if not wait_until(is_up, 300):
            raise RuntimeError(f"{name} does not listen")
        load = Load(lasts)
        time.sleep(20)      # what is compiled at run time mostly is, then
        result = collect("check", "-p", server.pid, timeout=600)
        done |= {"check": result.returncode, "said": result.stdout.strip()}
        note(f"{name}: check exits with {result.returncode}: {result.stdout[-600:]}")
        if result.returncode == CANNOT:
            load.stop()
            return done
        profile = pathlib.Path("/tmp", f"{name}.pgp")
        result = collect("train", "-o", profile, "--max-slowdown", "none", "-p", server.pid,
                         timeout=900)
        load.stop()
        if result.returncode:
            return done | {"train": result.stderr[-600:]}
        (OUT / f"{name}.txt").write_text(collect("show", profile).stdout)
        armed, known = Armed(profile), show(profile)
        if lasts:
            done["lasting"] = measure(armed, known, True)
        done["single"] = measure(armed, known, False)
        armed.family.close()
        collect("disarm", "--all")
        return done
    finally:
        server.kill()
        server.wait()


def main():
    reload(65536)
    found = [try_out(*server) for server in servers(sys.argv[1])]
    (OUT / "runtimes.json").write_text(json.dumps(found))


main()
