# SPDX-License-Identifier: GPL-2.0
"""What a profile says of loops, types and guards, and whether a loop is the right one."""

import dataclasses
import json
import pathlib
import re
import subprocess


@dataclasses.dataclass(frozen=True)
class Identity:
    """What a loop is, in any run: the function that owns it, and where it waits."""

    path: str
    offset: int
    size: int
    name: str
    waits: tuple
    boundaries: tuple
    comm: str


class Profile:
    """What pg-collect show --json says."""

    def __init__(self, text):
        self.lines = [json.loads(line) for line in text.splitlines() if line]

    def kind(self, kind):
        return [line for line in self.lines if line["kind"] == kind]

    def identity(self, loop):
        line = next(line for line in self.kind("loop") if line["loop"] == loop)
        owner = line["function"] or {}
        boundaries = line["boundaries"]
        return Identity(owner.get("module", ""), owner.get("offset", 0), owner.get("size", 0),
                        owner.get("function") or "",
                        tuple(sorted({one["syscall"] for one in boundaries
                                      if one["role"] == "wait"})),
                        tuple(sorted({f"{one['role']} {one.get('syscall') or 'site'}"
                                      for one in boundaries})), line["comm"])

    def same_loop(self, identity):
        """The number of the loop of this profile that is that of another one."""
        for line in self.kind("loop"):
            mine = self.identity(line["loop"])
            if (mine.path, mine.offset) == (identity.path, identity.offset):
                return line["loop"]
        raise LookupError(f"the loop of {identity.path}+{identity.offset:#x} is not there")

    def prediction(self, loop):
        line = next(line for line in self.kind("prediction") if line["loop"] == loop)
        return {"accuracy": line["accuracy_end"], "guards": line["guards"], "hits": line["hits"],
                "worst": line["worst"], "unseen": line["unseen"], "units": line["units"]}

    def costliest(self, count):
        """The types with the greatest mean time, and its standard deviation as a share of it."""
        kinds = []
        for line in self.kind("type"):
            times = line["times"]
            if times["units"] >= 2 and times["mean_ns"]:
                kinds.append({"id": line["type"], "mean_ns": times["mean_ns"],
                              "deviation": times["sigma_ns"] / times["mean_ns"]})
        return sorted(kinds, key=lambda kind: -kind["mean_ns"])[:count]


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def exported(path, name):
    """Addresses of exported functions whose name is this, or C++ for this."""
    mangled = re.compile(rf"(?:_Z{len(name)}{re.escape(name)}\w*|{re.escape(name)})")
    found = []
    for line in output("objdump", "-T", path).splitlines():
        words = line.split()
        if " .text" in line and mangled.fullmatch(words[-1]):
            found.append(int(words[0], 16))
    return found


def address_of(path, offset):
    """The address of a place in a file, by the segments that have code."""
    for line in output("readelf", "-lW", path).splitlines():
        words = line.split()
        if words[:1] == ["LOAD"] and "E" in "".join(words[6:-1]):
            start, address, size = (int(word, 16) for word in (words[1], words[2], words[4]))
            if start <= offset < start + size:
                return offset - start + address
    raise LookupError(f"{path}+{offset:#x} is no code")


def calls(path, address, size, name):
    """Whether the code there calls the function of this name, or jumps to it."""
    text = output("objdump", "-d", path, f"--start-address={address:#x}",
                  f"--stop-address={address + size:#x}")
    return re.search(rf"(?:call|jmp)\s.*<{re.escape(name)}[@>]", text) is not None


def wanted(rule):
    """A rule of asked.LOOPS in a few words."""
    return rule.get("is") or f"calls {rule['calls']}"


def is_right(identity, rule):
    """(whether it is, what was seen)"""
    seen = (f"{pathlib.Path(identity.path).name}+{identity.offset:#x} {identity.name}"
            f" ({identity.comm}), boundaries: {', '.join(identity.boundaries)}")
    if rule["file"] not in pathlib.Path(identity.path).name:
        return False, seen
    if not any(wait in rule["waits"] for wait in identity.waits):
        return False, seen
    address = address_of(identity.path, identity.offset)
    if "is" in rule:
        return address in exported(identity.path, rule["is"]), seen
    return calls(identity.path, address, identity.size, rule["calls"]), seen
