# SPDX-License-Identifier: GPL-2.0
"""Requests for paths, by connections that are kept."""

import http.client
import http.server
import socket
import threading
import time


class Connection:
    """Of a client; get() returns when it has read the whole answer."""

    def __init__(self, port, receive_bytes=0):
        self.client = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
        self.client.sock = socket.socket()
        if receive_bytes:
            self.client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.client.sock.connect(("127.0.0.1", port))
        self.client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def getsockname(self):
        return self.client.sock.getsockname()

    def get(self, path, pause=0):
        """Having read the head it waits so long, s."""
        self.client.request("GET", path)
        answer = self.client.getresponse()
        time.sleep(pause)
        data = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status}")
        return data


class Behind(http.server.BaseHTTPRequestHandler):
    """What proxies ask: /behind/MS answers so much later."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):   # pylint: disable=invalid-name
        time.sleep(int(self.path.rsplit("/", 1)[1]) / 1000)
        self.send_response(200)
        self.send_header("Content-Length", "6")
        self.end_headers()
        self.wfile.write(b"behind")

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


class Upstream:
    """In place of a server behind the proxy."""

    def __init__(self, port):
        self.port = port

    def start(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Behind)
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def stop(self):
        """It ends with this process."""
