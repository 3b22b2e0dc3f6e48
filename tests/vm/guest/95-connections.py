# SPDX-License-Identifier: GPL-2.0
"""What a client waits for is the request that an audit reports, and each of its parts is named."""

import os
import signal
import socket
import threading
import time

from family import Family
from perfguard import EXACT, IS_SLOW, Audit, done, note, ok
from recorded import Begun, Recorded
from service import Client, Peer, ask_who, start

PORT, PEER = 7300, 7301
COMPUTE_US, ASK_US, SHORT_US, LONG_US = 3_000, 40_000, 24_000, 120_000
LIMIT_MS, LATE_US = (200, 2_000_000) if IS_SLOW else (40, 400_000)
NUMBER = 40
NEAR_NS = 1_000_000
TICK_NS = 4_000_000


class Server:
    def __init__(self):
        self.process = start(PORT, PEER)
        self.clients = []

    def client(self):
        self.clients.append(Client(PORT))
        return self.clients[-1]

    def waited(self, address):
        """What the client of this address did, ns each."""
        return next(one.times for one in self.clients if one.address == address)

    def audited(self, do, *options, before=()):
        """What an audit says of the requests that are made meanwhile, with the slowest first."""
        first = self.client()
        audit = Audit("--duration", 600, "--top", 8, *options, "-p", self.process.pid)
        self.audit = audit
        if not audit.next("ready"):
            return {}, []
        # The wait that the loop is in is not known to be one yet.
        first.ask("compute", 1)
        for what in before:
            first.ask(what, 1)
        do()
        audit.finish()
        requests = audit.kind("requests")
        return requests[0] if requests else {}, audit.kind("slow-request")

    def end(self):
        for client in self.clients:
            client.socket.close()
        self.process.kill()
        self.process.wait()


def is_near(value_ns, wanted_ns, near_ns=NEAR_NS):
    """Only where the guest's time is its own is the client's what the server took."""
    return not EXACT or abs(value_ns - wanted_ns) <= max(0.02 * wanted_ns, near_ns)


def waits_for_peer(request):
    """For the most part, once it was its turn: the audit has the CPU, too."""
    times = request["time_ns"]
    return times["peers"] > 0.9 * (times["elapsed"] - times["queued"])


def check_times(server):
    """Each request counts once, and takes what the client waits for it."""
    client = server.client()

    def ask():
        for _ in range(NUMBER):
            client.ask("compute", COMPUTE_US)
            client.ask("ask", ASK_US)
        client.end()

    all_, slow = server.audited(ask)
    note(f"{all_}; {sum(client.times)} ns by the client")
    note(f"slowest: {slow[:2]}; by the client: {sorted(client.times)[-3:]}")
    if not ok(all_.get("requests") == 2 * NUMBER + 1 and all_["unanswered"] == 0,
              "requests of a connection are distinguished"):
        return
    ok(is_near(all_["time_ns"]["elapsed"] / 2 / NUMBER, sum(client.times) / 2 / NUMBER),
       "they take what the client waits")
    # The client may have to wait for the audit, too, before it has its answer.
    ok(ASK_US * 1000 < slow[0]["time_ns"]["elapsed"] <= max(server.waited(slow[0]["client"])),
       "the slowest one is within what the client waits")
    named = [one for one in slow if one["peer"] == f"127.0.0.1:{PEER}" and
             (waits_for_peer(one) or not EXACT)]
    ok(len(named) == len(slow) if EXACT else named,
       "waiting for a peer is named, with its address")
    ok(is_near(all_["time_ns"]["units"] / NUMBER, COMPUTE_US * 1000),
       "and the time in units is what is computed")


def check_pool(server):
    """What a thread of a pool does for a client is its request's, and so is whom it asks."""
    client = server.client()

    def ask():
        for _ in range(NUMBER):
            for what, us in ("pool", COMPUTE_US), ("poolask", ASK_US):
                # A worker that is awake yet is not woken, which is how work is seen to be given.
                time.sleep(0.005)
                client.ask(what, us)
        client.end()

    # Where threads wait for work is known once they were woken there.
    before = ["pool"] * 12
    all_, slow = server.audited(ask, before=before)
    note(f"{all_.get('time_ns')}; {sum(client.times)} ns by the client")
    if not ok(all_.get("requests") == 2 * NUMBER + 1 + len(before),
              "requests that are handed over count once"):
        return
    times = all_["time_ns"]
    ok(is_near(times["elapsed"] / 2 / NUMBER, sum(client.times) / 2 / NUMBER),
       "they take what the client waits")
    ok(is_near(times["units"] / NUMBER, COMPUTE_US * 1000), "what a worker computes is theirs")
    ok(is_near(times["peers"] / NUMBER, ASK_US * 1000), "and so is what it waits for a peer")
    ok(0 < times["handed"] < times["elapsed"] / 10 or not EXACT, "the way to it is a part, too")
    ok(times["between"] < times["elapsed"] / 100 or not EXACT, "next to nothing is unknown")
    named = [one for one in slow if one["peer"] == f"127.0.0.1:{PEER}"]
    ok(len(named) == len(slow) if EXACT else named, "the peer is named")


