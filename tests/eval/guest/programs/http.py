# SPDX-License-Identifier: GPL-2.0
"""Labelled HTTP/1.1 requests over a connection that is kept."""

import os

from .program import Mix, Unexpected, read_some

# When all files were last written.
WRITTEN = "Sun, 09 Sep 2001 01:46:40 GMT"
WRITTEN_S = 1000000000


class HttpMix(Mix):
    """Subclasses have pages: {label: (method, path, {header: value}, status)}."""

    pages = {}
    # A path that ends in "*" stands for this many files with the same contents.
    files = 20

    def __init__(self, number, count, seed):
        super().__init__(number, count, seed)
        self.labels = list(self.pages)
        self.is_head = False

    def request(self, label):
        self.turn += 1
        method, path, headers, _ = self.pages[label]
        self.is_head = method == "HEAD"
        path = path.replace("*", str(self.turn % self.files))
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost",
                 f"X-Id: {self.number}.{self.turn}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return "\r\n".join(lines + ["", ""]).encode()

    def answer(self, connection, label):
        data = read_some(connection)
        while b"\r\n\r\n" not in data:
            data += read_some(connection)
        head, _, body = data.partition(b"\r\n\r\n")
        lines = head.split(b"\r\n")
        status = int(lines[0].split()[1])
        if status != self.pages[label][3]:
            raise Unexpected(f"{label}: {lines[0]}")
        headers = dict(line.lower().split(b": ", 1) for line in lines[1:])
        if headers.get(b"connection") == b"close":
            raise Unexpected(f"{label}: the server closes the connection")
        if self.is_head or status in (204, 304):
            return
        if b"chunked" in headers.get(b"transfer-encoding", b""):
            while not body.endswith(b"0\r\n\r\n"):
                body += read_some(connection)
            return
        left = int(headers[b"content-length"]) - len(body)
        while left > 0:
            left -= len(read_some(connection))


def make_site(root, files=HttpMix.files):
    """The files that the pages name."""
    small = "<p>A small page.</p>\n"
    text = "".join(f"{i} a line of text that compresses well\n" for i in range(200))
    for name in ("small", "text", "dir", "list", "denied", "auth"):
        (root / name).mkdir(parents=True, exist_ok=True)
    for i in range(files):
        (root / f"small/{i}.html").write_text(small)
        (root / f"text/{i}.txt").write_text(text)
        (root / f"list/{i}.txt").write_text(small)
    (root / "dir/index.html").write_text(small)
    (root / "denied/index.html").write_text(small)
    (root / "auth/index.html").write_text(small)
    for path in root.rglob("*.*"):
        os.utime(path, (WRITTEN_S, WRITTEN_S))
