# SPDX-License-Identifier: GPL-2.0
"""As much of a client of NATS and JetStream as the tests need, by the protocol's text alone.

https://docs.nats.io/reference/reference-protocols/nats-protocol
"""

import base64
import json
import socket


def read_headers(data):
    lines = data.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines[1:] if ": " in line)
    if lines[0][9:12]:
        headers["status"] = lines[0][9:12]
    return headers


class Client:
    def __init__(self, port, host="127.0.0.1"):
        self.socket = socket.create_connection((host, port), timeout=10)
        self.file = self.socket.makefile("rb")
        self.info = json.loads(self.file.readline().split(b" ", 1)[1])
        self.send(b'CONNECT {"verbose":false,"headers":true,"no_responders":true,"name":"test"}\r\n')
        self.send(b"SUB inbox.* 1\r\n")
        self.nr = 0

    def send(self, data):
        self.socket.sendall(data)

    def message(self):
        """The next message, as (subject, reply, headers, payload)."""
        while True:
            line = self.file.readline()
            if not line:
                raise ConnectionError("the server is gone")
            words = line.decode().split()
            if words[0] == "PING":
                self.send(b"PONG\r\n")
            elif words[0] == "-ERR":
                raise RuntimeError(line)
            elif words[0] in ("MSG", "HMSG"):
                break
        subject = words[1]
        is_headed = words[0] == "HMSG"
        sizes = [int(size) for size in words[(-2 if is_headed else -1):]]
        reply = words[3] if len(words) - len(sizes) > 3 else None
        data = self.file.read(sizes[-1])
        self.file.read(2)
        headers = read_headers(data[:sizes[0]]) if is_headed else {}
        return subject, reply, headers, data[sizes[0] if is_headed else 0:]

    def request(self, subject, payload=b""):
        self.nr += 1
        inbox = f"inbox.r{self.nr}"
        self.send(f"PUB {subject} {inbox} {len(payload)}\r\n".encode() + payload + b"\r\n")
        while True:
            got = self.message()
            if got[0] == inbox:
                return got

    def api(self, what, body=None):
        """A request to JetStream; None without its answer, as there is no JetStream yet."""
        payload = json.dumps(body).encode() if body is not None else b""
        _, _, headers, data = self.request(f"$JS.API.{what}", payload)
        return None if headers.get("status") == "503" else json.loads(data)

    def stream(self, name):
        """What the stream is now, or None."""
        info = self.api(f"STREAM.INFO.{name}")
        return None if info is None or "error" in info else info

    def read_all(self, name, ahead=200):
        """All messages of a stream by their numbers, as (subject, headers, payload)."""
        state = self.stream(name)["state"]
        numbers = range(state["first_seq"], state["last_seq"] + 1) if state["messages"] else ()
        self.send(b"SUB got.* 2\r\n")
        for at in range(0, len(numbers), ahead):
            some = numbers[at:at + ahead]
            for number in some:
                body = b'{"seq":%d}' % number
                self.send(b"PUB $JS.API.STREAM.MSG.GET.%s got.%d %d\r\n%s\r\n" %
                          (name.encode(), number, len(body), body))
            for _ in some:
                message = json.loads(self.message()[3]).get("message")
                if message:
                    yield (message["subject"], read_headers(base64.b64decode(message.get("hdrs", ""))),
                           base64.b64decode(message.get("data", "")))
