# SPDX-License-Identifier: GPL-2.0
"""Training does not make a program that others use much slower than it is allowed to."""

import json
import pathlib
import re
import threading
import time

from perfguard import IS_SLOW, LONG, collect, done, note, ok, skip, wait_until
from service import SERVICE, Client, start

PORT, PROFILE, OTHER = 7390, "/tmp/39.pgp", "/tmp/39-without.pgp"
CLIENTS, PERIOD_S = 8, 0.4
CALLS = 60_000
SHORT_S, TRAIN_S = 16, 36
MOST = 0.5


class Users(threading.Thread):
    """One of those who ask at a fixed rate, however long the answers take."""

    def __init__(self, number):
        super().__init__(daemon=True)
        self.number = number
        self.is_over = False
        self.times = []     # (when it was to be asked, how long until the answer), s
        self.start()

    def is_calm(self):
        """The last answer was in time for the next question, and that was not long ago."""
        return self.times[-1][1] < PERIOD_S / 4 and time.monotonic() - self.times[-1][0] < 2 * PERIOD_S

    def run(self):
        client = Client(PORT)
        at = time.monotonic() + self.number * PERIOD_S / CLIENTS
        turn = 0
        while not self.is_over:
            time.sleep(max(at - time.monotonic(), 0))
            client.ask(*(("calls", CALLS), ("compute", 300))[turn % 2])
            self.times.append((at, time.monotonic() - at))
            at += PERIOD_S
            turn += 1


def percentile(times, share):
    return sorted(times)[int(share * (len(times) - 1))]


def between(users, begin, end):
    """How long those took that were asked then."""
    return [took for user in users for at, took in user.times if begin <= at < end]


def describe(what, times):
    note(f"{what}: {len(times)} requests, p50 {percentile(times, 0.5) * 1e3:.1f} ms, "
         f"p90 {percentile(times, 0.9) * 1e3:.1f} ms, p99 {percentile(times, 0.99) * 1e3:.1f} ms, "
         f"longest {max(times) * 1e3:.0f} ms")


def train(users, profile, seconds, *options):
    """What it said, and how long requests took meanwhile."""
    begin = time.monotonic()
    result = collect("train", "-v", "-o", profile, "--duration", f"{seconds}s", *options, "-e", SERVICE,
                     timeout=LONG)
    end = time.monotonic()
    times = between(users, begin, end)
    describe(f"training {' '.join(options)}", times)
    for line in result.stderr.splitlines():
        if "structure" in line:
            note(line)
    # Who still waits is served before the next part begins.
    wait_until(lambda: all(user.is_calm() for user in users), LONG)
    return result, times


def main():
    if IS_SLOW:
        skip("training", "with all of the kernel's checks on it takes too long to train")
        done()
    server = start(PORT, PORT)
    users = [Users(number) for number in range(CLIENTS)]
    time.sleep(1)
    begin = time.monotonic()
    time.sleep(10)
    calm = between(users, begin, time.monotonic())
    describe("before", calm)
    dry = collect("train", "-o", PROFILE, "--dry-run", "-e", SERVICE, timeout=LONG)
    for line in (dry.stdout + dry.stderr).splitlines():
        note(line)
    ok(dry.returncode == 0 and not pathlib.Path(PROFILE).exists() and
       re.search(r"event loops?, (1\d|2\d) units a second", dry.stdout) and
       "by 50 % of its CPU time" in dry.stdout, "a dry run says what training would do")
    _, without = train(users, OTHER, SHORT_S, "--max-slowdown", "none")
    result, within = train(users, PROFILE, TRAIN_S)
    said = re.findall(r"made it (\d+) % slower", result.stderr)
    ok(result.returncode == 0, "it is trained without a workload") or note(result.stderr[-900:])
    ok(said and max(map(int, said[len(said) // 2:])) <= 100 * MOST + 15,
       "it says how much slower it makes it, and keeps to that")
    ok(percentile(within, 0.9) < percentile(without, 0.9) / 4,
       "requests take less time than without a limit")
    shown = json.loads(collect("show", "--json", PROFILE).stdout)
    note(f"{[(one['id'], one['units'], one['times']) for one in shown['types']]}"[:600])
    ok(len(shown["types"]) >= 2, "and types are learnt all the same")
    for user in users:
        user.is_over = True
    for user in users:
        user.join()
    server.kill()
    server.wait()
    done()


main()
