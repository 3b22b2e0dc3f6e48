# SPDX-License-Identifier: GPL-2.0
"""The requests of a target, as the module writes them to the training stream."""

import bisect
import collections
import os
import struct
import threading
import time

from family import NUMBER, u32

UNITS = 1 << 5          # the target's flag by which its requests are recorded
REQUEST, READ, TAKEN = 10, 11, 12   # the events' kinds


def begun_of(time_ns, handed_ns, value, tid, what):
    """Of an event: [when, who has the request, its connection, who handed it over or 0]."""
    if what >> 28 == READ:
        return [time_ns, tid, what & 0xfffffff, 0]
    return [handed_ns, value >> 32 or tid, what & 0xfffffff, value & 0xffffffff]


class Recorded:
    """The requests that the module records while this is open: [[port, begin ns, elapsed ns]]."""

    def __init__(self, family):
        target = family.table("TARGET_GET", "TARGET")[0]
        family.do("TARGET_SET", u32(NUMBER["A_TARGET_ID"], target["id"]),
                  u32(NUMBER["A_TARGET_FLAGS"], target["flags"] | UNITS))
        self.rows = []
        self.ports = {}  # by connection
        self.begun = []  # as begun_of() has them
        self.is_over = False
        self.device = os.open("/dev/perfguard", os.O_RDONLY | os.O_NONBLOCK)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        """The rings have room for all, so it may come late; the last read is after the end."""
        while True:
            is_last = self.is_over
            try:
                data = os.read(self.device, 1 << 20)
            except BlockingIOError:
                if is_last:
                    return
                time.sleep(1)
                continue
            for time_ns, begun_ns, value, tid, what in struct.iter_unpack("<QQQII", data):
                if what >> 28 in (READ, TAKEN):
                    self.begun.append(begun_of(time_ns, begun_ns, value, tid, what))
                if what >> 28 == READ:
                    self.ports[what & 0xfffffff] = value
                elif what >> 28 == REQUEST:
                    self.rows.append([what & 0xfffffff, begun_ns, value])

    def finish(self):
        self.is_over = True
        self.reader.join()
        os.close(self.device)
        # The rings are read one after the other, so a connection may come behind a request of it.
        return sorted(([self.ports.get(connection, 0), *times]
                       for connection, *times in self.rows), key=lambda row: row[1])


class Begun:
    """Who has begun with requests, by port and in order of time."""

    def __init__(self, recorded):
        self.of = collections.defaultdict(list)
        for time_ns, tid, connection, giver in sorted(recorded.begun):
            self.of[recorded.ports.get(connection, 0)].append((time_ns, tid, giver))

    def within(self, port, first_ns, last_ns):
        rows = self.of[port]
        return [row[1:] for row in rows[bisect.bisect_left(rows, (first_ns,)):
                                        bisect.bisect_right(rows, (last_ns,))]]
