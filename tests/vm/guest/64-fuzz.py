# SPDX-License-Identifier: GPL-2.0
"""Messages that are nearly right, by several sockets at once, with and without privileges.

COUNT messages (5,000; 3,000 where all is slow), by the random numbers of SEED.  By hand for long:

    COUNT=1000000 tests/vm/module 6.12 --long 64-fuzz.py
"""

import collections
import errno
import os
import pathlib
import random
import select
import shutil
import socket
import struct
import tempfile
import time

from family import NLM_F_ACK, NLMSG_DONE, NLMSG_ERROR, Family, Refused
from messages import Messages, World
from perfguard import IS_SLOW, MODULE, PATIENCE, Victim, collect, done, note, ok, run, skip, \
    wait_until
from profile import Context, Profile, Type
from record import CALLED, Called

COUNT = int(os.environ.get("COUNT", 3000 if IS_SLOW else 5000))
SEED = int(os.environ.get("SEED", 20))
NR_SOCKETS = 5
WAITING = 24                # messages of a socket without a verdict; the module takes 17
RECEIVE_BYTES = 16 << 20    # of many answers that are not read yet
NOBODY = 65534
UNPRIVILEGED = 0.05         # of the messages
KMEMLEAK = pathlib.Path("/sys/kernel/debug/kmemleak")


class Sender(Family):
    """A socket whose answers are read later."""

    def __init__(self):
        super().__init__()
        if not os.geteuid():
            self.socket.setsockopt(socket.SOL_SOCKET, 33, RECEIVE_BYTES)    # SO_RCVBUFFORCE
        self.socket.settimeout(PATIENCE)
        self.waiting = {}       # number of a message: its operation
        self.verdicts = collections.Counter()

    def post(self, messages):
        """Send messages, (name, flags, body) each, at once."""
        packed = b""
        for name, flags, body in messages:
            self._seq += 1
            size = 16 + len(body)
            packed += struct.pack("IHHII", size, self.id, flags, self._seq, 0) + body
            packed += b"\0" * (-size % 4)
            if flags & NLM_F_ACK:
                self.waiting[self._seq] = name
        self.socket.send(packed)

    def load(self, world):
        """A sound profile, the one that the next messages are about."""
        self.read()
        try:
            world.profiles = [world.profile.load(self)]
        except Refused:
            pass

    def read(self):
        """Until each message has its verdict."""
        while self.waiting:
            data = self.socket.recv(1 << 20)
            while data:
                size, kind, _, seq = struct.unpack_from("IHHI", data)
                if kind in (NLMSG_ERROR, NLMSG_DONE) and seq in self.waiting:
                    error = struct.unpack_from("i", data, 16)[0]
                    self.verdicts[self.waiting.pop(seq), -error] += 1
                data = data[size + -size % 4:]


class Prey:
    """A program that breakpoints go anywhere in; it may die of them."""

    def __init__(self, directory):
        self.path = shutil.copy(CALLED, os.path.join(directory, "prey"))
        self.program = Called(self.path)
        self.offsets = [self.program.offset(name) for name in Called.NAMES]

    def is_alive(self):
        """It does what it is told, as far as that can be waited for."""
        try:
            self.program.send("call 20")
        except OSError:
            return False
        return bool(select.select([self.program.process.stdout], [], [], PATIENCE)[0] and
                    self.program.answer())

    def turn(self):
        """Its process, which is another one if it died."""
        if not self.is_alive():
            self.end()
            self.program = Called(self.path)
        return self.program.pid

    def end(self):
        try:
            self.program.end()
        except OSError:
            pass


def world_of(prey, bystander):
    world = World()
    world.files = [os.open(path, os.O_RDONLY) for path in (prey.path,) * 4 + ("/", "/dev/null")]
    world.files.append(socket.socket(socket.AF_UNIX).detach())
    world.pids = [prey.program.pid, bystander.pid]
    world.offsets = prey.offsets
    world.profile = Profile(prey.path, [(prey.offsets[0] + 8, 0, 0, 16)],
                            [(offset, 0) for offset in prey.offsets[:3]],
                            [Type(1 << 30, 1), Type(1 << 20, 2)],
                            [Context(0, 8, [(0, 1, 1)]), Context(1, 16, [(1, 2, 2)])])
    return world


