# SPDX-License-Identifier: GPL-2.0
"""Requests by datagrams: whose they are, what they take, and those that nobody answers."""

import json
import pathlib
import socket
import struct
import subprocess
import threading
import time

from perfguard import (EXACT, IS_SLOW, LONG, PATIENCE, TOP, Audit, done, note, ok,
                       wait_until, watching)

PORT, PEER, BEHIND = 7320, 7321, 7322
COMPUTE_US, ASK_US = 3_000, 40_000
LIMIT_MS, LATE_US = (200, 2_000_000) if IS_SLOW else (40, 400_000)
NUMBER = 40
NEAR_NS = 1_000_000
ROOM, FOR_ALL = 32768, 65536    # connections by datagrams, and all of a target
BATCH = 64
GOES = 31                       # no answer is waited for so long, s


class Peer:
    """Sends each datagram back, as many us later as it says."""

    def __init__(self, port):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", port))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            data, asker = self.socket.recvfrom(64)
            threading.Thread(target=self.answer, args=(data, asker), daemon=True).start()

    def answer(self, data, asker):
        time.sleep(int(data.split()[0]) / 1e6)
        self.socket.sendto(data, asker)


class Client:
    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect(("127.0.0.1", PORT))
        self.address = "{}:{}".format(*self.socket.getsockname())
        self.times = []

    def ask(self, what, us):
        """How long the answer took, ns; also kept."""
        begin = time.monotonic_ns()
        self.socket.send(f"{what} {us}".encode())
        if what != "silent" and self.socket.recv(3) != b"ok":
            raise RuntimeError(f"no answer to {what}")
        self.times.append(time.monotonic_ns() - begin)
        return self.times[-1]


class Server:
    def __init__(self, *options, port=PORT, peer=PEER):
        self.process = subprocess.Popen([str(TOP / "build/tests/vm/datagrams"), str(port),
                                         str(peer), *options])
        table = pathlib.Path("/proc/net/udp")
        wait_until(lambda: f":{port:04X} " in table.read_text(encoding="ascii"))
        self.audit = None

    def audited(self, do, *options, before=("compute",)):
        """What an audit says of the requests that are made meanwhile, with the slowest first."""
        self.audit = Audit("--duration", 6000, "--top", 8, *options, "-p", self.process.pid)
        if not self.audit.next("ready"):
            return {}, []
        first = Client()
        # The wait that the loop is in is not known to be one yet.
        for what in before:
            first.ask(what, 1)
        do()
        self.audit.finish()
        requests = self.audit.kind("requests")
        return requests[0] if requests else {}, self.audit.kind("slow-request")

    def late(self):
        for one in self.audit.kind("request"):
            note(f"{one['state']}: {one['cause']}, {one['time_ns']}, {one['client']}")
        return self.audit.kind("request")

    def end(self):
        self.process.kill()
        self.process.wait()


def is_near(value_ns, wanted_ns, near_ns=NEAR_NS):
    """Only where the guest's time is its own is the client's what the server took."""
    return not EXACT or abs(value_ns - wanted_ns) <= max(0.02 * wanted_ns, near_ns)


