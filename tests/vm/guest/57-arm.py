# SPDX-License-Identifier: GPL-2.0
"""Profiles of a small server armed, swapped, refused and disarmed."""

import collections
import os
import pathlib
import random
import shutil
import struct
import subprocess
import time

from perfguard import (COLLECT, IS_SLOW, TOP, Audit, collect, done, note, ok, run, skip, status,
                       wait_until)

PORT = "7157"
SERVER = str(TOP / "build/tests/vm/guarded")
MAKE_PROFILE = TOP / "build/tests/unit/make-profile"
TMP = pathlib.Path("/tmp/arm")
# The same program by another file: the client is not guarded, nor learnt.
PLAYER = TMP / "player"
WORK = (2000, 4000, 3000, 6000, 5000, 9000, 2500, 12000)     # of each kind of request
KINDS = (2, 3, 7)
NONE, SPIN = 0, 2           # delays, and where they are
BEFORE, MIDDLE = 0, 1
NR = 600


def requests(name, place, nr):
    """A file of requests; half of them call what spins (for no time) in this place."""
    path = TMP / name
    number = random.Random(name)
    with open(path, "wb") as file:
        for seq in range(nr):
            kind = number.choice(KINDS)
            delay = number.choice((NONE, SPIN))
            file.write(struct.pack("<4I3Q", kind, delay, place, seq, 0, WORK[kind], 0))
    return path


def is_served():
    """The port is taken, in hexadecimal as /proc has it."""
    return f":{int(PORT):04X} " in pathlib.Path("/proc/net/udp").read_text(encoding="ascii")


class Server:
    def __init__(self):
        self.process = subprocess.Popen([SERVER, "serve", PORT, TMP / "log"])
        self.pid = self.process.pid
        wait_until(is_served)
        time.sleep(0.5)

    def end(self):
        self.process.kill()
        self.process.wait()

    def text(self):
        """The program's code as its process has it now, to see breakpoints by."""
        for line in pathlib.Path(f"/proc/{self.pid}/maps").read_text().splitlines():
            words = line.split()
            if "x" in words[1] and words[-1] == SERVER:
                begin, end = (int(word, 16) for word in words[0].split("-"))
                with open(f"/proc/{self.pid}/mem", "rb") as memory:
                    memory.seek(begin)
                    return memory.read(end - begin)
        return None


def play(path):
    return run(PLAYER, "play", PORT, path).returncode == 0


def profile():
    """The one that is armed, or None."""
    found = status("profile")
    return found[0] if len(found) == 1 else None


def train(path, load):
    return collect("train", "-v", "-o", path, "--workload", f"{PLAYER} play {PORT} {load}",
                   "--hits", "2", "-e", SERVER)


def columns(text):
    """Of the longest line, except those with a path."""
    return max(len(line) for line in text.splitlines() if "/" not in line)


def refused(text, code, words, *command):
    before = status("profile")
    result = run(*command)
    lines = result.stderr.strip().splitlines()
    note(f"{text}: {result.returncode}, {lines}")
    ok(result.returncode == code and len(lines) == 1 and not result.stdout and words in lines[0],
       f"{text}: exit {code} and one line")
    after = status("profile")
    ok([(line["id"], line["hash"]) for line in after] ==
       [(line["id"], line["hash"]) for line in before], "and what was armed stays")