def unprivileged(source, world, count):
    """In a child: the number of messages that were not refused."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] == 0
    try:
        messages = Messages(source, world)
        os.setgroups([])
        os.setresuid(NOBODY, NOBODY, NOBODY)
        sender = Sender()
        for _ in range(count):
            sender.post([messages.next()])
            sender.read()
        passed = sum(nr for (_, error), nr in sender.verdicts.items()
                     if error not in (errno.EPERM, errno.EINVAL, errno.EOPNOTSUPP))
        os._exit(passed != 0)
    finally:
        os._exit(2)


def fuzz(source, world, prey, bystander):
    """The verdicts; whether the bystander lived through it."""
    messages, watch = Messages(source, world), Family()
    senders = [Sender() for _ in range(NR_SOCKETS)]
    verdicts, is_well, sent = collections.Counter(), True, 0
    stream = os.open("/dev/perfguard", os.O_RDONLY | os.O_NONBLOCK)
    while sent < COUNT:
        i = source.randrange(NR_SOCKETS)
        several = [messages.next() for _ in range(source.choice((1, 1, 1, 2, 5)))]
        senders[i].post(several)
        sent += len(several)
        if len(senders[i].waiting) >= WAITING or source.random() < 0.3:
            senders[i].read()
        if source.random() < 0.01:
            verdicts += senders[i].verdicts
            senders[i].close()      # also with requests under way
            senders[i] = Sender()
        if source.random() < 0.02:
            senders[i].load(world)
        if source.random() < 0.05:
            world.see(watch)
            world.pids[0] = prey.turn()
            is_well = bystander.do("nothing") == "ok" and is_well
            try:
                os.read(stream, 1 << 16)
            except BlockingIOError:
                pass
    os.close(stream)
    for sender in senders:
        sender.read()
        verdicts += sender.verdicts
        sender.close()
    watch.close()
    return verdicts, is_well


def leaks():
    """What kmemleak finds of ours; it needs two scans to be sure."""
    for _ in range(2):
        KMEMLEAK.write_text("scan\n", encoding="ascii")
        time.sleep(6)
    text = KMEMLEAK.read_text(encoding="ascii", errors="replace")
    return [one for one in text.split("unreferenced object") if "guard" in one]


def judge(verdicts):
    """Each operation got as far as its end, and each was refused."""
    total, good = sum(verdicts.values()), sum(nr for (_, error), nr in verdicts.items()
                                              if not error)
    names = {name for name, _ in verdicts}
    for name in sorted(names):
        errors = {errno.errorcode.get(error, error): nr
                  for (one, error), nr in sorted(verdicts.items()) if one == name}
        note(f"{name}: {errors}")
    ended = {name for name, error in verdicts if not error}
    ok(total > COUNT / 2 and good > total / 10, f"{total} answers, {good} of them good")
    ok(names == ended, f"each operation was carried out: {sorted(names - ended)} were not")


def main():
    source = random.Random(SEED)
    note(f"{COUNT} messages, seed {SEED}")
    with tempfile.TemporaryDirectory() as directory:
        prey, bystander = Prey(directory), Victim()
        world = world_of(prey, bystander)
        ok(unprivileged(source, world, int(COUNT * UNPRIVILEGED)),
           "without privileges each message is refused")
        began = time.monotonic()
        verdicts, is_well = fuzz(source, world, prey, bystander)
        note(f"{COUNT / (time.monotonic() - began):.0f} messages a second")
        judge(verdicts)
        ok(is_well, "a program beside it works on")
        collect("disarm", "--all")
        family = Family()
        ok(wait_until(lambda: not family.targets() and
                      not family.table("PROFILE_GET", "PROFILE")), "nothing is left")
        family.close()
        bystander.end()
        prey.end()
        for file in world.files:
            os.close(file)
    ok(wait_until(lambda: run("rmmod", "perfguard").returncode == 0), "the module can be removed")
    if KMEMLEAK.exists():
        found = leaks()
        for one in found[:3]:
            note(one.replace("\n", " | ")[:900])
        ok(not found, "no memory is lost")
    else:
        skip("no memory is lost", "this kernel does not look for it")
    run("insmod", MODULE)
    done()


main()
