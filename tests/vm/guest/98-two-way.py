# SPDX-License-Identifier: GPL-2.0
"""Who opened a connection may be asked by it, as by a window system: what comes unasked, and is
answered, is a request.  What answers a question is none, in however many parts it comes."""

import pathlib
import socket
import subprocess
import threading
import time

from family import Family
from perfguard import EXACT, LONG, TOP, Audit, done, note, ok, wait_until

ASKED = str(TOP / "build/tests/vm/asked")
SHOWER, STORE = "/run/shower", "/run/store"
NUMBER = 30
COMPUTE_US, BLINK_US, SHORT = 3_000, 300_000, 0.005
# Longer than what is drawn within it belongs to what came before.
REST = 0.2
NEAR_NS = 1_000_000


def listen(path):
    pathlib.Path(path).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    return listener


class Store(threading.Thread):
    """Answers in parts, each after a pause; also says things that nobody has asked for."""

    def __init__(self, listener):
        super().__init__(daemon=True)
        self.listener = listener
        self.answers = 0
        self.connection = None

    def run(self):
        self.connection, _ = self.listener.accept()
        while self.connection.recv(64):
            for part in b"one\n", b"two\n", b"end\n":
                time.sleep(SHORT)
                self.connection.sendall(part)
            self.answers += 1

    def push(self, number):
        for _ in range(number):
            self.connection.sendall(b"news\n")
            time.sleep(SHORT)


class Shower:
    """Who shows the program, and the program."""

    def __init__(self):
        listeners = listen(SHOWER), listen(STORE)
        self.store = Store(listeners[1])
        self.store.start()
        self.process = subprocess.Popen([ASKED, SHOWER, STORE])
        self.connection, _ = listeners[0].accept()
        self.times = []

    def say(self, word, us):
        self.connection.sendall(f"{word} {us}\n".encode())

    def hear(self, text):
        if self.connection.recv(len(text), socket.MSG_WAITALL) != text:
            raise RuntimeError(f"not {text}")

    def answer(self):
        self.hear(b"?\n")
        time.sleep(SHORT)
        self.connection.sendall(b"!\n")

    def ask(self, word, us):
        """What is drawn takes so long, ns; also kept."""
        begin = time.monotonic_ns()
        self.say(word, us)
        if word == "ask":
            self.answer()
        self.hear(b"drawn\n")
        self.times.append(time.monotonic_ns() - begin)
        if word == "sync":
            self.answer()
        time.sleep(REST)
        return self.times[-1]

    def end(self):
        self.connection.close()
        self.process.wait(60)


def sums(family):
    row = family.table("REQUEST_GET", "REQUEST")[0]
    return {name: value for name, value in row.items() if isinstance(value, int)}


def added(family, do):
    """What the sums have more of after that, and what it returns."""
    before = sums(family)
    found = do()
    after = sums(family)
    return {name: after[name] - before[name] for name in after}, found


def is_near(row, times):
    """Only where the guest's time is its own do those who ask wait what the program takes."""
    return not EXACT or abs(row["elapsed_ns"] - sum(times)) <= len(times) * NEAR_NS


def check_store(family, shower, text):
    """All that comes from the store was asked for, or is not answered."""
    answers = shower.store.answers

    def fetch():
        shower.ask("fetch", NUMBER)
        wait_until(lambda: shower.store.answers == answers + NUMBER)
        shower.store.push(NUMBER)
        shower.ask("fetch", 1)
        wait_until(lambda: shower.store.answers == answers + NUMBER + 1)
        time.sleep(REST)

    row, _ = added(family, fetch)
    note(f"{row}")
    return ok(row["requests"] <= 2 and row["unanswered"] == 0, text)


def check_asked(family, shower):
    """Once it waits for an answer at the end of its units the connection is known to be two-way."""
    for _ in range(4):
        shower.ask("sync", COMPUTE_US)
    for word in "draw", "sync", "ask", "frame":
        row, times = added(family, lambda: [shower.ask(word, COMPUTE_US) for _ in range(NUMBER)])
        note(f"{word}: {row}; {sum(times)} ns until it was drawn")
        ok(row["requests"] == NUMBER and row["unanswered"] == 0,
           f"{word}: each time that the program is asked unasked is a request")
        ok(is_near(row, times), f"{word}: and takes as long as it takes until it is drawn")
        if word == "ask":
            ok(row["peers_ns"] >= 0.9 * NUMBER * SHORT * 1e9,
               "ask: what it asks meanwhile is waiting for a peer")
            # The other side has the same CPU, and may have it meanwhile.
            more_ns = row["working_ns"] - NUMBER * COMPUTE_US * 1000
            ok(not EXACT or -NUMBER * NEAR_NS < more_ns < NUMBER * NEAR_NS + row["runqueue_ns"],
               "ask: and what it computes is in units")


def check_rest(family, shower):
    """What comes long after, by a timer, is not the answer; what is not answered is no request."""
    def blink():
        times = []
        for _ in range(NUMBER // 3):
            times.append(shower.ask("blink", BLINK_US))
            shower.hear(b"blink\n")
            time.sleep(REST)
        return times

    row, times = added(family, blink)
    note(f"blink: {row}; {sum(times)} ns until it was drawn")
    ok(row["requests"] == len(times) and is_near(row, times),
       "blink: what is drawn long after is not the request's")

    def quiet():
        times = []
        for _ in range(NUMBER // 3):
            shower.say("quiet", COMPUTE_US)
            time.sleep(REST)
            times.append(shower.ask("draw", COMPUTE_US))
        return times

    row, times = added(family, quiet)
    note(f"quiet: {row}; {sum(times)} ns until it was drawn")
    ok(row["requests"] == len(times) and row["unanswered"] == 0 and is_near(row, times),
       "quiet: what is not answered is no request, nor a part of the next one")


def main():
    shower = Shower()
    audit = Audit("--duration", LONG, "--top", 8, "-p", shower.process.pid)
    if not audit.next("ready"):
        raise RuntimeError(audit.finish().errors)
    family = Family()
    # The wait that the loop is in is not known to be one yet.
    for _ in range(4):
        shower.ask("draw", 1)
    ok(sums(family)["requests"] == 0, "what comes by a connection of which nothing is known is none")
    check_store(family, shower, "answers in parts, and news, are none either")
    check_asked(family, shower)
    check_store(family, shower, "nor are they once the program is asked by another connection")
    check_rest(family, shower)
    shower.end()
    audit.finish()
    note(f"{audit.kind('loop')}")
    slow = audit.kind("slow-request")
    note(f"{slow[:2]}")
    mine = f"process {subprocess.os.getpid()}"
    ok(slow and all(mine in one["client"] for one in slow), "who asks is named by its process")
    done()


main()
