# SPDX-License-Identifier: GPL-2.0
"""The module's record mode, as the tests use it: its events, sites, and programs."""

import collections
import contextlib
import os
import pathlib
import struct
import subprocess
import tempfile

from perfguard import IS_SLOW, TOP, run

RECORDER = str(TOP / "build/tests/vm/recorder")
CALLED = str(TOP / "build/tests/vm/called")
SITES = str(TOP / "build/tests/vm/sites")
INHERIT, ACCOUNT, DISCOVER, OWNED, RECORD = 1, 2, 4, 8, 16
ONE_SHOT = 1
LOST, HIT, ENTER, LEAVE, START, END = range(1, 7)
BREAKPOINT = 0xcc

Event = collections.namedtuple("Event", "time sp value tid kind number")


class Program:
    """A line to it, a line from it."""

    def __init__(self, *command, **options):
        self.process = subprocess.Popen([str(word) for word in command], text=True, bufsize=1,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        **options)
        self.pid = self.process.pid

    def send(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self):
        return self.process.stdout.readline().strip()

    def do(self, line):
        self.send(line)
        return self.answer()

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        with contextlib.suppress(BrokenPipeError):      # a line that it did not live to read
            self.process.stdin.close()
        self.process.stdout.close()


class Recorder(Program):
    """tests/vm/recorder; its answers as lists of words."""

    def __init__(self):
        super().__init__(RECORDER)
        self.directory = tempfile.TemporaryDirectory()
        self.file = pathlib.Path(self.directory.name, "events")

    def ask(self, *words):
        return self.do(" ".join(str(word) for word in words)).split()

    def watch(self, kind, what, flags=OWNED):
        """The target's id."""
        answer = self.ask("watch", kind, what, flags)
        if answer[0] != "ok":
            raise RuntimeError(" ".join(answer))
        return int(answer[1])

    def listed(self, sites):
        """A file with them, as the order to add them takes it."""
        path = pathlib.Path(self.directory.name, "sites")
        path.write_bytes(b"".join(struct.pack("<QII", *site) for site in sites))
        return path

    def sites(self, target, path, sites, flags=0):
        """Add [(offset, id, sp_delta)]; (seconds, number refused, {id: errno}) or the words."""
        answer = self.ask("sites", target, path, flags, self.listed(sites))
        if answer[0] != "ok":
            return answer
        refused = (word.split(":") for word in answer[3:])
        return float(answer[1]), int(answer[2]), {int(i): int(error) for i, error in refused}

    def read(self, ms=200):
        """The events that come in this time, or longer where all is slow; in order."""
        ms *= 10 if IS_SLOW else 1
        self.file.write_bytes(b"")
        answer = self.ask("read", ms, self.file)
        if answer[0] != "ok":
            raise RuntimeError(" ".join(answer))
        return sorted(Event(time, sp, value, tid, what >> 28, what & 0xfffffff)
                      for time, sp, value, tid, what
                      in struct.iter_unpack("<QQQII", self.file.read_bytes()))

    def off(self, target):
        """Take its sites off; seconds."""
        return float(self.ask("off", target)[1])


class Called(Program):
    """tests/vm/called, and where its functions are."""

    NAMES = ("outer", "middle", "inner", "never")

    def __init__(self, path=CALLED):
        super().__init__(path)
        self.hear()

    def hear(self):
        """What it says at its start."""
        self.address = dict(zip(self.NAMES, (int(word, 16) for word in self.answer().split())))

    def offset(self, name):
        return file_offset(self.pid, self.address[name])[1]

    def notes(self, line):
        """(sp, return address) of outer, middle and inner in the last round; the thread."""
        words = self.do(line).split()
        numbers = [int(word, 16) for word in words[:6]]
        return list(zip(numbers[0::2], numbers[1::2])), int(words[6])


def mappings(pid):
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines():
        words = line.split(maxsplit=5)
        start, end = (int(word, 16) for word in words[0].split("-"))
        yield start, end, words[1], int(words[2], 16), words[5] if len(words) > 5 else ""


def file_offset(pid, address):
    """(path, offset) of what is at an address."""
    for start, end, _, offset, path in mappings(pid):
        if start <= address < end:
            return path, address - start + offset
    raise ValueError(hex(address))


def sites_of(path):
    """Where a file's functions can have probes: [(offset, sp_delta)]."""
    return [tuple(map(int, line.split()[:2])) for line in run(SITES, path).stdout.splitlines()]


def byte_at(pid, address):
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        memory.seek(address)
        return memory.read(1)[0]


def text_of(pid, path):
    """The code of a file as its process has it now, to see jumps and breakpoints by; or None."""
    for start, end, permissions, _, mapped in mappings(pid):
        if "x" in permissions and mapped.startswith(path):
            with open(f"/proc/{pid}/mem", "rb") as memory:
                memory.seek(start)
                return memory.read(end - start)
    return None


def changed_bytes(pid, path):
    """How many bytes of the program's code in memory differ from those in the file."""
    count = 0
    path = os.path.realpath(path)
    with open(path, "rb") as file, open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for start, end, permissions, offset, mapped in mappings(pid):
            if mapped != path or "x" not in permissions:
                continue
            file.seek(offset)
            memory.seek(start)
            for there, here in zip(iter(lambda: file.read(4096), b""),
                                   iter(lambda: memory.read(4096), b"")):
                if there != here[:len(there)]:
                    count += sum(a != b for a, b in zip(there, here))
                if memory.tell() >= end:
                    break
    return count


def functions(path):
    """File offsets of all functions, from the table in .eh_frame_hdr."""
    data = pathlib.Path(path).read_bytes()
    offset, size, number = (struct.unpack_from("<Q", data, 32)[0],
                            *struct.unpack_from("<HH", data, 54))
    headers = [struct.unpack_from("<IIQQQQQQ", data, offset + i * size) for i in range(number)]
    frame = next(h for h in headers if h[0] == 0x6474e550)
    # Version 1, a pointer, an encoding of the count, sdata4 relative to the table.
    if data[frame[2]] != 1 or data[frame[2] + 3] != 0x3b:
        raise ValueError(f"{path}: unknown .eh_frame_hdr")
    entries = struct.unpack_from("<I", data, frame[2] + 8)[0]
    found = set()
    for i in range(entries):
        address = frame[3] + struct.unpack_from("<i", data, frame[2] + 12 + 8 * i)[0]
        for h in headers:
            if h[0] == 1 and h[1] & 1 and h[3] <= address < h[3] + h[5]:
                found.add(address - h[3] + h[2])
    return sorted(found)


def kinds(events, kind, tid=None):
    return [event for event in events if event.kind == kind and tid in (None, event.tid)]
