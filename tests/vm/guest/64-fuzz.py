# SPDX-License-Identifier: GPL-2.0
"""Messages that are nearly right, by several sockets at once, with and without privileges.

MESSAGES of them (4,000; 1,500 where all is slow), by the random numbers of SEED.  By hand for long:

    MESSAGES=1000000 tests/vm/module 6.12 --long 64-fuzz.py
"""

import collections
import errno
import os
import random
import select
import shutil
import socket
import struct
import tempfile
import time

from family import NLM_F_ACK, NLM_F_ACK_TLVS, NLMSG_DONE, NLMSG_ERROR, NLMSGERR_ATTR_MSG, NUMBER, \
    Family, Refused, number, parse
from messages import Messages, World
from perfguard import IS_SLOW, MODULE, PATIENCE, Victim, collect, done, no_leaks, note, ok, \
    run, wait_until
from profile import Context, Profile, Type, armed
from record import CALLED, OWNED, Called, changed_bytes

MESSAGES = int(os.environ.get("MESSAGES", 1500 if IS_SLOW else 4000))
SEED = int(os.environ.get("SEED", 20))
NR_SOCKETS = 5
WAITING = 24                # messages of a socket without a verdict; the module takes 17
OWN = 4                     # targets and profiles of a socket that messages are about
RECEIVE_BYTES = 16 << 20    # of many answers that are not read yet
NOBODY = 65534
PROGRESS = 50_000           # messages after which a long run says how far it is
UNPRIVILEGED = 0.05         # of the messages
HEADER = "wrong header"
# Of Linux 6.1, on which a dump that is refused where it begins cannot say why.
IS_WORDLESS = os.uname().release.startswith("6.1.")
REFUSED_DUMPS = ("guard-get", "type-get", "times-get")
# The replies with the id of something new: the World's name of it.
NEW = {NUMBER["CMD_TARGET_NEW"]: ("targets", NUMBER["A_TARGET_ID"]),
       NUMBER["CMD_PROFILE_NEW"]: ("profiles", NUMBER["A_PROFILE_ID"])}


class Sender(Family):
    """A socket whose answers are read later."""

    def __init__(self):
        super().__init__()
        if not os.geteuid():
            self.socket.setsockopt(socket.SOL_SOCKET, 33, RECEIVE_BYTES)    # SO_RCVBUFFORCE
        self.socket.settimeout(PATIENCE)
        self.waiting = {}       # number of a message: its operation
        self.verdicts = collections.Counter()
        self.own = {"targets": [], "profiles": []}
        self.silent = collections.Counter()     # refusals without words
        self.buffer = memoryview(bytearray(1 << 18))
        self.nr_worded = 0
        self.longest = 0        # seconds that an answer took

    def post(self, messages):
        """Send messages, (name, flags, body) each, at once."""
        packed = b""
        for name, flags, body in messages:
            self._seq += 1
            size = 16 + len(body)
            packed += struct.pack("IHHII", size, self.id, flags, self._seq, 0) + body
            packed += b"\0" * (-size % 4)
            if flags & NLM_F_ACK:
                self.waiting[self._seq] = name if len(body) >= 4 else HEADER
        self.socket.send(packed)

    def post_wrong(self, messages):
        """One with a wrong header, alone."""
        _, flags, body = messages.next()
        self._seq += 1
        packed, is_answered = messages.header(flags, body, self.id, self._seq)
        if is_answered:
            self.waiting[self._seq] = HEADER
        self.socket.send(packed)

    def load(self, messages, is_armed):
        """A sound profile, the one that the next messages are about; perhaps one that guards."""
        world = messages.world
        self.read()
        try:
            self.own["profiles"] = [world.profile.arm(self)[0] if is_armed else
                                    world.profile.load(self)]
        except Refused:
            return
        self.offer(world)
        for name in REFUSED_DUMPS:
            self.post([messages.sound(name)])
            self.read()
        if not is_armed and messages.source.random() < 0.5:
            self.post([messages.arm(self.own["profiles"][0])])
            self.read()

    def offer(self, world):
        """Its own targets and profiles are what messages are about."""
        for kind, own in self.own.items():
            if own:
                setattr(world, kind, own[-OWN:])

    def judged(self, seq, kind, flags, message):
        """A message has its verdict."""
        name, error = self.waiting.pop(seq), -struct.unpack_from("i", message)[0]
        self.verdicts[name, error] += 1
        if not error or name == HEADER:
            return
        details = parse(message[20 if kind == NLMSG_ERROR else 4:]) \
            if flags & NLM_F_ACK_TLVS else []
        if dict(details).get(NLMSGERR_ATTR_MSG):
            self.nr_worded += 1
        else:
            self.silent[name, error] += 1

    def read(self):
        """Until each message has its verdict."""
        began = time.monotonic()
        while self.waiting:
            data = self.buffer[:self.socket.recv_into(self.buffer)]
            while data:
                size, kind, flags, seq = struct.unpack_from("IHHI", data)
                if kind in (NLMSG_ERROR, NLMSG_DONE) and seq in self.waiting:
                    self.judged(seq, kind, flags, bytes(data[16:size]))
                elif kind == self.id and data[16] in NEW:
                    of, attribute = NEW[data[16]]
                    self.own[of].append(number(dict(parse(bytes(data[20:size])))[attribute]))
                data = data[size + -size % 4:]
        self.longest = max(self.longest, time.monotonic() - began)


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
        self.program.end()


