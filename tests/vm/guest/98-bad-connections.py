# SPDX-License-Identifier: GPL-2.0
"""However connections are used, by more than there is room for, what is kept of them is bounded, and
no request is accounted to another client."""

import random
import socket
import struct
import subprocess
import threading
import time

from family import Family
from perfguard import EXACT, IS_SLOW, TOP, Audit, done, note, ok, wait_until
from recorded import Recorded
from service import Client, is_up

PORT = 7320
SERVER = str(TOP / "build/tests/vm/connections")
# More than there is room for.  The debug kernel has no memory for as many sockets.
MANY, ROOM = (20_000 if IS_SLOW else 100_000), 65_536
WORDS = ("plain", "dup", "pass", "fork", "sendfile", "splice")
ROUNDS = 4 if IS_SLOW else 20
GONE = 20 if IS_SLOW else 200       # clients that vanish
COMPUTE_US = 2_000
# Between two looks at clocks the host may do something else.
CLOCKS_NS = 1_000_000 if EXACT else 50_000_000


class Server:
    def __init__(self):
        self.process = subprocess.Popen([SERVER, str(PORT)], start_new_session=True)
        wait_until(lambda: is_up(PORT))

    def audited(self, do):
        """The requests that an audit of all its processes reports; do(audit's family)."""
        audit = Audit("--duration", 100_000, "--top", 8, "-e", SERVER)
        if not audit.next("ready"):
            raise RuntimeError(audit.finish().errors)
        warm = Client(PORT)
        for _ in range(8):
            warm.ask("plain", 1)
        do(Family())
        warm.end()
        audit.finish()
        return (audit.kind("requests") or [{}])[0]

    def end(self):
        subprocess.run(["pkill", "-KILL", "-s", str(self.process.pid)], check=False)
        self.process.wait()


def sums(family):
    return family.table("REQUEST_GET", "REQUEST")[0]


class Truth(Client):
    """A client that keeps when it waited."""

    def __init__(self, port):
        super().__init__(port)
        self.number = self.socket.getsockname()[1]
        self.waits = []

    def ask(self, what, us):
        begin = time.monotonic_ns()
        took = super().ask(what, us)
        self.waits.append((begin, begin + took))
        return took


def is_right(row, clients):
    """That the client of this port waited then."""
    port, begin, elapsed = row
    return any(first - CLOCKS_NS <= begin and elapsed <= last - first + CLOCKS_NS and
               begin <= last for client in clients if client.number == port for first, last in client.waits)


