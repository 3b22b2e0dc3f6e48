# SPDX-License-Identifier: GPL-2.0
"""Servers with every function guarded that training picks: they live, and clients that check
have the right answers, while all is done at random that may be done to them.

By hand: SERVERS names them, and they are trained first, which takes minutes each; unless PROFILES
is where make eval-training has left their profiles.  All five for an hour:

    SERVERS="redis nginx memcached apache mariadb" SECONDS=3600 PROFILES=build/eval/6.12 \\
        tests/vm/module 6.12 --long 89-servers.py
"""

import os
import pathlib
import random
import shutil
import sys
import threading

from chaos import SEED, Chaos
from perfguard import IS_SLOW, LONG, TOP, collect, done, note, ok, skip, status

sys.path.append(str(TOP / "tests/eval/guest"))
import programs  # noqa: E402
from programs.program import Unexpected, ask, draw  # noqa: E402

NAMES = os.environ.get("SERVERS", "").split()
PROFILES = os.environ.get("PROFILES")
TMP = pathlib.Path("/tmp/servers")
CLIENTS = 2


class Client(threading.Thread):
    """Asks all that the server's evaluation asks, and checks each answer."""

    def __init__(self, program, number):
        super().__init__(daemon=True)
        self.program = program
        # Some make keys of it, which have to fit.
        self.mix = program.mix(number, CLIENTS, SEED % 1000 + 1)
        self.labels = random.Random(SEED + number)
        self.is_over = threading.Event()
        self.answers = 0
        self.wrong = None

    def run(self):
        try:
            with self.program.connect() as connection:
                while not self.is_over.is_set():
                    label, = draw(self.labels, self.mix.labels, 1)
                    ask(self.mix, connection, self.mix.choose(label))
                    self.answers += 1
        except (OSError, Unexpected) as error:
            self.wrong = f"{self.program.exe}: {error}"

    def end(self):
        self.is_over.set()
        self.join()


class Server:
    def __init__(self, name):
        self.name = name
        self.program = programs.load(name)
        self.program.start()
        self.profile = TMP / f"{name}.pgp"
        self.clients = [Client(self.program, i) for i in range(CLIENTS)]
        for one in self.clients:
            one.start()

    def train(self):
        """Returns whether there is a profile."""
        if PROFILES:
            shutil.copy(TOP / PROFILES / self.name / "four/profile.pgp", self.profile)
            return True
        result = collect("train", "-o", self.profile, "-p", self.program.pid, timeout=LONG)
        if result.returncode:
            note(result.stderr[-600:])
        return result.returncode == 0

    def end(self):
        """What was wrong, or None."""
        for one in self.clients:
            one.end()
        died = self.program.process.poll()
        self.program.stop()
        if died is not None:
            return f"{self.name} ended: {died}"
        return next((one.wrong for one in self.clients if one.wrong), None)


class Servers(Chaos):
    def __init__(self, servers):
        super().__init__()
        self.servers = servers

    def pid(self):
        return self.random.choice(self.servers).program.pid

    def arm(self):
        """No budget takes guards off."""
        one = self.random.choice(self.servers)
        result = collect("arm", "--budget", "none", one.profile)
        self.done["guarded"] += result.returncode == 0

    def has_wrong(self):
        return any(one.wrong for each in self.servers for one in each.clients)


def main():
    if not NAMES:
        skip("servers", "by hand: SERVERS=memcached, and others")
        done()
    if IS_SLOW and not PROFILES:
        skip("servers", "training takes too long there; see PROFILES")
        done()
    shutil.rmtree(TMP, ignore_errors=True)
    TMP.mkdir()
    servers = [Server(name) for name in NAMES]
    disorder = Servers(servers)
    if ok(all([one.train() for one in servers]), f"trained: {', '.join(NAMES)}"):
        for one in servers:
            collect("arm", "--budget", "none", one.profile)
        note(f"guards: {[one['guards'] for one in status('profile')]}")
        disorder.go_on(disorder.has_wrong)
    wrong = [text for one in servers if (text := one.end())]
    note(f"{ {one.name: sum(each.answers for each in one.clients) for one in servers} } answers; "
         f"wrong: {wrong}")
    ok(not wrong, "the servers live, and all answers were right")
    disorder.judge()
    done()


main()
