#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A server that takes what it is sent and never answers it, except that it greets as NATS does.

usage: silent_server.py nats|otlp

Prints its port, and a line with the word "taken" when it has got a message.
"""

import socket
import sys

INFO = ('INFO {"server_id":"A","version":"2.10.0","proto":1,"headers":true,"jetstream":true,'
        '"max_payload":1048576}\r\n')


def serve(connection, is_nats):
    if is_nats:
        connection.sendall(INFO.encode())
    for line in connection.makefile("rb"):
        if is_nats and line.startswith(b"PING"):
            connection.sendall(b"PONG\r\n")
        if line.startswith((b"HPUB", b"POST")):
            print("taken", flush=True)


with socket.create_server(("127.0.0.1", 0)) as server:
    print(server.getsockname()[1], flush=True)
    while True:
        with server.accept()[0] as accepted:
            serve(accepted, sys.argv[1] == "nats")