def check_uses(server):
    """Each way to use a descriptor is the same request to the client."""
    clients = {word: Truth(PORT) for word in WORDS}
    rows = []

    def talk(client, word):
        for number in range(ROUNDS):
            # Of a passed one the other process has the rest.
            client.ask(word if word != "pass" or not number else "plain", COMPUTE_US)

    def ask(family):
        recorded = Recorded(family)
        time.sleep(0.1)
        threads = [threading.Thread(target=talk, args=(client, word))
                   for word, client in clients.items()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        # The last one of each is over, too, then.
        for client in clients.values():
            client.ask("plain", 1)
        rows.extend(recorded.finish())
        for client in clients.values():
            client.end()

    server.audited(ask)
    for word, client in clients.items():
        mine = [row for row in rows if row[0] == client.number]
        wrong = [row for row in mine if not is_right(row, [client])]
        if not ok(len(mine) == ROUNDS and not wrong,
                  f"answered by {word}, each request is found once, within what its client waits"):
            note(f"{len(mine)} found; wrong: {wrong[:3]}; waits: {client.waits[:3]}")


def vanish(chance):
    """A client that is reset, or closes, before its answer or within it."""
    client = Truth(PORT)
    client.socket.sendall(f"plain {COMPUTE_US}\n".encode())
    begin = time.monotonic_ns()
    time.sleep(chance.random() * 2 * COMPUTE_US / 1e6)
    if chance.random() < 0.5:
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.end()
    client.waits.append((begin, time.monotonic_ns() + 10**9))
    return client


def check_gone(server):
    """Whose client has vanished is answered or not, and counts once; others are not mixed up."""
    chance = random.Random(1)
    stays = Truth(PORT)
    clients, rows, counted = [stays], [], {}

    def ask(family):
        before = sums(family)
        recorded = Recorded(family)
        for _ in range(GONE):
            clients.append(vanish(chance))
            stays.ask("plain", COMPUTE_US)
        wait_until(lambda: sums(family)["requests"] + sums(family)["unanswered"] >=
                   before["requests"] + before["unanswered"] + 2 * GONE)
        after = sums(family)
        counted.update({name: after[name] - before[name] for name in ("requests", "unanswered")})
        wait_until(lambda: sums(family)["connections"] <= 8, 20)
        counted["left"] = sums(family)["connections"]
        rows.extend(recorded.finish())

    server.audited(ask)
    note(f"{counted}; {len(rows)} recorded")
    ok(counted["requests"] + counted["unanswered"] == 2 * GONE, "each counts, whether answered or not")
    ok(counted["left"] <= 8, "the connections of those that vanished are gone")
    wrong = [row for row in rows if not is_right(row, clients)]
    if not ok(not wrong and len(rows) >= GONE - 1, "no request is another client's"):
        note(f"{wrong[:4]}")
    stays.end()


def check_unfollowed(server):
    """An answer by io_uring is not seen, and none ever given is none; others have theirs."""
    ring, silent, other = Truth(PORT), Truth(PORT), Truth(PORT)
    rows = []

    def ask(family):
        recorded = Recorded(family)
        silent.ask("silent", COMPUTE_US)
        for _ in range(ROUNDS):
            ring.ask("uring", COMPUTE_US)
            other.ask("plain", COMPUTE_US)
        other.ask("plain", 1)
        for client in ring, silent:
            client.end()
        wait_until(lambda: sums(family)["unanswered"] >= 2)
        rows.extend(recorded.finish())

    found = server.audited(ask)
    note(f"{found}")
    ok(found.get("unanswered") == 2, "what nobody was seen to answer is unanswered, once a connection")
    mine = [row for row in rows if row[0] == other.number]
    ok(len(mine) == ROUNDS and all(is_right(row, [other]) for row in mine),
       "and is not mixed up with what others asked")
    ok(not [row for row in rows if row[0] in (ring.number, silent.number)],
       "nor does it get another's answer")
    other.end()


def check_many(server):
    """Those that find no room are counted, and what was kept of the others goes."""
    client = Client(PORT)
    counted = {}

    def ask(family):
        client.ask("many", MANY)
        full = sums(family)
        counted["connections"], counted["refused"] = full["connections"], full["refused"]
        late = Client(PORT)
        counted["answered"] = late.ask("plain", 1) > 0
        late.end()
        client.ask("none", 1)
        wait_until(lambda: sums(family)["connections"] <= 8)
        counted["left"] = sums(family)["connections"]
        # There is room again.
        last = Client(PORT)
        before = sums(family)["requests"]
        for _ in range(3):
            last.ask("plain", 1)
        counted["again"] = sums(family)["requests"] - before
        last.end()

    server.audited(ask)
    note(f"{counted}")
    ok(MANY < ROOM or counted["connections"] <= ROOM, f"at most {ROOM} connections are kept")
    # Some more are, or are not, while the table grows.
    ok(counted["connections"] + counted["refused"] >= MANY and
       (counted["refused"] > 0) == (MANY > ROOM), "those that find no room are counted")
    ok(counted["answered"], "clients of refused connections are answered all the same")
    ok(counted["left"] <= 8 and counted["again"] >= 3, "once they are closed there is room again")
    client.end()


def main():
    server = Server()
    try:
        check_uses(server)
        check_gone(server)
        check_unfollowed(server)
        check_many(server)
    finally:
        server.end()
    done()


if __name__ == "__main__":
    main()
