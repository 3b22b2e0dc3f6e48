# SPDX-License-Identifier: GPL-2.0
"""Messages to the module that are nearly right: made by the spec, then spoiled.

A third of them has no mistake.  The others have a few anywhere, or are copies of a message before
with one: an attribute that is missing, twice there, of another type, length or value; a message
that is cut off; a wrong header.
"""

import struct

import yaml

from family import NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NUMBER, attribute, u32
from perfguard import TOP

PACK = {"u8": "B", "u16": "H", "s16": "h", "u32": "I", "u64": "Q"}
NESTED = 0x8000
# Attributes that are arrays, and of which structure.
ARRAYS = {"sites": "site", "loops": "loop", "boundaries": "boundary", "guards": "guard",
          "types": "type", "contexts": "calling-context", "weights": "weight"}
# Attributes whose value is one of something that there is: of which, in a World.
LIVE = {"target-id": "targets", "exe-fd": "files", "object-fd": "files", "fd": "files",
        "pid": "pids", "image-id": "images", "profile-id": "profiles", "uid": "uids",
        "cgroup-id": "cgroups"}
ID = {"target": "targets", "profile": "profiles"}
# The chance that a value, an attribute or a header is spoiled, unless nothing in the message is.
SPOILED = 0.05
SOUND = 1 / 3
COPIES = 4
# Requests that get far only after others have; and those with long answers.
WEIGHTS = {"profile-add": 6, "site-add": 3, "profile-arm": 6, "target-new": 2,
           "target-set": 2, "target-del": 0.3, "site-del": 0.5, "profile-new": 0.5, "alert-get": 0.3,
           "wait-get": 0.3}
# Attributes that hardly any process or request fits, all together.
SCOPES = ("scope-pids", "scope-args")
COSTS = ("budget-ppm", "kernel-hit-ns", "module-hit-ns", "stepped-hit-ns", "call-ns", "unit-ns")
# Values at the edges of what an attribute can be.
EDGES = [struct.pack(form, value) for form in "IQ" for value in
         (0, 1, 2, 0x7fffffff, 0x80000000, 0xffffffff)]
EDGES += [struct.pack("Q", value) for value in (1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)]


def upper(*words):
    return "_".join(words).replace("-", "_").upper()


def split(attributes):
    """The attributes of a message one by one, whole; what is no attribute is one, too."""
    found = []
    while attributes:
        size = struct.unpack_from("H", attributes)[0] if len(attributes) >= 4 else 0
        size = size + -size % 4 if size >= 4 else len(attributes)
        found.append(attributes[:size])
        attributes = attributes[size:]
    return found


class World:
    """What there is that a message can be about: ids, descriptors, places in programs."""

    def __init__(self):
        self.targets, self.profiles, self.images = [0], [0], [0]
        self.files, self.pids, self.offsets = [], [], []
        self.uids, self.cgroups = [0], [0]
        self.profile = None     # a sound one, see profile.py

    def see(self, family):
        """Ask the module for the ids."""
        self.targets = [row["id"] for row in family.targets()] or [0]
        self.profiles = [row["id"] for row in family.table("PROFILE_GET", "PROFILE")] or [0]
        self.images = [row["image_id"] for row in family.table("PROCESS_GET", "PROCESS")] or [0]


