# SPDX-License-Identifier: GPL-2.0
"""The netlink family takes whatever it is sent, and answers or refuses."""

import os
import random
import socket
import struct

from perfguard import PATIENCE, Audit, Victim, collect, done, note, ok

NETLINK_GENERIC = 16
SOL_NETLINK, NETLINK_EXT_ACK, NETLINK_CAP_ACK = 270, 11, 10
NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP = 1, 4, 0x300
NLMSG_ERROR, NLMSG_DONE = 2, 3
COMMANDS = 16
DUMPS = (4, 5, 7, 8, 10)
MESSAGES = 500


def attribute(kind, payload):
    size = 4 + len(payload)
    return struct.pack("HH", size, kind) + payload + b"\0" * (-size % 4)


def message(family, command, flags, payload):
    body = struct.pack("BBH", command, 1, 0) + payload
    return struct.pack("IHHII", 16 + len(body), family, flags, 1, 0) + body


def family_id(sock):
    name = attribute(2, b"perfguard\0")
    sock.send(message(16, 3, NLM_F_REQUEST, name))      # CTRL_CMD_GETFAMILY
    data = sock.recv(65536)[20:]
    while data:
        size, kind = struct.unpack_from("HH", data)
        if kind == 1:
            return struct.unpack_from("H", data, 4)[0]
        data = data[size + -size % 4:]
    return None


def random_attributes(source, depth=0):
    out = b""
    for _ in range(source.randrange(4)):
        kind = source.choice((1, 2, 3, 4, 5, source.randrange(32))) | \
            source.choice((0, 0, 0, 0x8000))
        length = source.choice((0, 1, 2, 4, 4, 4, 8, 8, 8, 16, 300))
        payload = source.randbytes(length)
        if source.random() < 0.5:
            payload = source.choice((0, 1, 2, 3, 2**31, 2**32 - 1)).to_bytes(8, "little")[:length]
        if depth < 2 and source.random() < 0.3:
            payload = random_attributes(source, depth + 1)
        out += attribute(kind, payload)
    if source.random() < 0.1:
        out = out[:-source.randrange(1, 8)]
    return out


def wait(sock, seen):
    """Read the answer to a message to its end: a verdict, or that of a dump."""
    while True:
        data = sock.recv(1 << 20)
        while data:
            size, kind = struct.unpack_from("IH", data)
            if kind in (NLMSG_ERROR, NLMSG_DONE):
                error = struct.unpack_from("i", data, 16)[0]
                seen[error] = seen.get(error, 0) + 1
                if error and b"\x01\x00" in data[20:] and size > 40:
                    seen["text"] = seen.get("text", 0) + 1
                return
            data = data[size + -size % 4:]


victim = Victim()
audit = Audit("--duration", 900, "--slower-than", "10ms", "-p", victim.pid)
audit.next("ready")
victim.unit("nothing")  # the thread slept when we came; from here on it is seen
for _ in range(20):
    victim.unit("sleep 20")

seed = int(os.environ.get("SEED", "20161113"))
note(f"seed {seed}")
source = random.Random(seed)
sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
sock.setsockopt(SOL_NETLINK, NETLINK_EXT_ACK, 1)
sock.setsockopt(SOL_NETLINK, NETLINK_CAP_ACK, 1)
family = family_id(sock)
ok(family, "the family is there")
sock.settimeout(PATIENCE)
seen = {}
for _ in range(MESSAGES):
    # Not target-del (3) without an id: the audit is to live.
    command = source.choice([c for c in range(COMMANDS) if c != 3])
    flags = NLM_F_REQUEST | NLM_F_ACK
    if (command in DUMPS) != (source.random() < 0.1):
        flags |= NLM_F_DUMP
    sock.send(message(family, command, flags, random_attributes(source)))
    wait(sock, seen)
sock.close()
note(f"answers by error: {seen}")
ok(sum(count for error, count in seen.items() if error != "text") == MESSAGES,
   f"{MESSAGES} random messages are answered or refused")
ok(seen.get("text", 0) > 100, "refusals carry a text")
audit.finish()
ended = audit.kind("ended")
ok(len(ended) >= 19, f"the audit beside it has what it saw, {len(ended)} late units")
left = collect("disarm", "--all")
note(f"what the messages had armed: {left.stdout.strip() or left.stderr.strip()}")
audit = Audit("--duration", 900, "--slower-than", "10ms", "-p", victim.pid)
audit.next("ready")
victim.unit("nothing")
for _ in range(5):
    victim.unit("sleep 100")
ended = [audit.next_long("ended", 100) for _ in range(5)]
audit.finish()
ok(all(ended) and len(audit.slept("ended", 100)) == 5, "another audit works as ever")
victim.end()
ok("Nothing is watched" in collect("status").stdout, "and nothing is left")
done()