def check_full_pool(server):
    """Who has a request is known, too, where workers find it while they are awake, or another's."""
    recorded, asked = [], []

    def ask():
        recorded.append(Recorded(Family()))
        ask_who(PORT, 4, NUMBER, 0.004, asked)
        recorded[0].finish()

    server.audited(ask, before=["pool"] * 12)
    begun = Begun(recorded[0])
    found = [([row for row in begun.within(port, first, last) if row[1] == server.process.pid],
              (worker, giver)) for port, first, last, giver, worker in asked]
    seen = [one for one in found if one[0]]
    right = sum(rows == [truth] for rows, truth in seen)
    note(f"of {len(found)} hand-overs {len(seen)} are seen, {right} of them as they were")
    ok(len(seen) >= (0.8 if EXACT else 0.5) * len(found), "hand-overs in a full pool are seen")
    ok(right >= (0.98 if EXACT else 0.8) * len(seen), "and are as they were")


def check_signal(server):
    """Who waits for a signal, as of who has a lock, waits for who sends it."""
    client = server.client()

    def ask():
        for _ in range(NUMBER // 4):
            timer = threading.Timer(ASK_US / 1e6, os.kill, (server.process.pid, signal.SIGURG))
            timer.start()
            client.ask("signal", 0)
            timer.join()
        client.end()

    all_, slow = server.audited(ask)
    note(f"{all_}; {sum(client.times)} ns by the client")
    ok(all_.get("requests") == NUMBER // 4 + 1 and
       is_near(all_["time_ns"]["elapsed"], sum(client.times)) and
       all_["time_ns"]["peers"] > (0.9 if EXACT else 0.5) * all_["time_ns"]["elapsed"],
       "that time is waiting for others")
    names = {one["peer"] for one in slow if one["time_ns"]["peers"]}
    ok(names == {f"process {os.getpid()}"}, f"and who sent it is named: {names}")


def check_timer(server):
    """What is answered later, by the wait's own time or a timer's descriptor, waits for a timer."""
    client = server.client()

    def ask():
        for what in ("pause", "timer"):
            for _ in range(NUMBER // 8):
                client.ask(what, ASK_US)
                client.ask("compute", 1)
        client.end()

    all_, slow = server.audited(ask)
    note(f"{all_}; {sum(client.times)} ns by the client")
    ok(is_near(all_["time_ns"]["elapsed"], sum(client.times)) and
       all_["time_ns"]["timer"] > (0.9 if EXACT else 0.5) * all_["time_ns"]["elapsed"],
       "that time is waiting for a timer")
    ok(all_["time_ns"]["between"] < all_["time_ns"]["elapsed"] / 20 or not EXACT,
       "next to nothing is unknown")


def check_each(server):
    """Each request is written to the training stream, once the next one is read."""
    client = server.client()
    port = client.socket.getsockname()[1]
    rows = []

    def ask():
        recorded = Recorded(Family())
        # Its begin takes the CPU for which the client would wait.
        time.sleep(0.1)
        for _ in range(NUMBER // 8):
            client.ask("compute", COMPUTE_US)
            client.ask("ask", ASK_US)
            # The kernel holds the second half back until the client has acknowledged the first.
            client.ask("halves", COMPUTE_US)
        client.ask("compute", COMPUTE_US)
        rows.extend(row for row in recorded.finish() if row[0] == port)
        client.end()

    server.audited(ask)
    note(f"recorded: {rows}; by the client: {client.times}")
    if ok(len(rows) == len(client.times) - 1, "each request is recorded"):
        ok(all(is_near(ns, wanted_ns) for (_, _, ns), wanted_ns in zip(rows, client.times)),
           "and each takes what its client waits, also for what the kernel holds back")


def check_queue(server, busy_us, near_ns):
    """What comes while the loop is busy waits to be read."""
    first, second = server.client(), server.client()

    def ask():
        busy = threading.Thread(target=first.ask, args=("compute", busy_us))
        busy.start()
        time.sleep(busy_us / 4e6)
        second.ask("compute", COMPUTE_US)
        busy.join()
        first.end()
        second.end()

    _, slow = server.audited(ask)
    one = next((one for one in slow if one["time_ns"]["queued"] > busy_us * 1000 / 2), None)
    if ok(one, "a request waited for its turn"):
        note(f"{one}; by the client: {second.times[-1]}")
        ok(is_near(one["time_ns"]["elapsed"], second.times[-1], near_ns),
           "for as long as the client did")


def check_unanswered(server):
    client = server.client()

    def ask():
        client.ask("silent", COMPUTE_US)
        time.sleep(0.1)
        client.end()
        # Until it has closed its side, too.
        time.sleep(0.5)

    all_, _ = server.audited(ask)
    ok(all_.get("unanswered") == 1, "one whose connection is closed before has no answer")


def check_late(server):
    """A request that waits for a peer is reported while it does, and when it has its answer."""
    client = server.client()

    def ask():
        client.ask("ask", LATE_US)
        # Until it is clear that nothing more is said.
        time.sleep(1)
        client.ask("compute", LATE_US)
        client.ask("compute", 1)
        client.ask("ask", LATE_US)
        client.end()
        time.sleep(1)

    server.audited(ask, "--slower-than", f"{LIMIT_MS}ms")
    late = server.audit.kind("request")
    for one in late:
        note(f"{one['state']}: {one['cause']}, {one['time_ns']}, connection {one['connection']}")
    states = [one["state"] for one in late]
    if not ok(states.count("answered") == 3, "each of three late requests is reported at its end"):
        return
    first, last = states.index("answered"), len(states) - 1
    # Where all takes long it may be reported before the peer is asked.
    ok(first >= 1 and late[first - 1]["cause"] == f"waiting for 127.0.0.1:{PEER}",
       "the first one while it waits for a peer, who is named")
    ok(late[0]["time_ns"]["elapsed"] < LATE_US * 1000 * 3 / 4, "before it has its answer")
    ok(is_near(late[first]["time_ns"]["elapsed"], client.times[0], 2_000_000),
       "at its end its time is what the client waited")
    computed = next((one for one in late[first + 1:] if one["cause"] == "in its own units"), None)
    ok(computed and computed["unit"], "the second one with the unit that works for it")
    ok(states[last] == "answered", "the last one, whose connection is closed, as well")


def stack_of(late, client):
    """The functions in which who worked for the client's request was seen, the innermost first."""
    for one in late:
        if one["client"] == client.address and one["stacks"]:
            return [(frame["module"], frame["offset"] - (frame["function_offset"] or 0))
                    for frame in one["stacks"][0]["frames"]], one
    return [], {}


def check_worker(server):
    """Of a request that is worked for the stack is reported, of whichever thread does that."""
    by_loop, by_worker, asking = server.client(), server.client(), server.client()

    def ask():
        by_loop.ask("compute", LATE_US)
        by_worker.ask("pool", LATE_US)
        asking.ask("ask", LATE_US)
        time.sleep(1)

    server.audited(ask, "--slower-than", f"{LIMIT_MS}ms", before=["pool"] * 12)
    late = server.audit.kind("request")
    (loop, first), (worker, second) = stack_of(late, by_loop), stack_of(late, by_worker)
    note(f"{first.get('cause')}: {loop}")
    note(f"{second.get('cause')}: {worker}")
    for one in late if not worker else []:
        note(f"{one['client']} {one['state']}: {one['cause']}, unit {one['unit']}, "
             f"{len(one['stacks'])} stacks, {one['time_ns']}")
    ok(loop and worker and first["tid"] == first["unit_tid"] and
       second["tid"] != second["unit_tid"], "who works for a late request is seen at it")
    ok([one for one in loop if one in worker] and loop[-1] != worker[-1],
       "in what it computes, and by its own stack")
    ok(not stack_of(late, asking)[0], "who waits for another is not")


def check_unread(server):
    """What waits behind another request is reported before anybody has read it."""
    first, second = server.client(), server.client()

    def ask():
        busy = threading.Thread(target=first.ask, args=("compute", LATE_US))
        second.ask("compute", 1)
        busy.start()
        time.sleep(LATE_US / 4e6)
        second.ask("compute", 1)
        busy.join()
        time.sleep(1)

    server.audited(ask, "--slower-than", f"{LIMIT_MS}ms")
    late = [one for one in server.audit.kind("request") if one["client"] == second.address]
    for one in late:
        note(f"{one['state']}: {one['cause']}, {one['time_ns']}")
    if ok(late, "a request that waits to be read is reported"):
        ok(late[0]["cause"] == "queued" and late[0]["state"] == "lasts", "as what it is")
        busy = stack_of(server.audit.kind("request"), first)[0]
        # The innermost frames are chance: it may be about to look at the clock, or within that.
        other = stack_of(late, second)[0]
        outer = min(len(busy), len(other)) - 3
        ok(outer > 1 and other[-outer:] == busy[-outer:],
           "with where the thread is that is to read it")
        ok([one["state"] for one in late].count("answered") == 1 and
           late[-1]["cause"] == "queued", "and once with its answer")


def main():
    peer = Peer(PEER)
    server = Server()
    check_times(server)
    check_pool(server)
    check_full_pool(server)
    check_signal(server)
    check_timer(server)
    check_each(server)
    if EXACT:
        # The client may have to wait for the CPU between its look at the clock and the packet.
        check_queue(server, SHORT_US, TICK_NS)
        # The kernel has acknowledged it meanwhile, and only knows the tick in which it came.
        check_queue(server, LONG_US, 2 * TICK_NS)
    check_unanswered(server)
    check_late(server)
    check_worker(server)
    check_unread(server)
    server.end()
    peer.shutdown()
    done()


if __name__ == "__main__":
    main()