def descriptors(prey):
    """Most often of the program; else of what is no file that can be executed, or no file."""
    found = [os.open(path, os.O_RDONLY) for path in
             (prey.path,) * 12 + ("/", "/dev/null", "/proc/self/maps")]
    found += [os.open(prey.path, os.O_PATH), *os.pipe(), os.memfd_create("fuzz"), os.eventfd(0),
              socket.socket(socket.AF_UNIX).detach(),
              socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16).detach()]
    return found + [found[-1] + 100]    # none


def world_of(prey, bystander):
    world = World()
    world.files = descriptors(prey)
    world.pids = [prey.program.pid, bystander.pid]
    world.offsets = prey.offsets
    world.cgroups = [os.stat("/sys/fs/cgroup").st_ino]
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


class Fuzz:
    """Messages by several sockets, and what became of them."""

    def __init__(self, source, world):
        self.source, self.world = source, world
        self.messages = Messages(source, world)
        self.senders = [Sender() for _ in range(NR_SOCKETS)]
        self.sent = self.dropped = self.nr_worded = self.longest = 0
        self.verdicts, self.silent = collections.Counter(), collections.Counter()

    def end(self, sender):
        """Close a socket, also with requests under way."""
        self.dropped += len(sender.waiting)
        self.nr_worded += sender.nr_worded
        self.longest = max(self.longest, sender.longest)
        self.verdicts += sender.verdicts
        self.silent += sender.silent
        sender.close()

    def round(self):
        source = self.source
        i = source.randrange(NR_SOCKETS)
        sender = self.senders[i]
        if source.random() < 0.02:
            sender.load(self.messages, source.random() < 0.5)
        sender.offer(self.world)
        if source.random() < 0.02:
            sender.read()
            sender.post_wrong(self.messages)
            self.sent += 1
        several = self.messages.some()
        sender.post(several)
        self.sent += len(several)
        if len(sender.waiting) >= WAITING or source.random() < 0.3:
            sender.read()
        if source.random() < 0.01:
            self.end(sender)
            self.senders[i] = Sender()

    def finish(self):
        for sender in self.senders:
            sender.read()
            self.end(sender)


