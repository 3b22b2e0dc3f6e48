#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Many machines' alerts into one stream, while servers, forwarders and the network fail.

usage: fleet.py [--machines N] [--alerts N] [--seconds N]

Each machine is a spool with made alerts (tests/unit/make-spool.c) and a real forwarder; the server
is a real one.  Writes tests/eval/results/fleet.md.  Exit: 0 if each alert of each machine is in the
stream once, 1 if not.
"""

import argparse
import contextlib
import os
import pathlib
import random
import shutil
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import threading
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(TOP / "tests/eval"), str(TOP / "tests/consumers")]
import check_stream  # noqa: E402
import nats_client  # noqa: E402
import vm  # noqa: E402

BUILD = TOP / os.environ.get("BUILD", "build")
MAKE_SPOOL = BUILD / "tests/unit/make-spool"
SUBJECT, STREAM = "perfguard", "perfguard-alerts"
CUT_OFF = 7  # the machine that has no network for a while
TICKS = os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def cpu_s(pid):
    """CPU seconds of a process so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory_kib(pid, what):
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith(what + ":"):
            return int(line.split()[1])
    return 0


class Server:
    def __init__(self, directory):
        self.port, self.directory = free_port(), directory
        self.cpu = 0.0
        self.most_kib = 0
        self.process = None

    def start(self):
        log = open(f"{self.directory}.log", "ab")
        self.process = subprocess.Popen(
            ["nats-server", "-a", "127.0.0.1", "-p", str(self.port), "-js", "-sd", self.directory],
            stdout=log, stderr=log)
        while True:
            try:
                client = nats_client.Client(self.port)
                if client.api("INFO"):
                    return
            except (OSError, ConnectionError, IndexError):
                pass
            time.sleep(0.05)

    def look(self):
        self.most_kib = max(self.most_kib, memory_kib(self.process.pid, "Rss"))

    def end(self, how=signal.SIGKILL):
        self.look()
        self.cpu += cpu_s(self.process.pid)
        self.process.send_signal(how)
        self.process.wait()

    def all_cpu(self):
        return self.cpu + cpu_s(self.process.pid)


class Proxy:
    """Between one machine and the server; when it is cut, nothing passes, and nobody is notified."""

    def __init__(self, to):
        self.to, self.is_cut = to, False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            try:
                server = socket.create_connection(("127.0.0.1", self.to))
            except OSError:
                client.close()
                continue
            for pair in ((client, server), (server, client)):
                threading.Thread(target=self.copy, args=pair, daemon=True).start()

    def copy(self, source, sink):
        try:
            while data := source.recv(65536):
                while self.is_cut:
                    time.sleep(0.05)
                sink.sendall(data)
        except OSError:
            pass
        for one in (source, sink):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Fleet:
    def __init__(self, directory, nr, server, proxy=None):
        self.directory, self.nr = directory, nr
        self.log = open(directory / "forwarders.log", "ab")
        self.processes = {}
        self.killed = 0
        self.cpu = 0.0
        for number in range(nr):
            port = proxy.port if proxy and number == CUT_OFF else server.port
            (directory / f"{number}").mkdir(exist_ok=True)
            (directory / f"{number}/conf").write_text(
                f"spool = {directory}/{number}/spool\nmachine = m{number}\n"
                f"nats = nats://127.0.0.1:{port}\n")

    def start(self, number):
        self.processes[number] = subprocess.Popen(
            [TOP / "pg-collect", "forward", "--child", "--config", f"{self.directory}/{number}/conf"],
            stdout=self.log, stderr=self.log)

    def start_all(self):
        for number in range(self.nr):
            self.start(number)

    def end(self, number, how):
        process = self.processes.pop(number)
        self.cpu += cpu_s(process.pid)
        process.send_signal(how)
        process.wait()
        self.killed += how == signal.SIGKILL

    def end_all(self):
        for number in list(self.processes):
            self.end(number, signal.SIGTERM)

    def all_cpu(self):
        return self.cpu + sum(cpu_s(process.pid) for process in self.processes.values())

    def sums(self):
        """(passed, lost, refused, retries, still in the spools behind the cursors)"""
        ret = [0] * 5
        for number in range(self.nr):
            db = sqlite3.connect(f"file:{self.directory}/{number}/spool?mode=ro", uri=True)
            row = db.execute(
                "SELECT passed, lost, refused, retries, (SELECT count(*) FROM alerts WHERE id > last)"
                " FROM forwards").fetchone()
            ret = [a + b for a, b in zip(ret, row or (0, 0, 0, 0, 1))]
            db.close()
        return ret

    def wait(self, most_s):
        """Until all is passed on; returns whether it was."""
        end = time.monotonic() + most_s
        while time.monotonic() < end:
            if not self.sums()[4]:
                return True
            time.sleep(0.1)
        return False