def first(server, path):
    code = server.text()
    # Whether all stay on is not for the host's other work to say.
    result = collect("arm", "--budget", "none", path)
    note(result.stdout)
    ok(result.returncode == 0 and not result.stderr, "a profile is armed")
    ok(f"Guarding {SERVER}\n" in result.stdout and "1 now" in result.stdout and
       "pg-collect watch" in result.stdout, "and reported: what, how many, what next")
    ok(columns(result.stdout) <= 80, "in 80 columns")
    at_once = profile()
    ok(at_once and at_once["name"] == str(path) and at_once["processes"] == 1 and
       at_once["is_file_known"] and at_once["shed"] == 0, "status has it")
    ok(server.text() != code, "breakpoints are in the running program")
    play(TMP / "trained")
    counted = profile()
    note(f"units {counted['units']}, novel {counted['novel']}, "
         f"expected {counted['novel_expected']}")
    ok(NR - 3 <= counted["units"] <= NR + 3, f"{counted['units']} of {NR} units are counted")
    ok(counted["novel"] <= NR // 50 and not counted["is_new_load"], "they are like those trained")
    types = status("type")
    ok(sum(line["units"] + line["late"] for line in types) == counted["units"],
       "each of them has a type")
    guards = status("guard")
    ok(len(guards) == counted["guards"] and all(line["state"] == "active" for line in guards) and
       sum(line["hits"] for line in guards) >= NR // 3, "the guards are on and hit")
    note(", ".join(f"{line['way']} {line['hits']}" for line in guards))
    text = collect("status")
    if not ok(text.returncode == 0 and str(path) in text.stdout and
              "Event loop 1" in text.stdout and columns(text.stdout) <= 90,
              "status shows it to people"):
        note(text.stdout)
    return code


def swap(server, path):
    """Armed again, by the same profile, by another one, and while units run."""
    before, by = profile(), [line["way"] for line in status("guard")]
    result = collect("arm", path)
    armed = before["armed"][:19]
    ok(result.returncode == 0 and f"the profile armed at {armed}Z, with the same contents" in
       result.stdout, "armed twice: the profile is replaced, and this is reported")
    after = profile()
    ok(after["target"] == before["target"] and after["id"] != before["id"] and
       after["units"] == 0, "for the same target, with new counters")
    ok([line["way"] for line in status("guard")] == by,
       f"instructions are carried out by whom they were: {collections.Counter(by)}")
    small = TMP / "small.pgp"
    shutil.copy(path, small)
    learnt = collect("learn", "-o", small, "--hits", "0.3")
    result = collect("arm", small)
    ok(learnt.returncode == 0 and result.returncode == 0 and f"{path}" in result.stdout,
       "by another file: it says which was replaced")
    load = subprocess.Popen([PLAYER, "play", PORT, TMP / "long"])
    codes = []
    while load.poll() is None:
        codes += [collect("arm", path if len(codes) % 2 else small).returncode]
    counted = profile()
    ok(set(codes) == {0} and load.returncode == 0, f"swapped {len(codes)} times under load")
    ok(counted["processes"] == 1 and len(status("target")) == 1, "one target all the time")
    units = status("target")[0]["units"]
    played = NR + (TMP / "long").stat().st_size // 40
    note(f"{units} units of {played}")
    ok(abs(units - played) <= 3, "and no unit was missed in between")
    ok(collect("arm", "--infer", "paper", path).returncode == 0 and
       profile()["infer"] == "paper", "by the paper's rule")
    collect("arm", path)


def bad(path):
    other = TMP / "other.pgp"
    shutil.copy(path, other)
    refused("two profiles of one program", 1, "are both of", COLLECT, "arm", path, other)
    program = TMP / "program"
    shutil.copy("/bin/ls", program)
    run("mount", "--bind", program, SERVER)
    refused("another build", 1, "of build id", COLLECT, "arm", path)
    run("umount", SERVER)
    cut = TMP / "cut.pgp"
    cut.write_bytes(path.read_bytes()[:5000])
    refused("a damaged profile", 1, "is damaged", COLLECT, "arm", cut)
    shutil.copy(COLLECT, TMP / "pg-collect")
    os.chmod(TMP, 0o755)
    os.chmod(path, 0o644)
    refused("no permission", 3, "", "setpriv", "--reuid", "65534", "--regid", "65534",
            "--clear-groups", TMP / "pg-collect", "arm", path)
    refused("an audit of what is guarded", 1, "is guarded by target", COLLECT, "audit", "-e", SERVER)
    result = collect("arm", "--budget", "none", cut, path)
    ok(result.returncode == 1 and "is damaged" in result.stderr and
       f"Guarding {SERVER}" in result.stdout, "a good file beside a bad one is armed")
    if not MAKE_PROFILE.exists():
        skip("a site that the kernel refuses", "make unit-tests makes the profile")
        return
    here = TMP / "here.pgp"
    run(MAKE_PROFILE, "here", here, "/bin/cat", "/bin/ls")
    refused("guards where there is no code", 1, "the guard at http_parse_headers in /bin/cat cannot be put on",
            COLLECT, "arm", here)


def news(path):
    """Units of a new kind, by a known function in a new place, are noticed and reported."""
    play(TMP / "other")
    counted = profile()
    note(f"novel {counted['novel']} of {counted['units']}")
    text = collect("status").stdout
    ok(counted["novel"] > NR / 3, "units of a new kind are novel")
    ok(counted["is_new_load"] and f"pg-collect train -o {path} -e {SERVER}" in text,
       "another load is reported, with what to do")


def end(server, path, code):
    result = collect("disarm", path.name)
    ok(result.returncode == 0 and SERVER in result.stdout, "disarmed by the profile's name")
    ok(not status("target") and not status("profile") and not status("hook"),
       "nothing is armed any more")
    ok(server.text() == code, "no breakpoint is left in the program")
    ok(play(TMP / "trained"), "which works on")
    refused("disarm of what is not armed", 1, "is not armed", COLLECT, "disarm", path.name)


def later(path):
    """The program is not there yet, and then it is, twice."""
    result = collect("arm", path)
    ok(result.returncode == 0 and "0 now" in result.stdout, "armed before the program runs")
    server = Server()
    play(TMP / "trained")
    counted = profile()
    ok(counted["processes"] == 1 and abs(counted["units"] - NR) <= 3,
       f"guarded from its start: {counted['units']} units of {NR}")
    server.end()
    ok(wait_until(lambda: profile()["processes"] == 0), "it ends, the profile stays")
    server = Server()
    play(TMP / "trained")
    ok(abs(profile()["units"] - 2 * NR) <= 6, "and guards the next one")
    collect("disarm", SERVER)
    ok(not status("profile"), "disarmed by the program's name")
    return server


def watched(path):
    audit = Audit("--duration", 900, "-e", SERVER)
    audit.next("ready")
    refused("arming what is audited", 1, "is watched by 'pg-collect audit'", COLLECT, "arm", path)
    audit.finish()
    ok(audit.code == 0, "the audit was not disturbed")
    ok(collect("arm", path).returncode == 0, "armed when it is over")
    collect("disarm", "--all")
    ok(not status("profile") and not status("target"), "disarmed with all")


def main():
    TMP.mkdir(exist_ok=True)
    shutil.copy(SERVER, PLAYER)
    if IS_SLOW:
        skip("arming", "with all of the kernel's checks on it takes too long to train")
        done()
    requests("trained", MIDDLE, NR)
    requests("other", BEFORE, NR)
    requests("long", MIDDLE, 4000)
    server = Server()
    path = TMP / "server.pgp"
    result = train(path, TMP / "trained")
    if not ok(result.returncode == 0, "a server is trained"):
        note(result.stderr[-600:])
        done()
    code = first(server, path)
    swap(server, path)
    bad(path)
    news(path)
    end(server, path, code)
    server.end()
    server = later(path)
    watched(path)
    server.end()
    done()


main()
