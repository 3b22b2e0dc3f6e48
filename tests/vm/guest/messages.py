# SPDX-License-Identifier: GPL-2.0
"""Messages to the module that are nearly right: made by the spec, then spoiled."""

import struct

import yaml

from family import NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NUMBER, attribute
from perfguard import TOP

PACK = {"u8": "B", "u16": "H", "s16": "h", "u32": "I", "u64": "Q"}
NESTED = 0x8000
# Attributes that are arrays, and of which structure.
ARRAYS = {"sites": "site", "loops": "loop", "boundaries": "boundary", "guards": "guard",
          "types": "type", "contexts": "calling-context", "weights": "weight"}
# Attributes whose value is one of something that there is: of which, in a World.
LIVE = {"target-id": "targets", "exe-fd": "files", "object-fd": "files", "fd": "files",
        "pid": "pids", "image-id": "images", "profile-id": "profiles"}
ID = {"target": "targets", "profile": "profiles"}
# The chance that a value, an attribute or a header is spoiled.
SPOILED = 0.03
# Requests that get far only after others have.
WEIGHTS = {"profile-add": 6, "site-add": 3, "profile-arm": 3, "target-new": 2,
           "target-del": 0.3, "site-del": 0.5, "profile-new": 0.5}


def upper(*words):
    return "_".join(words).replace("-", "_").upper()


class World:
    """What there is that a message can be about: ids, descriptors, places in programs."""

    def __init__(self):
        self.targets, self.profiles, self.images = [0], [0], [0]
        self.files, self.pids, self.offsets = [], [], []
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
        spec = yaml.safe_load(path.read_text(encoding="utf-8"))
        self.sets = {one["name"]: {a["name"]: a for a in one["attributes"]}
                     for one in spec["attribute-sets"]}
        self.definitions = {one["name"]: one for one in spec["definitions"]}
        self.operations = [one for one in spec["operations"]["list"] if "notify" not in one]
        self.weights = [WEIGHTS.get(one["name"], 1) for one in self.operations]

    def is_bad(self):
        return self.source.random() < SPOILED

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

    def payload(self, set_name, name):
        known = self.sets[set_name][name]
        live = ID.get(set_name) if name == "id" else LIVE.get(name)
        if name in ARRAYS:
            return self.array(name)
        if known["type"] == "nest":
            inner = known["nested-attributes"]
            return self.attributes(inner, self.sets[inner])
        if known["type"] == "string":
            return self.source.choice((b"fuzz\0", b"\0", b"", b"fuzz", b"x" * 2000 + b"\0"))
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
        chosen = [name for name in names if self.source.random() < 0.85]
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
        if operation["name"] == "profile-arm" and self.source.random() < 0.5:
            names.remove("target-id")
        return names

    def next(self):
        """(name, flags, generic netlink header with the attributes)"""
        operation = self.source.choices(self.operations, self.weights)[0]
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