def make(directory, machines, alerts, seconds):
    return subprocess.Popen([MAKE_SPOOL, directory, str(machines), str(alerts), str(seconds)])


def wait_for_alerts(directory, number, most_s=60):
    """Until this machine has an alert; those before it have one by then, and their spools."""
    end = time.monotonic() + most_s
    while time.monotonic() < end:
        try:
            with contextlib.closing(sqlite3.connect(f"file:{directory}/{number}/spool?mode=ro",
                                                    uri=True)) as db:
                if db.execute("SELECT count(*) FROM alerts").fetchone()[0]:
                    return
        except sqlite3.OperationalError:
            pass
        time.sleep(0.1)
    raise SystemExit(f"machine {number} made no alert in {most_s} s")


def trouble(fleet, server, proxy, writer, seconds, random_of):
    """What happens while alerts come; returns a list of what was done."""
    begin = time.monotonic()
    done = []
    due = [(0.2, "the server is killed (SIGKILL), and comes back after 3 s", "server"),
           (0.3, f"machine {CUT_OFF} has no network any more", "cut"),
           (0.55, "the server is killed again, and comes back after 6 s", "server2"),
           (0.8, f"machine {CUT_OFF} has a network again", "mend")]
    while writer.poll() is None or due:
        now = (time.monotonic() - begin) / seconds
        while due and due[0][0] <= now:
            _, text, what = due.pop(0)
            done.append(f"{time.monotonic() - begin:.0f} s: {text}")
            print(done[-1], flush=True)
            if what.startswith("server"):
                server.end()
                time.sleep(6 if what == "server2" else 3)
                server.start()
            else:
                proxy.is_cut = what == "cut"
        for number in random_of.sample(sorted(fleet.processes), 2):
            fleet.end(number, signal.SIGKILL)
            fleet.start(number)
        server.look()
        time.sleep(0.5)
    return done


def row_of(server):
    state = nats_client.Client(server.port).stream(STREAM)["state"]
    return state["messages"], state["bytes"]


def run_trouble(base, options):
    """The fleet in trouble; returns lines of the page, and whether all is well."""
    directory = base / "trouble"
    directory.mkdir()
    server = Server(str(directory / "js"))
    server.start()
    proxy = Proxy(server.port)
    fleet = Fleet(directory, options.machines, server, proxy)
    writer = make(directory, options.machines, options.alerts, options.seconds)
    wait_for_alerts(directory, options.machines - 1)
    fleet.start_all()
    begin = time.monotonic()
    done = trouble(fleet, server, proxy, writer, options.seconds, random.Random(1))
    writer_end = time.monotonic()
    is_done = fleet.wait(180)
    drained_s = time.monotonic() - writer_end
    passed, lost, refused, retries, waiting = fleet.sums()
    rss = [memory_kib(p.pid, "Rss") for p in fleet.processes.values()]
    pss = [memory_kib(p.pid, "Pss") for p in fleet.processes.values()]
    before, at = fleet.all_cpu(), time.monotonic()
    server_before = server.all_cpu()
    time.sleep(20)
    idle = (fleet.all_cpu() - before) / (time.monotonic() - at) / fleet.nr
    server_idle = (server.all_cpu() - server_before) / (time.monotonic() - at)
    is_same, text = check_stream.compare(server.port, STREAM, SUBJECT, directory)
    messages, nr_bytes = row_of(server)
    server.look()
    fleet.end_all()
    killed = fleet.killed
    server.end(signal.SIGTERM)
    print(text, flush=True)
    return is_done and is_same and not lost and not refused, [
        f"{options.machines} machines, {options.alerts} alerts each in {options.seconds} s"
        f" ({options.machines * options.alerts / options.seconds:.0f}/s in all), 1.5 KiB of JSON each.",
        "", *[f"* {line}" for line in done],
        f"* all the time: forwarders of some machine are killed (SIGKILL) and started again, {killed} in all",
        "",
        f"At the end: {text.splitlines()[0]}. Passed on {passed:,}, lost {lost}, refused {refused},"
        f" waiting {waiting}, batches tried again {retries:,}. The last was there {drained_s:.1f} s"
        f" after the last was made, {writer_end - begin:.0f} s from the start.", "",
        "| | |", "|---|---|",
        f"| bytes a message in the stream's files | {nr_bytes / messages:,.0f} |",
        f"| memory of the server, most (RSS) | {server.most_kib / 1024:.0f} MiB |",
        f"| CPU of the server with {options.machines} idle connections | {100 * server_idle:.2f} % of one |",
        f"| memory of a forwarder, median: RSS, and its share of what is common (PSS) |"
        f" {statistics.median(rss) / 1024:.1f} MiB, {statistics.median(pss) / 1024:.1f} MiB |",
        f"| CPU of an idle forwarder | {100 * idle:.3f} % of one |", ""]


