# SPDX-License-Identifier: GPL-2.0
"""CPython's server of a thread for each connection, which is one request by HTTP/1.0; the paths
ask for different work.

usage: server.py PORT PROTOCOL
"""

import http.server
import sys


def work(path):
    if path == "/sum":
        return str(sum(i * i for i in range(2000)))
    if path == "/sort":
        return " ".join(sorted(str(i * 7919 % 1000) for i in range(400)))
    return "a small page"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = sys.argv[2]

    def do_GET(self):  # noqa: N802 the library's name
        body = work(self.path).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
