# SPDX-License-Identifier: GPL-2.0
"""Answers lines: "WHAT ARGUMENT".

usage: evaluate.py PORT
"""

import hashlib
import json
import re
import selectors
import socket
import sys


def sort(words):
    size = int(words)
    return str(sorted((i * 7919) % size for i in range(size))[:10])


def as_json(words):
    return json.dumps({"number": int(words), "list": list(range(20))})


WHATS = {
    "sum": lambda words: f"={sum(i * i for i in range(int(words)))}",
    "sort": sort,
    "match": lambda words: re.match(r"(\w+)@([\w.]+)", words)[2],
    "json": as_json,
    "digest": lambda words: hashlib.sha256(words.encode() * 50).hexdigest(),
}


def answer(line):
    what, _, words = line.partition(" ")
    if what not in WHATS:
        return "?"
    try:
        return WHATS[what](words)
    except ValueError as error:
        return f"!{error}"


def main():
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            if key.fileobj is listener:
                selector.register(listener.accept()[0], selectors.EVENT_READ)
                continue
            data = key.fileobj.recv(4096)
            if data:
                key.fileobj.sendall(answer(data.decode().strip()).encode() + b"\n")
            else:
                selector.unregister(key.fileobj)
                key.fileobj.close()


main()
