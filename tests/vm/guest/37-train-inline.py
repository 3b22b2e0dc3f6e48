# SPDX-License-Identifier: GPL-2.0
"""Training by jumps: as by breakpoints, and no jump is left in the program."""

import json
import pathlib
import socket
import subprocess
import time

from perfguard import IS_SLOW, LONG, PATIENCE, collect, done, note, ok, run, skip, wait_until
from record import text_of

PORT = 7009
SERVER = "/usr/bin/redis-server"
LOAD = (f"redis-benchmark -p {PORT} -c 4 -n 200 -q -t ping,set,get,lpush,sadd "
        "< /dev/null > /dev/null 2>&1")
TMP = pathlib.Path("/tmp")


def listening():
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", PORT)) == 0


def train(name, *options):
    profile = TMP / name
    profile.unlink(missing_ok=True)
    started = time.monotonic()
    result = collect("train", "-v", "-o", profile, "--workload", LOAD, *options, "-e", SERVER,
                     timeout=LONG)
    note(f"{name} took {time.monotonic() - started:.0f} s; {result.stderr[-500:]}")
    if not ok(result.returncode == 0, f"{name}: trained"):
        return None
    known = json.loads(collect("show", "--json", profile).stdout)
    units = max(loop["units"] for loop in known["loops"])
    note(f"{name}: {units} units, {len(known['types'])} types, {len(known['guards'])} guards")
    return units


def main():
    if IS_SLOW or not pathlib.Path(SERVER).exists() or \
            run("sh", "-c", "command -v redis-benchmark").returncode:
        skip("training by jumps", "no server to train, or with all of the kernel's checks")
        done()
    server = subprocess.Popen([SERVER, "--port", str(PORT), "--save", ""],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    wait_until(listening)
    code = text_of(server.pid, "/usr/bin/redis")
    by_jumps = train("jumps.pgp", "--inline")
    ok(text_of(server.pid, "/usr/bin/redis") == code, "no jump is left in the program")
    by_traps = train("traps.pgp")
    if by_jumps and by_traps:
        ok(by_jumps > by_traps / 2, f"{by_jumps} units by jumps, {by_traps} by breakpoints")
    server.terminate()
    server.wait(PATIENCE)
    done()


main()
