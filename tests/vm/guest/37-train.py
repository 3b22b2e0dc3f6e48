# SPDX-License-Identifier: GPL-2.0
"""A whole training of a server, and what may go wrong with one."""

import hashlib
import json
import pathlib
import signal
import socket
import subprocess
import time

from perfguard import (COLLECT, IS_SLOW, LONG, PATIENCE, collect, done, note, ok, run, skip,
                       wait_until)
from record import text_of

PORT = 7007
SERVER = "/usr/bin/redis-server"
REQUESTS = 500
COMMANDS = "ping,set,get,incr,lpush,rpop,sadd,hset,zadd"
NR_COMMANDS = COMMANDS.count(",") + 1
LOAD, BRIEF = (f"redis-benchmark -p {PORT} -c 4 -n {requests} -q -t {COMMANDS} "
               "< /dev/null > /dev/null 2>&1" for requests in (REQUESTS, REQUESTS // 5))
TMP = pathlib.Path("/tmp")


def listening():
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", PORT)) == 0


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else None


def show(path):
    result = collect("show", "--json", path)
    return json.loads(result.stdout) if result.returncode == 0 else None


def train(path, *options, program=("-e", SERVER), load=LOAD):
    return collect("train", "-v", "-o", path, "--workload", load, *options, *program,
                   timeout=LONG)


def train_heard(path, *options):
    """The same, and between which of its lines most time went: (result, seconds, line before)."""
    command = [COLLECT, "train", "-v", "-o", path, "--workload", LOAD, *options, "-e", SERVER]
    lines, last, longest = [], time.monotonic(), (0, "")
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as trainer:
        for line in trainer.stdout:
            now = time.monotonic()
            longest = max(longest, (now - last, lines[-1] if lines else ""))
            last = now
            lines.append(line)
    return (subprocess.CompletedProcess(command, trainer.returncode, "", "".join(lines)), *longest)


def is_armed():
    status = json.loads(collect("status", "--json").stdout.splitlines()[0])
    return bool(status.get("targets")) and status.get("sites", 0) != 0


def whole(server, profile):
    code = text_of(server.pid, "/usr/bin/redis")
    started = time.monotonic()
    # How many types guards distinguish within the usual share depends on the host's load.
    result, silent, before = train_heard(profile, "--guard-share", "5", "--units", TMP / "units.tsv")
    note(f"training took {time.monotonic() - started:.0f} s")
    if not ok(result.returncode == 0, "a server is trained under its load"):
        note(result.stderr[-600:])
        return
    ok("no client sent" not in result.stderr, "its clients are seen")
    for stage in ("coverage", "structure", "timing"):
        ok(stage in result.stderr, f"{stage} reports how far it is")
    # Two seconds; what runs in this machine is late by some.
    if not ok(silent < 3, f"it is silent for {silent:.1f} s at most"):
        note(f"after: {before}")
    ok(text_of(server.pid, "/usr/bin/redis") == code, "no breakpoint is left in the program")
    known = show(profile)
    busy = max(known["loops"], key=lambda loop: loop["units"])
    lines = (TMP / "units.tsv").read_text().splitlines()
    ok(busy["units"] > NR_COMMANDS * REQUESTS / 3, f"the loop has {busy['units']} units")
    ok(len(lines) == 1 + sum(loop["units"] for loop in known["loops"]),
       "each unit has a line in the list")
    types = [kind for kind in known["types"] if kind["units"] >= REQUESTS / 4]
    ok(NR_COMMANDS - 3 <= len(types) <= 2 * NR_COMMANDS,
       f"{NR_COMMANDS} commands are {len(types)} types of many units")
    said = next(line for line in known["predictions"] if line["loop"] == busy["loop"])
    ok(said["accuracy_end"] >= 0.95, f"{said['accuracy_end']:.3f} of units are recognised")
    ok(said["worst"] <= 20, f"the worst unit has {said['worst']} hits")
    limits = [kind["limits_ns"] for kind in types]
    ok(all(one["own"] and (one["blocked"] or not one["cpu"]) for one in limits),
       "each has a limit of its own time, and of what it computes only if it is blocked, too")
    ok(sum(kind["times"]["nr"] for kind in known["types"]) > NR_COMMANDS * REQUESTS / 2,
       "most units of the timing run were timed")


def again(profile):
    before = show(profile)
    result = train(profile)
    after = show(profile)
    ok(result.returncode == 0 and after["training"]["runs"] == 2, "a second training adds to it")
    units = [sum(loop["units"] for loop in known["loops"]) for known in (before, after)]
    ok(units[1] > 1.3 * units[0], f"units: {units[0]}, then {units[1]}")


def apart(profile):
    """record and learn give what train does."""
    trace, timing, other = TMP / "a.pgt", TMP / "b.pgt", TMP / "other.pgp"
    first = collect("record", "-o", trace, "--workload", BRIEF, "-e", SERVER, timeout=LONG)
    second = collect("learn", "-o", other, trace, timeout=LONG)
    third = collect("record", "-o", timing, "--timing", other, "--workload", BRIEF, "-e", SERVER,
                    timeout=LONG)
    fourth = collect("learn", "-o", other, timing, timeout=LONG)
    codes = [result.returncode for result in (first, second, third, fourth)]
    ok(codes == [0, 0, 0, 0], f"record and learn, twice: {codes}")
    known = show(other)
    ok(known is not None and any(kind["times"]["nr"] for kind in known["types"]),
       "and the types have times")
    damaged = TMP / "damaged.pgt"
    damaged.write_bytes(trace.read_bytes()[:-100])
    before = digest(profile)
    result = collect("learn", "-o", profile, damaged)
    ok(result.returncode == 1 and "damaged" in result.stderr and digest(profile) == before,
       "a truncated trace is refused, and the profile stays")


def refused(server, profile):
    before = digest(profile)
    other = subprocess.Popen(["sleep", "600"])
    result = train(profile, program=("-p", str(other.pid)), load="sleep 1")
    other.kill()
    other.wait()
    ok(result.returncode == 1 and "build" in result.stderr and digest(profile) == before,
       "a profile of another program is refused, and stays")
    note(result.stderr.strip()[-200:])
    result = train(profile, program=("-e", SERVER), load="exit 3")
    ok(result.returncode == 1 and digest(profile) == before,
       "without a load nothing is learnt, and the profile stays")
    idle = TMP / "idle.pgp"
    result = train(idle, "--workload-may-fail", load="sleep 8; false")
    ok("no client sent it a message" in result.stderr, "that no client came is said")
    note(result.stderr.strip()[-300:])
    idle.unlink(missing_ok=True)
    full = TMP / "full"
    full.mkdir()
    run("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", full)
    small = full / "p.pgp"
    result = train(small, load=BRIEF)
    ok(result.returncode == 1 and not small.exists() and "space" in result.stderr.lower(),
       "a full disk is reported, and no half profile is left")
    run("umount", full)
    code = text_of(server.pid, "/usr/bin/redis")
    process = subprocess.Popen([COLLECT, "train", "-o", str(profile), "--duration", str(LONG), "-e",
                                SERVER], stderr=subprocess.DEVNULL)
    load = subprocess.Popen(["sh", "-c", f"while :; do {LOAD}; done"])
    was_probed = wait_until(lambda: text_of(server.pid, "/usr/bin/redis") != code)
    time.sleep(2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    load.kill()
    load.wait()
    ok(was_probed, "a training is under way")
    ok(wait_until(lambda: text_of(server.pid, "/usr/bin/redis") == code),
       "killed, it leaves no breakpoint")
    ok(wait_until(lambda: not is_armed()) and digest(profile) == before,
       "nor a target, and the profile stays")


def main():
    if IS_SLOW:
        skip("training", "with all of the kernel's checks on it takes too long; see 35-record")
        done()
    if not pathlib.Path(SERVER).exists() or run("sh", "-c", "command -v redis-benchmark").returncode:
        skip("training", "no server to train")
        done()
    server = subprocess.Popen([SERVER, "--port", str(PORT), "--save", "", "--hz", "10"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    wait_until(listening)
    profile = TMP / "redis.pgp"
    profile.unlink(missing_ok=True)     # of the host's files, one may have that name
    whole(server, profile)
    if profile.exists():
        again(profile)
        apart(profile)
        refused(server, profile)
    server.terminate()
    server.wait(PATIENCE)
    done()


main()
