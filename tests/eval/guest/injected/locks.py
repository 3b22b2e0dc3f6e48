# SPDX-License-Identifier: GPL-2.0
"""A server of a thread for each connection, whose answers need the lock of a file.

usage: locks.py PORT FILE
"""

import fcntl
import http.server
import sys


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):   # pylint: disable=invalid-name
        with open(sys.argv[2], "w", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
