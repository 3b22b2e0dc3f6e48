# SPDX-License-Identifier: GPL-2.0
"""In the guest: is a slow statement's request followed from nginx over php-fpm to MariaDB?

usage: chain.py OUT

All three are trained, one after the other, while pages are asked for; then armed with a limit of
their requests.  Pages with slow statements are asked for one at a time, RUNS by each way from
php-fpm to MariaDB; then MariaDB is disarmed, and some more are asked for.  OUT/chain.json has what
pg-collect watch printed meanwhile.  A profile that is in OUT is not learnt again.  Nothing is judged
here.
"""

import contextlib
import itertools
import json
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[2]
sys.path[:0] = [str(HERE), str(TOP / "tests/vm/guest")]

from perfguard import COLLECT, collect, note  # noqa: E402
from programs import php  # noqa: E402
from programs.program import ask  # noqa: E402

RUNS, UNGUARDED_RUNS = 20, 10
LIMIT = "150ms"
TRAIN_SECONDS = 40
CONNECTIONS, PAUSE = 2, 0.02
# Until it is clear that nothing more is printed of a request, s.
QUIET = 3


class Load:
    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-B", str(HERE / "client.py"), "php", "--connections",
             str(CONNECTIONS), "--pause", str(PAUSE), "--seed", "1"], stdin=subprocess.DEVNULL)

    def stop(self):
        self.process.terminate()
        if self.process.wait(120):
            raise RuntimeError("the load failed")


class SlowMix(php.PageMix):
    pages = {f"{name} by {way}": ("GET", f"/page.php?way={way}&ask=slow+{name}", {}, 200)
             for name in php.SLOW for way in php.WAYS}


class Watch:
    def __init__(self, path):
        self.path = path
        with path.open("w", encoding="utf-8") as output:
            self.process = subprocess.Popen(
                [COLLECT, "watch", "--json", "--window", "0"], stdout=output)
        self.nr = 0

    def lines(self):
        """Printed since it was called last, once nothing more comes."""
        size = -1
        while size != (size := self.path.stat().st_size):
            time.sleep(QUIET)
        whole = self.path.read_text(encoding="utf-8").rpartition("\n")[0].splitlines()
        new, self.nr = whole[self.nr:], len(whole)
        return [json.loads(line) for line in new]

    def stop(self):
        self.process.send_signal(2)
        self.process.wait(120)


def checked(result):
    if result.returncode:
        raise RuntimeError(result.stdout + result.stderr)
    note(result.stdout[-2000:])


def train(program, exe, profile):
    if profile.exists():
        return
    note(f"training {exe}")
    local = pathlib.Path("/tmp") / profile.name
    checked(collect("train", "-o", local, "--max-slowdown", "none", "--duration",
                    f"{TRAIN_SECONDS}s", "-e", exe, timeout=1200))
    profile.write_bytes(local.read_bytes())


def ask_slowly(server, watch, nr, is_guarded):
    """[a run: what was asked for, how long that took, and what was printed]"""
    runs = []
    for way in php.WAYS:
        for name in itertools.islice(itertools.cycle(php.SLOW), nr):
            mix = SlowMix(0, 1, 1)
            with contextlib.closing(server.connect()) as connection:
                begin = time.monotonic()
                ask(mix, connection, f"{name} by {way}")
                took = time.monotonic() - begin
            runs.append({"way": way, "statement": name, "is_guarded": is_guarded, "took": took,
                         "lines": watch.lines()})
            note(f"{name} by {way}: {took:.2f} s, {len(runs[-1]['lines'])} lines")
    return runs


def measure(server, out):
    exes = {"nginx": server.exe, "php": server.pool.exe, "mariadb": server.database.exe}
    profiles = {name: out / f"chain-{name}.pgp" for name in exes}
    load = Load()
    try:
        for name, exe in exes.items():
            train(name, exe, profiles[name])
        for profile in profiles.values():
            checked(collect("arm", "--request-limit", LIMIT, profile))
        # Threads that sleep are guarded from their next call on.
        time.sleep(5)
    finally:
        load.stop()
    watch = Watch(pathlib.Path("/tmp/chain.watch"))
    time.sleep(1)
    watch.lines()
    runs = ask_slowly(server, watch, RUNS, True)
    checked(collect("disarm", exes["mariadb"]))
    watch.lines()
    runs += ask_slowly(server, watch, UNGUARDED_RUNS, False)
    watch.stop()
    return {"runs": runs, "limit": LIMIT, "versions": php.version(),
            "database": {"pid": server.database.pid, "tcp": f"127.0.0.1:{server.database.port}",
                         "unix": f"unix:{server.database.socket()}"},
            "nginx": server.pid, "pool": server.pool.pid, "pool at": f"unix:{server.pool.socket()}"}


def main():
    out = pathlib.Path(sys.argv[1])
    server = php.Server()
    server.start()
    try:
        (out / "chain.json").write_text(json.dumps(measure(server, out)))
    finally:
        collect("disarm", "--all")
        server.stop()


main()