def check_times(server, how):
    """Each request counts once, and takes what its client waits for it."""
    one, other = Client(), Client()

    def ask():
        for _ in range(NUMBER // 2):
            for client in one, other:
                client.ask("compute", COMPUTE_US)
                client.ask("ask", ASK_US)

    all_, slow = server.audited(ask)
    times = one.times + other.times
    note(f"{all_}; {sum(times)} ns by the clients; slowest {slow[:2]}")
    if not ok(all_.get("requests") == 2 * NUMBER + 1 and all_["unanswered"] == 0,
              f"requests {how} are distinguished"):
        return
    ok(is_near(all_["time_ns"]["elapsed"] / 2 / NUMBER, sum(times) / 2 / NUMBER),
       "they take what their clients wait")
    named = [each for each in slow if each["peer"] == f"127.0.0.1:{PEER}" and
             each["client"] in (one.address, other.address) and
             (each["time_ns"]["peers"] > 0.9 * each["time_ns"]["elapsed"] or not EXACT)]
    ok(len(named) == len(slow) if EXACT else named,
       "waiting for a peer is named, with its address, and the client's")
    ok(is_near(all_["time_ns"]["units"] / NUMBER, COMPUTE_US * 1000),
       "and the time in units is what is computed")


def check_both(server):
    """Two that ask the same peer at once by one socket: the first answer is for the first."""
    one, other = Client(), Client()

    def ask():
        for _ in range(NUMBER // 4):
            first = threading.Thread(target=one.ask, args=("ask", ASK_US))
            first.start()
            time.sleep(ASK_US / 4e6)
            other.ask("ask", ASK_US)
            first.join()

    all_, _ = server.audited(ask)
    note(f"{all_}; {one.times[:4]} {other.times[:4]}")
    ok(all_.get("requests") == 2 * (NUMBER // 4) + 1 and
       is_near(all_["time_ns"]["peers"], sum(one.times + other.times), NEAR_NS * NUMBER / 2),
       "what is asked for two clients at once is for each of them")


def check_late(server):
    """A request that waits for a peer is reported while it does, and when it has its answer."""
    client = Client()

    def ask():
        client.ask("ask", LATE_US)
        # Until it is clear that nothing more is said.
        time.sleep(1)
        client.ask("compute", LATE_US)
        client.ask("compute", 1)

    server.audited(ask, "--slower-than", f"{LIMIT_MS}ms")
    late = server.late()
    states = [one["state"] for one in late]
    if not ok(states.count("answered") == 2, "each of two late requests is reported at its end"):
        return
    first = states.index("answered")
    ok(first >= 1 and late[first - 1]["cause"] == f"waiting for 127.0.0.1:{PEER}",
       "the first one while it waits for a peer, who is named")
    ok(late[0]["time_ns"]["elapsed"] < LATE_US * 1000 * 3 / 4, "before it has its answer")
    ok(is_near(late[first]["time_ns"]["elapsed"], client.times[0], 2_000_000),
       "at its end its time is what the client waited")
    ok(any(one["cause"] == "in its own units" and one["unit"] for one in late[first + 1:]),
       "the second one with the unit that works for it")


def check_unanswered(server):
    """What is never answered is late for a while, and then over."""
    client = Client()

    def ask():
        client.ask("silent", 1)
        time.sleep(GOES + 2)

    all_, _ = server.audited(ask, "--slower-than", f"{LIMIT_MS}ms")
    states = [one["state"] for one in server.late()]
    ok(all_.get("unanswered") == 1, "one that has no answer for long is over")
    ok(2 <= len(states) <= 16 and states[-1] == "unanswered" and
       set(states[:-1]) == {"lasts"}, "it was reported meanwhile, and that it has no answer")
    ok(all_.get("connections", 9) <= 4, "and is not kept")


def check_listener(server):
    """By a socket that answers nobody there are no requests."""
    clients = [Client() for _ in range(8)]

    def ask():
        for client in clients:
            client.ask("silent", 1)
        time.sleep(8 * LIMIT_MS / 1000)

    all_, _ = server.audited(ask, "--slower-than", f"{LIMIT_MS}ms", before=("silent",))
    ok(not server.late() and not all_.get("requests"), "who only listens is not late")


class Spoofed:
    """Sends in the name of ever other addresses."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
        self.number = 0

    def send(self, text):
        self.number += 1
        source = bytes([127, 1 + (self.number >> 16), self.number >> 8 & 255, self.number & 255])
        port = 20000 + self.number % 10000
        # The kernel fills in lengths and checksum of IP; UDP may be without.
        header = struct.pack("!BBHHHBBH4s4s", 69, 0, 28 + len(text), 0, 0, 64, 17, 0, source,
                             bytes([127, 0, 0, 1]))
        self.socket.sendto(header + struct.pack("!4H", port, PORT, 8 + len(text), 0) + text,
                           ("127.0.0.1", 0))


def flood(server, number, *options):
    """What an audit says while so many addresses send something, and get no answer."""
    spoofed, client = Spoofed(), Client()

    def ask():
        for i in range(number):
            spoofed.send(b"silent 0")
            if i % BATCH == 0:
                # The socket has room for so many.
                client.ask("compute", 0)

    all_, _ = server.audited(ask, *options)
    note(f"{all_}")
    return all_


def check_many(server):
    """However many addresses there are, connections are bounded, and who found no room counts."""
    number = ROOM // 10 if IS_SLOW else ROOM + 10 * BATCH
    if not IS_SLOW:
        # With such a limit those without an answer are kept until it has passed twice.
        all_ = flood(server, number, "--slower-than", "3000s")
        ok(all_.get("connections", FOR_ALL) <= ROOM + 8, "so many addresses have room")
        ok(all_.get("refused", 0) >= number - ROOM, "and those that found none count")
    all_ = flood(server, number)
    ok(all_.get("connections", FOR_ALL) <= ROOM + 8 and
       all_["unanswered"] + all_["connections"] + all_["refused"] >= number,
       "without a limit they go sooner, and each one counts")


def check_chain():
    """Where whom it waits for is watched as well, it is said what that does."""
    servers = Server(port=BEHIND), Server(peer=BEHIND)
    client = Client()
    audits = [Audit("--duration", LONG, "--slower-than", f"{LIMIT_MS}ms", "-p",
                    server.process.pid) for server in servers]
    ready = [audit.next("ready") for audit in audits]
    with watching("--json", text=True, stdout=subprocess.PIPE) as watch:
        for _ in range(5):
            client.ask("ask", 1000)
        client.ask("ask", LATE_US)
        time.sleep(1)
        watch.send_signal(2)
        lines = [json.loads(line) for line in watch.communicate(timeout=PATIENCE)[0].splitlines()]
    late = [line for line in lines if line["kind"] == "request" and
            line["peer"] == f"127.0.0.1:{BEHIND}"]
    for line in late:
        note(f"{line['state']}: {line['cause']}, via {line['via']}, there {line.get('there')}")
    there = [line["there"] for line in late if "there" in line]
    ok(all(ready) and there and all(one["pid"] == servers[0].process.pid and
                                    one["cause"] == "in its own units" for one in there),
       "a request is followed to the process that works for it")
    for audit in audits:
        audit.finish()
    for server in servers:
        server.end()


def main():
    peer = Peer(PEER)
    server = Server()
    check_listener(server)
    check_times(server, "by one socket")
    check_both(server)
    check_late(server)
    check_unanswered(server)
    check_many(server)
    server.end()
    server = Server("several")
    check_times(server, "by calls for several")
    server.end()
    check_chain()
    peer.socket.close()
    done()


if __name__ == "__main__":
    main()
