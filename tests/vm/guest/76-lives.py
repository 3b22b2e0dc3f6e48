# SPDX-License-Identifier: GPL-2.0
"""Threads and processes that live for one request: their lives are units."""

import json
import pathlib
import shutil
import socket
import subprocess

from guarded import ENDED, LATE, Armed, show
from perfguard import IS_SLOW, LONG, MS, TOP, collect, done, note, ok, run, wait_until

LIVES = str(TOP / "build/tests/vm/lives")
CLIENT = "/tmp/lives-client"    # another file: the target is each process of the server's
PORT = 7200
REQUESTS = 100 if IS_SLOW else 300
TYPES = 3
LIMIT_MS, SLOW_MS = 500, 2000


class Server:
    def __init__(self, how):
        self.process = subprocess.Popen([LIVES, "serve", str(PORT), how])
        self.pid = self.process.pid
        wait_until(self.is_up)

    @staticmethod
    def is_up():
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", PORT)) == 0

    @staticmethod
    def load(number):
        return int(run(CLIENT, "load", PORT, number, TYPES).stdout)

    @staticmethod
    def ask(kind, ms):
        return run(CLIENT, "ask", PORT, kind, ms).returncode == 0

    def end(self):
        self.process.kill()
        self.process.wait()


def trained(how):
    """The profile, what is known by it, and its loop of lives."""
    profile = pathlib.Path(f"/tmp/lives-{how}.pgp")
    profile.unlink(missing_ok=True)
    result = collect("train", "-o", profile, "--limit", f"{LIMIT_MS}ms", "--workload",
                     f"{CLIENT} load {PORT} {REQUESTS} {TYPES}", "-e", LIVES, timeout=LONG)
    if not ok(result.returncode == 0, f"{how}: a server is trained"):
        note(result.stderr[-900:])
        return profile, None, None
    known = show(profile)
    loops = [loop for loop in known["loops"]
             if any(one["role"] == "start" for one in loop["boundaries"])]
    if not ok(len(loops) == 1, f"{how}: a loop's units are lives"):
        note(json.dumps(known["loops"])[:1500])
        return profile, known, None
    return profile, known, loops[0]


def lives_of(armed, known, loop):
    """Units of the loop so far, in time or late."""
    numbers = [kind["id"] for kind in known["types"] if kind["loop"] == loop["loop"]]
    kinds = armed.types()
    return sum(kinds[number]["units"] + kinds[number]["late"] for number in numbers)


def guard(how, profile, known, loop):
    armed = Armed(profile)
    Server.load(REQUESTS)
    found = lives_of(armed, known, loop)
    ok(abs(found - REQUESTS) <= REQUESTS / 100, f"{how}: guarded, {found} of {REQUESTS} are")
    armed.alerts()
    Server.ask(0, SLOW_MS)
    alerts = []
    wait_until(lambda: alerts.extend(armed.alerts()) or
               any(one["kind"] == ENDED for one in alerts))
    alerts = [one for one in alerts if one["loop_id"] == loop["loop"]]
    kinds = [one["kind"] for one in alerts]
    ok(LATE in kinds, f"{how}: a life is late while it lasts")
    ok(kinds[-1:] == [ENDED] and alerts[-1]["elapsed_ns"] >= SLOW_MS * MS, f"{how}: and ends")
    armed.family.close()
    collect("disarm", "--all")


def try_out(how):
    server = Server(how)
    profile, known, loop = trained(how)
    if loop:
        # The stage of structure can see more or less than one whole load.
        others = [one["units"] for one in known["loops"] if one is not loop]
        ok(any(abs(loop["units"] - units) <= units / 50 for units in others),
           f"{how}: as many as connections are accepted, {loop['units']}")
        guard(how, profile, known, loop)
    server.end()


shutil.copy(LIVES, CLIENT)
# On the debug kernel one way is enough: a process exits by more of the kernel than a thread.
for way in ("forks",) if IS_SLOW else ("given", "reads", "forks"):
    try_out(way)
done()