class Messages:
    """A source of messages; the same ones for the same random numbers in the same world."""

    def __init__(self, source, world):
        self.source, self.world = source, world
        path = TOP / "Documentation/netlink/specs/perfguard.yaml"
        # The loader in C is there by chance; the other one takes seconds in the guest.
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        spec = yaml.load(path.read_text(encoding="utf-8"), loader)
        self.sets = {one["name"]: {a["name"]: a for a in one["attributes"]}
                     for one in spec["attribute-sets"]}
        self.definitions = {one["name"]: one for one in spec["definitions"]}
        self.operations = [one for one in spec["operations"]["list"] if "notify" not in one]
        self.weights = [WEIGHTS.get(one["name"], 1) for one in self.operations]
        self.is_sound = False       # the message that is made

    def is_bad(self):
        return not self.is_sound and self.source.random() < SPOILED

    def integer(self, bits):
        """Numbers at the edges more often than others, and small ones most."""
        source = self.source
        return source.choice((0, 1, source.randrange(64), source.randrange(64),
                              1 << source.randrange(bits), (1 << bits) - 1,
                              (1 << source.randrange(bits)) - 1,
                              source.getrandbits(bits))) & ((1 << bits) - 1)

    def structure(self, name):
        """One of an array, its numbers mostly small."""
        out = b""
        for member in self.definitions[name]["members"]:
            form = PACK[member["type"]]
            bits = struct.calcsize(form) * 8
            value = self.integer(bits) if self.is_bad() else self.source.randrange(4)
            if member["name"].endswith("offset") and not self.is_bad():
                value = self.source.choice(self.world.offsets)
            elif member["name"] == "reserved" and not self.is_bad():
                value = 0
            elif form == "h":
                value -= (value >> 15) << 16
            out += struct.pack("<" + form, value)
        return out

    def array(self, name):
        """Of the sound profile, or by chance."""
        if name != "sites" and self.source.random() < 0.8:
            return b"".join(self.world.profile.arrays()[name.upper()])
        count = self.source.choice((0, 1, 2, 5, self.source.randrange(200)))
        return b"".join(self.structure(ARRAYS[name]) for _ in range(count))

    def processes(self):
        """Ids of some, more than are taken at times."""
        if self.is_bad():
            return b"".join(struct.pack("I", self.integer(32))
                            for _ in range(self.source.randrange(200)))
        return b"".join(struct.pack("I", self.source.choice(self.world.pids or [0]))
                        for _ in range(self.source.randrange(1, 4)))

    def payload(self, set_name, name):
        known = self.sets[set_name][name]
        live = ID.get(set_name) if name == "id" else LIVE.get(name)
        if name in ARRAYS:
            return self.array(name)
        if known["type"] == "nest":
            inner = known["nested-attributes"]
            return self.attributes(inner, self.sets[inner])
        if name == "scope-args" and not self.is_bad():
            return b"fuzz\0"
        if known["type"] == "string":
            return self.source.choice((b"fuzz\0", b"\0", b"", b"fuzz", b"x" * 2000 + b"\0"))
        if known["type"] == "binary":
            return self.processes()
        form = PACK[known["type"]]
        bits = struct.calcsize(form) * 8
        if live and not self.is_bad():
            return struct.pack(form, self.source.choice(getattr(self.world, live)))
        if "enum" in known and not self.is_bad():
            entries = len(self.definitions[known["enum"]]["entries"])
            return struct.pack(form, self.source.getrandbits(entries))
        if name.endswith("hit-ns") or name in ("call-ns", "unit-ns", "budget-ppm"):
            return struct.pack(form, self.source.randrange(50, 1000))
        return struct.pack(form, self.integer(bits))

    def attribute(self, set_name, name):
        kind, payload = NUMBER[upper("A", set_name, name)], self.payload(set_name, name)
        if self.sets[set_name][name]["type"] == "nest":
            kind |= NESTED
        if not self.is_bad():
            return attribute(kind, payload)
        spoil = self.source.randrange(5)
        if spoil == 0:
            kind ^= self.source.choice((NESTED, 0x4000, 1, 64))
        elif spoil == 1:
            payload = payload[:self.source.randrange(len(payload) + 1)]
        elif spoil == 2:
            payload += self.source.randbytes(self.source.randrange(1, 300))
        elif spoil == 3 and payload:
            at = self.source.randrange(len(payload))
            payload = payload[:at] + self.source.randbytes(1) + payload[at + 1:]
        made = attribute(kind, payload)
        if spoil == 4:
            made = struct.pack("H", self.source.getrandbits(16)) + made[2:]
        return made

    def attributes(self, set_name, names):
        """Most of those that are taken; each may be there twice, or somewhere else."""
        few = self.source.random() < 0.5
        chosen = [name for name in names
                  if (not few or self.source.random() < 0.85) and
                  (name not in SCOPES or self.source.random() < 0.3)]
        if chosen and self.is_bad():
            chosen += self.source.choices(chosen, k=self.source.randrange(1, 40))
        if self.is_bad():
            self.source.shuffle(chosen)
        made = b"".join(self.attribute(set_name, name) for name in chosen)
        if self.is_bad():
            made += self.source.randbytes(self.source.randrange(1, 40))
        return made

    def chosen(self, operation, mode):
        """The names of the attributes of a request: not both of what excludes each other."""
        names = list((operation[mode].get("request") or {}).get("attributes", []))
        if operation["name"] == "target-new" and not self.is_bad():
            names.remove(self.source.choice(("exe-fd", "pid")))
        if operation["name"] == "profile-add" and not self.is_bad():
            names = ["id"] + self.source.choices(names[1:], k=1)
        if operation["name"] == "profile-arm" and not self.is_bad():
            without = self.source.choice((("target-id",), ("uid", "cgroup-id"),
                                          ("target-id", "uid", "cgroup-id")))
            without += self.source.choice(((), COSTS))
            names = [name for name in names if name not in without]
        return names

    def copy(self, body):
        """With one mistake."""
        source, head = self.source, body[:4]
        parts = split(body[4:])
        if not parts:
            return source.choice((head + attribute(source.randrange(4), source.choice(EDGES)),
                                  head[:source.randrange(4)]))
        at, mistake = source.randrange(len(parts)), source.randrange(8)
        part = parts[at]
        if mistake == 0:
            del parts[at]
        elif mistake == 1:
            parts.append(part)
        elif mistake == 2:
            parts[at] = part[:2] + struct.pack("H", source.choice((
                source.randrange(24), source.getrandbits(16)))) + part[4:]
        elif mistake == 3:
            parts[at] = struct.pack("H", source.choice((
                source.randrange(12), len(part) + source.randrange(-4, 5),
                source.getrandbits(16))) & 0xffff) + part[2:]
        elif mistake == 4:
            parts[at] = attribute(struct.unpack_from("H", part, 2)[0] if len(part) >= 4 else 0,
                                  source.choice(EDGES))
        elif mistake == 5:
            return (head + b"".join(parts))[:source.randrange(len(body) + 1)]
        elif mistake == 6:
            parts[at] = part[:4] + attribute(source.randrange(1, 6), part[4:])
        else:
            i = source.randrange(len(part))
            parts[at] = part[:i] + source.randbytes(1) + part[i + 1:]
        return head + b"".join(parts)

    def header(self, flags, body, family, seq):
        """A wrong header, the message, and whether netlink itself answers to it."""
        source, size = self.source, 16 + len(body)
        mistake, is_answered = source.randrange(5), True
        if mistake == 0:
            flags &= ~NLM_F_REQUEST     # is acknowledged, and nothing else
        elif mistake == 1:
            family = source.randrange(16)
        elif mistake == 2:
            family = 0xfff0 + source.randrange(16)
        elif mistake == 3:
            size, is_answered = source.choice((source.randrange(16), size + 4, 1 << 31,
                                               (1 << 32) - 1)), False
        else:
            body, size, is_answered = b"", 16 + source.randrange(1, 64), False
        return struct.pack("IHHII", size, family, flags, seq, 0) + body, is_answered

    def some(self):
        """A message, and perhaps some that are nearly the same: next() for each."""
        name, flags, body = self.next()
        made = [(name, flags, body)]
        if self.source.random() < 0.6:
            made += [(name, flags, self.copy(body)) for _ in range(COPIES)]
        return made

    def next(self):
        """(name, flags, generic netlink header with the attributes)"""
        self.is_sound = self.source.random() < SOUND
        return self.make(self.source.choices(self.operations, self.weights)[0])

    def sound(self, name):
        """The same of an operation, without a mistake."""
        self.is_sound = True
        return self.make(next(one for one in self.operations if one["name"] == name))

    def arm(self, profile):
        """The same of profile-arm, with nothing but the profile's id."""
        return ("profile-arm", NLM_F_REQUEST | NLM_F_ACK,
                struct.pack("BBH", NUMBER["CMD_PROFILE_ARM"], 1, 0) +
                u32(NUMBER["A_PROFILE_ID"], profile))

    def make(self, operation):
        mode = "do" if "do" in operation else "dump"
        command = NUMBER[upper("CMD", operation["name"])]
        flags = NLM_F_REQUEST | NLM_F_ACK | (NLM_F_DUMP if mode == "dump" else 0)
        if self.is_bad():
            flags ^= NLM_F_DUMP
        version, reserved = 1, 0
        if self.is_bad():
            command, version, reserved = (self.source.getrandbits(8) for _ in range(3))
        body = struct.pack("BBH", command, version, reserved) + self.attributes(
            operation["attribute-set"], self.chosen(operation, mode))
        if self.is_bad():
            body = body[:self.source.randrange(len(body) + 1)]
        return operation["name"], flags, body
