# SPDX-License-Identifier: GPL-2.0
"""The server that is asked (../service.c), its clients, and the peer that it asks."""

import random
import socket
import socketserver
import subprocess
import threading
import time

from perfguard import TOP, wait_until

SERVICE = str(TOP / "build/tests/vm/service")


class Peer(socketserver.ThreadingTCPServer):
    """Answers each line as many us later as it says."""

    allow_reuse_address = daemon_threads = True

    class RequestHandlerClass(socketserver.StreamRequestHandler):
        def handle(self):
            for line in self.rfile:
                time.sleep(int(line) / 1e6)
                self.wfile.write(b"ok\n")

    def __init__(self, port):
        super().__init__(("127.0.0.1", port), self.RequestHandlerClass)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Client:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.address = "{}:{}".format(*self.socket.getsockname())
        self.times = []

    def ask(self, what, us, *more):
        """How long the answer took, ns; also kept."""
        begin = time.monotonic_ns()
        self.socket.sendall(" ".join(map(str, (what, us, *more))).encode() + b"\n")
        if what != "silent" and self.socket.recv(3, socket.MSG_WAITALL) != b"ok\n":
            raise RuntimeError(f"no answer to {what}")
        self.times.append(time.monotonic_ns() - begin)
        return self.times[-1]

    def end(self):
        self.socket.close()


def ask_who_once(port, requests, pause, seed, found):
    chance = random.Random(seed)
    with socket.create_connection(("127.0.0.1", port)) as connection:
        own_port = connection.getsockname()[1]
        for _ in range(requests):
            begin = time.monotonic_ns()
            connection.sendall(f"poolwho {chance.randrange(200, 3000)}\n".encode())
            giver, worker = map(int, connection.recv(64).split())
            found.append((own_port, begin, time.monotonic_ns(), giver, worker))
            time.sleep(chance.random() * 2 * pause)


def ask_who(port, clients, requests, pause, found):
    """
    So many clients of a pool ask, and pause so many s between requests.  The answers say who gave the
    work, and who had it; found gets [(the client's port, when asked, when answered, both threads)].
    """
    threads = [threading.Thread(target=ask_who_once, args=(port, requests, pause, seed, found))
               for seed in range(clients)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()


def is_up(where):
    family, address = socket.AF_INET, ("127.0.0.1", where)
    if isinstance(where, str):
        family, address = socket.AF_UNIX, where.replace("@", "\0")
    with socket.socket(family) as probe:
        return probe.connect_ex(address) == 0


def start(where, peer):
    """The process of a server at a port, a path or "@" and a name, which asks the peer there."""
    process = subprocess.Popen([SERVICE, str(where), str(peer)])
    wait_until(lambda: is_up(where))
    return process