def fuzz(source, world, prey, bystander):
    """The Fuzz; whether the bystander lived through it."""
    watch, is_well = Family(), True
    one = Fuzz(source, world)
    stream = os.open("/dev/perfguard", os.O_RDONLY | os.O_NONBLOCK)
    while one.sent < MESSAGES:
        before = one.sent
        one.round()
        if one.sent // PROGRESS > before // PROGRESS:
            note(f"{one.sent} messages are sent")
        if source.random() < 0.03:
            world.see(watch)
            world.pids[0] = prey.turn()
            is_well = bystander.do("nothing") == "ok" and is_well
            try:
                os.read(stream, 1 << 16)
            except BlockingIOError:
                pass
    os.close(stream)
    one.finish()
    watch.close()
    return one, is_well


def judge(one):
    """Each operation got as far as its end, and each was refused, in words."""
    verdicts, silent = one.verdicts, one.silent
    total = sum(verdicts.values())
    good = sum(nr for (name, error), nr in verdicts.items() if not error and name != HEADER)
    names = {name for name, _ in verdicts}
    for name in sorted(names):
        errors = {errno.errorcode.get(error, error): nr
                  for (which, error), nr in sorted(verdicts.items()) if which == name}
        note(f"{name}: {errors}")
    ended = {name for name, error in verdicts if not error}
    ok(total > 0.9 * MESSAGES and good > total / 20, f"{total} answers, {good} of them good; the "
       f"longest took {one.longest:.1f} s, {one.dropped} were dropped with their sockets")
    ok(names == ended, f"each operation was carried out: {sorted(names - ended)} were not")
    wordless = {(name, errno.errorcode.get(error, error)): nr
                for (name, error), nr in sorted(silent.items()) if not is_netlinks(name, error)}
    note(f"{sum(silent.values())} refusals without words")
    ok(one.nr_worded > total / 10 and not wordless,
       f"{one.nr_worded} refusals have words: {wordless or 'none'} have not")


def is_netlinks(name, error):
    """A refusal for which netlink has no words: what is no operation, or no dump; a dump while
    another one of the socket is under way."""
    return error == errno.EOPNOTSUPP or (error == errno.EBUSY and name.endswith("-get")) or \
        (IS_WORDLESS and name in REFUSED_DUMPS)


def remains(family):
    """What there is after all sockets were closed that went with them or with the programs."""
    return [row for row in family.targets() if row["flags"] & OWNED] + \
        [row for row in armed(family) if "target_id" not in row]


def is_gone(family):
    stats = family.stats()
    return not any((family.targets(), armed(family), stats["targets"], stats["threads"],
                    stats["sites"]))


def main():
    source = random.Random(SEED)
    note(f"{MESSAGES} messages, seed {SEED}")
    with tempfile.TemporaryDirectory() as directory:
        prey, bystander = Prey(directory), Victim()
        world = world_of(prey, bystander)
        ok(unprivileged(source, world, int(MESSAGES * UNPRIVILEGED)),
           "without privileges each message is refused")
        began = time.monotonic()
        one, is_well = fuzz(source, world, prey, bystander)
        note(f"{one.sent / (time.monotonic() - began):.0f} messages a second")
        judge(one)
        ok(is_well, "a program beside it works on")
        family = Family()
        ok(wait_until(lambda: not remains(family)),
           f"what sockets own went with them: {remains(family) or 'nothing'} remains")
        note(f"left for disarm: {len(family.targets())} targets, {len(armed(family))} profiles")
        collect("disarm", "--all")
        ok(wait_until(lambda: is_gone(family)), f"nothing is left: {family.stats()}")
        prey.turn()
        ok(not changed_bytes(prey.program.pid, prey.path), "the program's code is as it was")
        family.close()
        bystander.end()
        prey.end()
        for file in world.files[:-1]:
            os.close(file)
    ok(wait_until(lambda: run("rmmod", "perfguard").returncode == 0), "the module can be removed")
    no_leaks("no memory is lost")
    run("insmod", MODULE)
    done()


main()
