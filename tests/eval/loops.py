# SPDX-License-Identifier: GPL-2.0
"""Loops, types and guards of a profile, and whether a loop is the right one."""

import dataclasses
import pathlib
import re
import sqlite3
import subprocess

ROLES = ("wait", "event call", "event site")
SYSCALLS = {0: "read", 7: "poll", 17: "pread64", 23: "select", 43: "accept", 45: "recvfrom",
            47: "recvmsg", 128: "rt_sigtimedwait", 130: "rt_sigsuspend", 202: "futex",
            230: "clock_nanosleep", 232: "epoll_wait", 270: "pselect6", 271: "ppoll",
            281: "epoll_pwait", 288: "accept4", 426: "io_uring_enter"}


@dataclasses.dataclass(frozen=True)
class Boundary:
    """Where units begin or end; offset is that of the return address, or of the site."""

    role: str
    syscall: str
    path: str
    offset: int
    distance: int

    def __str__(self):
        call = f"{self.syscall} from " if self.syscall else ""
        return f"{self.role}: {call}{pathlib.Path(self.path).name}+{self.offset:#x}"


class Profile:
    """A profile's tables; loops are numbered from 1, as in the list of units."""

    def __init__(self, path):
        self.file = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.file.row_factory = sqlite3.Row
        self.paths = [row["path"] for row in self.rows("object")]
        self.functions = self.rows("function")

    def rows(self, table):
        return self.file.execute(f'select * from "{table}" order by id').fetchall()

    def loop_of_type(self, kind):
        return next(row["loop"] + 1 for row in self.rows("type") if row["type"] == kind)

    def comm(self, loop):
        return self.rows("loop")[loop - 1]["comm"]

    def lost(self):
        return self.rows("total")[0]["lost"]

    def cut_off(self, loop):
        return self.rows("loop")[loop - 1]["cut_off"]

    def boundaries(self, loop):
        """All boundaries of a loop, waits first."""
        found = []
        for row in self.rows("boundary"):
            if row["loop"] != loop - 1:
                continue
            role = ROLES[row["role"]]
            if role == "event site":
                function = self.functions[row["function"]]
                found.append(Boundary(role, "", self.paths[function["object"]],
                                      function["offset"], 0))
            else:
                found.append(Boundary(role, SYSCALLS.get(row["syscall"], str(row["syscall"])),
                                      self.paths[row["object"]], row["return_offset"],
                                      row["distance"]))
        return found

    def same_loop(self, boundaries):
        """The loop that shares most waits with these boundaries of another profile."""
        def shared(loop):
            mine = {(one.path, one.offset) for one in self.boundaries(loop) if one.role == "wait"}
            return len(mine & {(one.path, one.offset) for one in boundaries})
        count = len(self.rows("loop"))
        best = max(range(1, count + 1), key=shared, default=0)
        if not best or not shared(best):
            raise LookupError("the loop that serves is not there")
        return best

    def prediction(self, loop):
        return next(row for row in self.rows("prediction") if row["loop"] == loop - 1)


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def address_of(path, offset):
    """The address of a place in a file, by the segments that have code."""
    for line in output("readelf", "-lW", path).splitlines():
        words = line.split()
        if words[:1] == ["LOAD"] and "E" in "".join(words[6:-1]):
            start, address, size = (int(word, 16) for word in (words[1], words[2], words[4]))
            if start <= offset < start + size:
                return offset - start + address
    raise LookupError(f"{path}+{offset:#x} is no code")


def called_before(path, offset):
    """The name of the function whose call returns to this place, '' if it has none."""
    address = address_of(path, offset)
    text = output("objdump", "-d", "-C", path, f"--start-address={address - 5:#x}",
                  f"--stop-address={address:#x}")
    match = re.search(r"call\s+[0-9a-f]+ <([\w:~]+)([^<]*)>", text)
    return match[1] if match and "+0x" not in match[2] else ""


def is_in(path, offset, names):
    """Whether the place is in one of these exported functions."""
    address = address_of(path, offset)
    wanted_names = re.compile("|".join(rf"{name}|_Z{len(name)}{name}\w*" for name in names) or "-")
    for line in output("objdump", "-T", path).splitlines():
        words = line.split()
        if " .text" not in line or not wanted_names.fullmatch(words[-1]):
            continue
        start, size = int(words[0], 16), int(re.search(r"\.text\s+([0-9a-f]+)", line)[1], 16)
        if start < address <= start + size:
            return True
    return False


def wanted(rule):
    """A rule of required.LOOPS in a few words."""
    return "waits in " + " or ".join(rule["waits"])


def is_right(boundaries, rule):
    """(whether the loop is the right one, what was seen)

    It is if all its waits return from calls that only the program's own loop makes, or are in
    the function that owns the loop.
    """
    seen = []
    good = True
    for boundary in boundaries:
        if boundary.role != "wait":
            seen.append(str(boundary))
            continue
        name = called_before(boundary.path, boundary.offset)
        seen.append(f"{boundary} (return of {name or 'a call without a name'})")
        good = good and boundary.syscall in rule["waits"] and (
            name in rule["calls"] or is_in(boundary.path, boundary.offset, rule.get("in", ())))
    return good and any(one.role == "wait" for one in boundaries), "; ".join(seen)
