# SPDX-License-Identifier: GPL-2.0
"""The module's netlink family, spoken by hand: what pg-collect is not needed for."""

import os
import socket
import struct

from perfguard import TOP

NETLINK_GENERIC = 16
SOL_NETLINK, NETLINK_EXT_ACK, NETLINK_CAP_ACK = 270, 11, 10
NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP = 1, 4, 0x300
NLM_F_CAPPED, NLM_F_ACK_TLVS = 0x100, 0x200
NLMSG_NOOP, NLMSG_ERROR, NLMSG_DONE = 1, 2, 3
CTRL_CMD_GETFAMILY, GENL_ID_CTRL = 3, 16
NLMSGERR_ATTR_MSG = 1
CTRL_ATTR_MCAST_GROUPS, CTRL_ATTR_MCAST_GRP_ID = 7, 2


def _numbers():
    """PERFGUARD_A_... and PERFGUARD_CMD_... by name, from the uapi header."""
    numbers, value = {}, 0
    text = (TOP / "include/uapi/linux/perfguard.h").read_text(encoding="utf-8")
    for line in text.splitlines():
        word = line.strip().rstrip(",")
        if not word.startswith(("PERFGUARD_A_", "PERFGUARD_CMD_")) or "(" in word:
            continue
        name, _, given = word.partition(" = ")
        value = int(given) if given else value + 1
        numbers[name.removeprefix("PERFGUARD_")] = value
    return numbers


NUMBER = _numbers()


class Refused(OSError):
    """The module says no; strerror has its words."""


def attribute(kind, payload):
    size = 4 + len(payload)
    return struct.pack("HH", size, kind) + payload + b"\0" * (-size % 4)


def u32(kind, value):
    return attribute(kind, struct.pack("I", value))


def u64(kind, value):
    return attribute(kind, struct.pack("Q", value))


def parse(data):
    """[(kind, payload)]"""
    found = []
    while len(data) >= 4:
        size, kind = struct.unpack_from("HH", data)
        if size < 4 or size > len(data):
            raise ValueError("a damaged attribute")
        found.append((kind & 0x3fff, data[4:size]))
        data = data[size + -size % 4:]
    return found


def number(payload):
    return int.from_bytes(payload, "little")


class Family:
    """One socket; what it owns in the module goes with close()."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
        self.socket.setsockopt(SOL_NETLINK, NETLINK_EXT_ACK, 1)
        self.socket.setsockopt(SOL_NETLINK, NETLINK_CAP_ACK, 1)
        self.socket.settimeout(60)
        self._seq = 0
        name = attribute(2, b"perfguard\0")
        self.id = GENL_ID_CTRL
        answer = self._ask(CTRL_CMD_GETFAMILY, NLM_F_ACK, name)
        answer = dict(answer[0])
        self.id = number(answer[1])
        (_, alerts), = parse(answer[CTRL_ATTR_MCAST_GROUPS])
        self.group = number(dict(parse(alerts))[CTRL_ATTR_MCAST_GRP_ID])

    def close(self):
        self.socket.close()

    def send(self, command, flags, payload):
        """The number by which receive() finds the answers."""
        self._seq += 1
        body = struct.pack("BBH", command, 1, 0) + payload
        self.socket.send(struct.pack("IHHII", 16 + len(body), self.id, NLM_F_REQUEST | flags,
                                     self._seq, 0) + body)
        return self._seq

    def receive(self, wanted):
        """All answers to a message, each as [(kind, payload)]; those before are passed over."""
        answers = []
        while True:
            data = self.socket.recv(1 << 20)
            while data:
                size, kind, bits, seq = struct.unpack_from("IHHI", data)
                message, data = data[16:size], data[size + -size % 4:]
                if seq != wanted or kind == NLMSG_NOOP:
                    continue
                if kind in (NLMSG_ERROR, NLMSG_DONE):
                    self._verdict(message, bits, 20 if kind == NLMSG_ERROR else 4)
                    return answers
                answers.append(parse(message[4:]))

    def _ask(self, command, flags, payload):
        return self.receive(self.send(command, flags, payload))

    def begin(self, command, *attributes):
        """Send a request whose end is waited for later."""
        return self.send(NUMBER["CMD_" + command], NLM_F_ACK, b"".join(attributes))

    @staticmethod
    def _verdict(message, bits, skip):
        error = struct.unpack_from("i", message)[0] if len(message) >= 4 else 0
        if not error:
            return
        text = os.strerror(-error)
        if bits & NLM_F_ACK_TLVS:
            words = dict(parse(message[skip:])).get(NLMSGERR_ATTR_MSG, b"")
            text = words.rstrip(b"\0").decode() or text
        raise Refused(-error, text)

    def do(self, command, *attributes):
        """The answer's attributes by number, all the last ones of their kind."""
        answers = self._ask(NUMBER["CMD_" + command], NLM_F_ACK, b"".join(attributes))
        return dict(answers[0]) if answers else {}

    def dump(self, command, *attributes):
        return self._ask(NUMBER["CMD_" + command], NLM_F_DUMP, b"".join(attributes))

    def table(self, command, prefix, *attributes):
        """A dump as dictionaries by lower-case name; numbers, except names and paths."""
        names = {value: name.removeprefix(f"A_{prefix}_").lower()
                 for name, value in NUMBER.items() if name.startswith(f"A_{prefix}_")}
        rows = []
        for answer in self.dump(command, *attributes):
            row = {}
            for kind, payload in answer:
                name = names.get(kind, str(kind))
                if name in ("name", "path", "comm", "cgroup", "scope_args"):
                    row[name] = payload.rstrip(b"\0").decode(errors="replace")
                elif len(payload) in (0, 4, 8) and name not in ("stack", "met"):
                    row[name] = number(payload) if payload else True
                else:
                    row[name] = payload
            rows.append(row)
        return rows

    def stats(self):
        """The module's counters of 4 and 8 bytes."""
        names = {value: name.removeprefix("A_STATS_").lower()
                 for name, value in NUMBER.items() if name.startswith("A_STATS_")}
        return {names[kind]: number(payload) for kind, payload in self.do("STATS_GET").items()
                if len(payload) in (4, 8)}

    def alerts(self, since=1):
        """The records of the alert ring from this number on; 'lost' ones have no other field."""
        records = self.table("ALERT_GET", "RECORD", u64(NUMBER["A_RECORD_SEQ"], since))
        return [record for record in records if "kind" in record]

    def record(self, target, flags):
        """Set a target's flags."""
        self.do("TARGET_SET", u32(NUMBER["A_TARGET_ID"], target),
                u32(NUMBER["A_TARGET_FLAGS"], flags))

    def targets(self):
        return self.table("TARGET_GET", "TARGET")
