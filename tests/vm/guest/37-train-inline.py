# SPDX-License-Identifier: GPL-2.0
"""Training by jumps: as by breakpoints, and no jump is left in the program."""

import json
import pathlib
import socket
import subprocess
import time

from perfguard import IS_SLOW, LONG, PATIENCE, collect, done, note, ok, run, skip, status, wait_until
from record import text_of

PORT = 7009
SERVER = "/usr/bin/redis-server"
TESTS = "ping,set,get,lpush,sadd"
EACH = 200
REQUESTS = EACH * (len(TESTS.split(",")) + 1)
LOAD = (f"redis-benchmark -p {PORT} -c 4 -n {EACH} -q -t {TESTS} "
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
    for line in collect("show", profile).stdout.splitlines():
        if line.lstrip().startswith(("guards", "Guards", "predicted", "units", "types")):
            note(f"{name}: {line}")
    return known


def units_of(known):
    return max(loop["units"] for loop in known["loops"])


def timed(known):
    return sum(of["times"]["nr"] for of in known["types"])


def check_guards(known):
    """They are chosen by what jumps cost, and warned of where they would not be."""
    ok(known["model"]["is_inline"] and any(guard["has_window"] for guard in known["guards"]),
       f"of {len(known['guards'])} guards chosen for jumps some have room for one")
    armed = collect("arm", TMP / "jumps.pgp")
    ok(armed.returncode == 0 and "use --inline" in armed.stderr,
       "armed as breakpoints, they cost more than was planned")
    armed = collect("arm", "--inline", TMP / "jumps.pgp")
    run("sh", "-c", LOAD)
    jumping = [process["jumps"] for process in status("process")]
    ok(armed.returncode == 0 and not armed.stderr and jumping and jumping[0] > 0,
       f"armed as jumps they are: {jumping}")
    profile, = status("profile")
    note(f"{profile}")
    collect("disarm", "--all")


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
        ok(units_of(by_jumps) > units_of(by_traps) / 2,
           f"{units_of(by_jumps)} units by jumps, {units_of(by_traps)} by breakpoints")
        # Half of the units are held back.
        ok(timed(by_jumps) > REQUESTS / 4 and timed(by_jumps) > 0.8 * timed(by_traps),
           f"{timed(by_jumps)} units timed by guards that jump, {timed(by_traps)} by breakpoints")
        check_guards(by_jumps)
    server.terminate()
    server.wait(PATIENCE)
    done()


main()
