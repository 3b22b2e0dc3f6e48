# SPDX-License-Identifier: GPL-2.0
"""Five servers answer as they do without us: while training records every function, and with all
guards on that it picked.

By hand, as it takes a quarter of an hour: tests/vm/module 6.12 answers.py
"""

import re
import shutil
import subprocess
import sys

from perfguard import COLLECT, LONG, TOP, collect, done, note, ok, status

sys.path.insert(0, str(TOP / "tests/eval/guest"))

import programs  # noqa: E402

SEED = 7
# What an answer says of the time.
CLOCK = re.compile(rb"(?im)^date: .*\r\n")


class Copied:
    """A connection, with a copy of what it has answered."""

    def __init__(self, connection):
        self.connection = connection
        self.sendall = connection.sendall
        self.bytes = b""

    def recv(self, size):
        data = self.connection.recv(size)
        self.bytes += data
        return data

    def take(self):
        answered, self.bytes = CLOCK.sub(b"", self.bytes), b""
        return answered


def talk(program, goes_on):
    """[(label, answer)] of rounds until goes_on(rounds had) is false; raises Unexpected."""
    mix = program.mix(0, 1, SEED)
    answers = []
    rounds = 0
    with program.connect() as connection:
        copied = Copied(connection)
        while goes_on(rounds):
            for label in map(mix.choose, mix.labels):
                connection.sendall(mix.request(label))
                mix.answer(copied, label)
                answers.append((label, copied.take()))
            rounds += 1
    return answers


def served(name, doing):
    """What doing(program) returns, with a server that was started for it alone."""
    program = programs.load(name)
    shutil.rmtree(program.dir, ignore_errors=True)
    program.start()
    try:
        return doing(program)
    finally:
        collect("disarm", "--all")
        program.stop()


def plain(rounds):
    return lambda program: talk(program, lambda had: had < rounds)


def trained(profile):
    def doing(program):
        training = subprocess.Popen([COLLECT, "train", "-o", profile, "-p", str(program.pid)],
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True)
        answers = talk(program, lambda rounds: training.poll() is None)
        text = training.communicate(timeout=LONG)[0]
        if not ok(training.returncode == 0, f"{program.exe}: it is trained on"):
            note(text)
        return answers
    return doing


def guarded(profile, rounds):
    def doing(program):
        armed = collect("arm", "--budget", "none", profile)
        if not ok(armed.returncode == 0, f"{program.exe}: all guards of its training are on"):
            note(armed.stdout + armed.stderr)
        note(armed.stdout)
        answers = plain(rounds)(program)
        hits = sum(line["hits"] for line in status("guard"))
        ok(hits >= len(answers), f"and are met: {hits} hits")
        return answers
    return doing


def compare(name, what, wanted, by_chance, got):
    """Labels whose answers differ without us, too, were checked by talk() only."""
    same = sum(left == right for left, right in zip(wanted, got))
    wrong = [(left, right) for left, right in zip(wanted, got)
             if left != right and left[0] not in by_chance]
    note(f"{name}, {what}: {same} of {len(got)} answers are the same byte by byte")
    ok(got and len(got) == len(wanted) and not wrong, f"{name}: the answers are right {what}")
    for left, right in wrong[:2]:
        note(f"wanted {left}, got {right}")


def check(name):
    """The server answers as many rounds each time as there were in its training."""
    profile = f"/tmp/{name}.pgp"
    training = served(name, trained(profile))
    labels = {label for label, _ in training}
    rounds = len(training) // len(programs.load(name).mix(0, 1, SEED).labels)
    wanted = served(name, plain(rounds))
    again = served(name, plain(rounds))
    by_chance = {left[0] for left, right in zip(wanted, again) if left != right}
    note(f"{name}: by chance or time: {', '.join(sorted(by_chance)) or 'none'}")
    ok(len(by_chance) < len(labels) / 3, f"{name}: most answers are fixed")
    compare(name, "while it is trained on", wanted, by_chance, training)
    compare(name, "while it is guarded", wanted, by_chance,
            served(name, guarded(profile, rounds)))


for server in programs.NAMES:
    check(server)
done()
