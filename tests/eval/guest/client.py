# SPDX-License-Identifier: GPL-2.0
"""Send a labelled mix to a program that runs, and log each request.

usage: client.py PROGRAM [--connections N] [--requests N] [--seed N]
                         [--label LABEL | --without LABEL] [--pause SECONDS [--tail EXPONENT]]
                         [--pid PID --out DIR [--stamps]]

Each connection is a process that asks, waits for the answer, and asks again.  Labels come by
Zipf's law (1/rank), the same in each run with the same seed.  It ends after --requests (over
all connections), or on SIGTERM; --label leaves one label of the mix.  With --tail pauses are by
Pareto's law with this exponent, and SECONDS is their mean.  With --out these files are written there:
  requests.tsv    connection port label sent_ns answered_ns   (CLOCK_MONOTONIC)
  sockets.tsv     pid fd port: which of the server's files is which connection
With --stamps requests.tsv also has went_ns and came_ns: when the kernel sent the request and
received the end of its answer (CLOCK_REALTIME), whenever the client got the CPU.  The connections
ask once more at the end, without a row.
"""

import argparse
import os
import pathlib
import random
import re
import signal
import socket
import struct
import time
import traceback

import programs
from programs.program import ask, draw


# linux/net_tstamp.h: of what is sent, without its bytes, and of what is received, by software.
SO_TIMESTAMPING, STAMPS = 37, 1 << 1 | 1 << 3 | 1 << 4 | 1 << 11


class Stamped:
    """A connection by which the kernel says when packets left and came."""

    def __init__(self, connection):
        self.connection = connection
        self.went_ns = self.came_ns = 0
        # With a timeout, Python would wait for what is sent to be stamped, or for nothing.
        connection.settimeout(None)
        connection.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPING, STAMPS)

    @staticmethod
    def stamp_ns(ancillary):
        """0 without one: the kernel begins with what comes a while after it was asked to."""
        for _, kind, data in ancillary:
            if kind == SO_TIMESTAMPING:
                seconds, ns = struct.unpack_from("qq", data)
                return seconds * 10**9 + ns
        return 0

    def sendall(self, data):
        self.connection.sendall(data)
        self.went_ns = self.stamp_ns(self.connection.recvmsg(0, 512, socket.MSG_ERRQUEUE)[1])

    def recv(self, size):
        data, ancillary, *_ = self.connection.recvmsg(size, 512)
        if data:
            self.came_ns = self.stamp_ns(ancillary)
        return data

    def close(self):
        self.connection.close()


class Stop:
    """Set by SIGTERM; checked between two requests."""

    def __init__(self):
        self.requested = False
        signal.signal(signal.SIGTERM, self.ask)

    def ask(self, *_):
        self.requested = True


def pause(chance, arguments):
    """How long the next one is, s."""
    tail = arguments.tail
    if not tail:
        return arguments.pause
    return arguments.pause * (tail - 1) / tail * chance.paretovariate(tail)


def talk(number, arguments, ready, go):
    """One connection's life; its log as text."""
    stop = Stop()
    program = programs.load(arguments.program)
    mix = program.mix(number, arguments.connections, arguments.seed)
    chance = random.Random(arguments.seed * 1000 + number)
    labels = [arguments.label] if arguments.label else \
        [label for label in mix.labels if label != arguments.without]
    connection = program.connect()
    port = connection.getsockname()[1]
    if arguments.stamps:
        connection = Stamped(connection)
    # The server takes the connection with the first request at the latest.
    if arguments.out:
        ask(mix, connection, mix.labels[0])
    os.write(ready, b".")
    os.read(go, 1)
    rows = []
    left = arguments.requests // arguments.connections if arguments.requests else -1
    clock = time.monotonic_ns
    while left and not stop.requested:
        for label in draw(chance, labels, 100):
            if not left or stop.requested:
                break
            label = mix.choose(label)
            data = mix.request(label)
            sent = clock()
            connection.sendall(data)
            mix.answer(connection, label)
            row = [port, label, sent, clock()]
            rows.append(row + [connection.went_ns, connection.came_ns] if arguments.stamps else row)
            left -= 1
            if arguments.pause:
                time.sleep(pause(chance, arguments))
    if arguments.stamps:
        ask(mix, connection, mix.labels[0])
    connection.close()
    return "".join("\t".join(map(str, [number, *row])) + "\n" for row in rows)


def ports_by_inode():
    """Peer ports of all TCP connections of this machine, by the socket's inode."""
    table = {}
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        table[words[9]] = int(words[2].rsplit(":", 1)[1], 16)
    return table


def sockets(pid):
    """Rows (pid, fd, peer port) of a process' connections."""
    ports = ports_by_inode()
    for fd in sorted(pathlib.Path(f"/proc/{pid}/fd").iterdir(), key=lambda path: int(path.name)):
        try:
            match = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(fd))
        except OSError:
            continue
        if match and ports.get(match[1]):
            yield pid, int(fd.name), ports[match[1]]


def fork_connections(arguments, go):
    """[(pid, pipe of its log)], all of them connected."""
    ready_read, ready_write = os.pipe()
    children = []
    for number in range(arguments.connections):
        log_read, log_write = os.pipe()
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                os.close(go[1])
                os.close(log_read)
                with os.fdopen(log_write, "w") as log:
                    log.write(talk(number, arguments, ready_write, go[0]))
                code = 0
            except Exception:  # pylint: disable=broad-except
                traceback.print_exc()
            finally:
                os._exit(code)
        os.close(log_write)
        children.append((pid, os.fdopen(log_read)))
    os.close(ready_write)
    connected = b""
    while len(connected) < arguments.connections:
        more = os.read(ready_read, arguments.connections)
        if not more:
            raise SystemExit("client: a connection could not be made")
        connected += more
    return children


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--connections", type=int, default=1)
    parser.add_argument("--requests", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--label")
    parser.add_argument("--without")
    parser.add_argument("--pause", type=float, default=0)
    parser.add_argument("--tail", type=float, default=0)
    parser.add_argument("--pid", type=int, default=0)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--stamps", action="store_true")
    arguments = parser.parse_args()
    go = os.pipe()
    children = fork_connections(arguments, go)
    signal.signal(signal.SIGTERM, lambda *_: [os.kill(pid, signal.SIGTERM) for pid, _ in children])
    if arguments.out:
        rows = "".join("\t".join(map(str, row)) + "\n" for row in sockets(arguments.pid))
        (arguments.out / "sockets.tsv").write_text("pid\tfd\tport\n" + rows)
    os.write(go[1], b"." * arguments.connections)
    logs = [log.read() for _, log in children]
    codes = [os.waitpid(pid, 0)[1] for pid, _ in children]
    if arguments.out:
        (arguments.out / "requests.tsv").write_text(
            "connection\tport\tlabel\tsent_ns\tanswered_ns" +
            ("\twent_ns\tcame_ns\n" if arguments.stamps else "\n") + "".join(logs))
    if any(codes):
        raise SystemExit("client: a connection failed")


main()