def run_rate(base, name, machines, alerts):
    """What waits in spools, passed on as fast as it goes; returns (a row of the page, is well)."""
    directory = base / name
    directory.mkdir()
    server = Server(str(directory / "js"))
    server.start()
    fleet = Fleet(directory, machines, server)
    make(directory, machines, alerts, 0).wait()
    cpu, begin = server.all_cpu(), time.monotonic()
    fleet.start_all()
    is_done = fleet.wait(300)
    took = time.monotonic() - begin
    server.look()
    server_cpu, forwarder_cpu = server.all_cpu() - cpu, fleet.all_cpu()
    messages, nr_bytes = row_of(server)
    is_same, text = check_stream.compare(server.port, STREAM, SUBJECT, directory)
    print(text, flush=True)
    fleet.end_all()
    server.end(signal.SIGTERM)
    return (f"| {machines} | {messages:,} | {messages / took:,.0f} | {nr_bytes / took / 1e6:.1f} |"
            f" {1e6 * server_cpu / messages:.0f} | {1e6 * forwarder_cpu / messages:.0f} |"
            f" {server.most_kib / 1024:.0f} |", is_done and is_same)


PAGE = """# Many machines, one stream

By `make eval-fleet`; commit {commit}. Each machine is a spool with made alerts and a forwarder of its own,
`pg-collect forward`; the server is Debian's nats-server ({version}) with one stream in files, all on
one computer with {cpus} processors, which they share. What is in the stream was compared with what is
in the spools, message by message.

## In trouble

{trouble}
## As fast as it goes

What waited in spools, with nothing else to do, from the start of the forwarders on; CPU of the server
and of the forwarders in microseconds for a message.

| machines | messages | messages a second | MB a second | server CPU, us | forwarder CPU, us | server, most RSS, MiB |
|---|---|---|---|---|---|---|
{rates}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--machines", type=int, default=200)
    parser.add_argument("--alerts", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=80)
    options = parser.parse_args()
    base = BUILD / "eval/fleet"
    shutil.rmtree(base, ignore_errors=True)
    base.mkdir(parents=True)
    base = base.resolve()
    is_well, trouble_lines = run_trouble(base, options)
    rates = []
    for name, machines, alerts in (("one", 1, 40000), ("ten", 10, 8000),
                                   ("all", options.machines, 400)):
        row, is_right = run_rate(base, name, machines, alerts)
        rates.append(row)
        is_well &= is_right
    version = subprocess.run(["nats-server", "--version"], capture_output=True, text=True,
                             check=True).stdout.split()[-1]
    page = PAGE.format(commit=vm.commit("user", "include"), version=version, cpus=os.cpu_count(),
                       trouble="\n".join(trouble_lines), rates="\n".join(rates))
    (TOP / "tests/eval/results/fleet.md").write_text(page)
    print(page if is_well else "NOT WELL\n" + page)
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
