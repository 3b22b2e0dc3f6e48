# SPDX-License-Identifier: GPL-2.0
"""check of a program: threads that live for one request are noted, those that wait for the next
one are not; and what is compiled at run time cannot be guarded."""

import http.client
import http.server
import json
import socket
import subprocess
import sys
import threading
import time

from perfguard import IS_SLOW, TOP, collect, done, note, ok, skip, status, wait_until
from record import Program

PORT = 7011
KEEPS = "keep" in sys.argv  # connections: their threads wait for the next request
BODY = b"x" * 100


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1" if KEEPS else "HTTP/1.0"

    def do_GET(self):
        sum(i % 7 for i in range(2000))
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, *_):
        pass


def serve():
    """A thread for each connection, all of which take the interpreter's lock."""
    http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()


def start(how):
    server = subprocess.Popen([sys.executable, __file__, "serve", how])
    wait_until(listening)
    return server


def end(server):
    server.kill()
    server.wait()
    wait_until(lambda: not listening())


class Client(threading.Thread):
    """Makes connections of so many requests."""

    def __init__(self, requests):
        super().__init__(daemon=True)
        self.requests, self.is_over = requests, False

    def run(self):
        while not self.is_over:
            connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)
            for _ in range(self.requests):
                connection.request("GET", "/")
                connection.getresponse().read()
            connection.close()


def listening():
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", PORT)) == 0


def verdict(pid, seconds, asked):
    """(exit code, what is bad or noted)"""
    result = collect("check", "--json", "--duration", seconds, "-p", pid)
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    found = [line["finding"] for line in lines if line["subject"] in ("units", "threads", "code")]
    note(f"{asked}: {found} {result.stderr[-300:]}")
    return result.returncode, [line["subject"] for line in lines
                               if line["verdict"] in ("bad", "note") and
                               line["subject"] in ("threads", "code")]


def check(pid, requests):
    """Under such a load."""
    clients = [Client(requests) for _ in range(2)]
    for one in clients:
        one.start()
    time.sleep(1)
    found = verdict(pid, 10, f"{requests} requests a connection")
    for one in clients:
        one.is_over = True
        one.join()
    return found


def check_generated(word):
    """A program whose units are of code that it made."""
    program, is_over = Program(TOP / "build/tests/vm/generated"), threading.Event()

    def load():
        while not is_over.is_set():
            program.do(f"{word} 20")

    thread = threading.Thread(target=load)
    thread.start()
    found = verdict(program.pid, 4, word)
    is_over.set()
    thread.join()
    program.end()
    return found


def main():
    if IS_SLOW:
        skip("threads that live for one request", "too slow there")
        done()
    server = start("once")
    ok(check(server.pid, 1) == (0, ["threads"]), "a thread for each request: it is noted")
    end(server)
    server = start("keep")
    ok(check(server.pid, 20) == (0, []), "a thread for each connection of many: it can")
    ok(not status("target"), "nothing stays armed")
    ok(collect("check", "-p", server.pid, "-p", 1).returncode == 2, "one process at a time")
    ok(collect("check", "-p", server.pid, "-e", "x").returncode == 1, "of which the file is asked for")
    end(server)
    ok(collect("check", "-p", server.pid).returncode == 1, "one that is gone")
    ok(check_generated("calls") == (3, ["code"]), "code made at run time does the work: it cannot")
    ok(check_generated("alone") == (0, []), "such code is just called: it can")
    done()


if len(sys.argv) > 1 and sys.argv[1] == "serve":
    serve()
else:
    main()
