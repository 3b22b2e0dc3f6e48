# SPDX-License-Identifier: GPL-2.0
"""pg-collect serve, and what takes its messages in place of systemd."""

import array
import os
import pathlib
import signal
import socket
import struct
import subprocess
import threading

from perfguard import COLLECT, LONG, wait_until

# As scripts/perfguard.service has it.
UNIT = ("setpriv", "--inh-caps", "-all", "--bounding-set",
        "-all,+sys_admin,+net_admin,+sys_ptrace,+dac_read_search")
JOURNAL = pathlib.Path("/run/systemd/journal/socket")


class Socket:
    """Where datagrams are taken, as systemd does it."""

    def __init__(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        self.all = []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while True:
            data, more, _, _ = self.socket.recvmsg(1 << 20, 1024)
            fds = array.array("i")
            for _, _, passed in more:
                fds.frombytes(passed)
            for fd in fds:          # what is too large for a datagram comes as a file
                data = os.pread(fd, 1 << 24, 0)
                os.close(fd)
            self.all.append(self.parse(data))

    def parse(self, data):
        return data.decode()

    def end(self):
        self.path.unlink()
        self.socket.close()


class Journal(Socket):
    def parse(self, data):
        fields = {}
        while data:
            line, _, data = data.partition(b"\n")
            name, is_plain, value = line.partition(b"=")
            if not is_plain:
                size = struct.unpack("<Q", data[:8])[0]
                value, data = data[8:8 + size], data[9 + size:]
            fields[name.decode()] = value.decode()
        return fields

    def ids(self, which):
        return [one for one in self.all if one.get("MESSAGE_ID") == which]


class Serve:
    """The service as its unit runs it; without a journal what it says is in out and err."""

    def __init__(self, notify, config, metrics="none"):
        self.notify = notify
        self.first = len(notify.all)
        environment = dict(os.environ, NOTIFY_SOCKET=str(notify.path), WATCHDOG_USEC="4000000")
        self.process = subprocess.Popen([*UNIT, COLLECT, "serve", "--config", config,
                                         "--metrics", metrics],
                                        env=environment, stdin=subprocess.DEVNULL,
                                        stdout=open(config.parent / "out", "ab"),
                                        stderr=open(config.parent / "err", "ab"))
        self.wait("READY=1", 1)

    def said(self):
        return self.notify.all[self.first:]

    def count(self, word):
        return sum(line.startswith(word) for text in self.said() for line in text.split("\n"))

    def wait(self, word, nr):
        return wait_until(lambda: self.count(word) >= nr or self.process.poll() is not None) and \
            self.count(word) >= nr

    def status(self):
        """What it said last, its numbers by the words behind them."""
        line = [line for text in self.said() for line in text.split("\n")
                if line.startswith("STATUS=")][-1]
        words = line.replace(",", "").replace(";", "").split()
        return line, {words[i + 1]: int(words[i]) for i in range(len(words) - 1)
                      if words[i].isdigit()}

    def wait_status(self, words):
        return wait_until(lambda: words in self.status()[0], 30)

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        return self.process.wait(LONG)
