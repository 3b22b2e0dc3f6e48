# SPDX-License-Identifier: GPL-2.0
"""The requests of a target, as the module writes them to the training stream."""

import os
import struct
import threading
import time

from family import NUMBER, u32

UNITS = 1 << 5          # the target's flag by which its requests are recorded
REQUEST, READ, TAKEN = 10, 11, 12   # the events' kinds


class Recorded:
    """The requests that the module records while this is open: [[port, begin ns, elapsed ns]]."""

    def __init__(self, family):
        target = family.table("TARGET_GET", "TARGET")[0]
        family.do("TARGET_SET", u32(NUMBER["A_TARGET_ID"], target["id"]),
                  u32(NUMBER["A_TARGET_FLAGS"], target["flags"] | UNITS))
        self.rows = []
        self.ports = {}  # by connection
        self.begun = []  # [time ns, thread, connection, who handed it over or 0]
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
            for time_ns, begin, value, tid, what in struct.iter_unpack("<QQQII", data):
                if what >> 28 in (READ, TAKEN):
                    self.begun.append([time_ns, tid, what & 0xfffffff,
                                       value if what >> 28 == TAKEN else 0])
                if what >> 28 == READ:
                    self.ports[what & 0xfffffff] = value
                elif what >> 28 == REQUEST:
                    self.rows.append([what & 0xfffffff, begin, value])

    def finish(self):
        self.is_over = True
        self.reader.join()
        os.close(self.device)
        # The rings are read one after the other, so a connection may come behind a request of it.
        return sorted(([self.ports.get(connection, 0), *times]
                       for connection, *times in self.rows), key=lambda row: row[1])
