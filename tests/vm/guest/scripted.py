# SPDX-License-Identifier: GPL-2.0
"""tests/vm/scripted, random scripts and profiles for it, and what is to be seen of them."""

import pathlib
import struct
import tempfile

from perfguard import TOP, note, ok
from profile import Context, Profile, Type
from record import Program, file_offset

SCRIPTED = str(TOP / "build/tests/vm/scripted")
NR_FUNCTIONS = 48
WAIT, NAP, REST, SPIN, POLL = 0xffff, 0xfffe, 0xfffd, 0xfffc, 7
ROOMS = (0, 16, 64, 96, 400)
GUARD, UNIT = 7, 8
NOVEL = 1 << 63


class Scripted(Program):
    """tests/vm/scripted, and where its functions are."""

    def __init__(self, *arguments, **options):
        super().__init__(SCRIPTED, *arguments, **options)
        words = self.answer().split()
        self.return_offset = file_offset(self.pid, int(words[0], 16))[1]
        self.distance = int(words[1])
        # The loop's frame is anywhere above; what counts is that all agree.
        self.rise = self.distance + 8 + 256
        self.addresses = [int(word, 16) for word in words[2:-1]]
        self.offsets = [file_offset(self.pid, address)[1] for address in self.addresses]
        self.rest_offset = file_offset(self.pid, int(words[-1], 16))[1]
        self.directory = tempfile.TemporaryDirectory()
        pathlib.Path(self.directory.name).chmod(0o777)  # whatever user it is
        self.log = pathlib.Path(self.directory.name, "log")

    def run(self, steps, threads=1):
        """Run a script; [(tid, [(function, depth)] by unit)] of each thread."""
        self.begin(steps, threads)
        return self.finish(steps, threads)

    def begin(self, steps, threads=1, verb="run"):
        script = pathlib.Path(self.directory.name, "script")
        script.write_bytes(b"".join(struct.pack("<HHI", *step) for step in steps))
        self.send(f"{verb} {script} {self.log} {threads}")

    def finish(self, steps, threads=1):
        self.answer()
        return [self._units(steps, i) for i in range(threads)]

    def fork(self, steps):
        """The same in a child, which ends."""
        self.begin(steps, verb="fork")
        return self.finish(steps)

    def _units(self, steps, thread):
        words = [word for word, in struct.iter_unpack(
            "<Q", pathlib.Path(f"{self.log}.{thread}").read_bytes())]
        top = words[1] + self.rise
        units, at = [], 2
        for function, _, _ in steps:
            if function in (WAIT, REST):
                units.append([])
            elif function not in (NAP, SPIN):
                units[-1].append((function, top - words[at]))
                at += 1
        return words[0], units

    def boundary(self):
        return (self.return_offset, POLL, self.distance, self.rise)

    def rest(self):
        """Of a wait that says nothing of the loop's frame."""
        return (self.rest_offset, POLL, self.distance, 0)


def random_calls(source, level=0):
    """A call and those that it makes."""
    nested = [] if level > 5 else [random_calls(source, level + 1)
                                   for _ in range(source.choice((0, 0, 0, 1, 2)))]
    step = (source.randrange(NR_FUNCTIONS), len(nested), source.choice(ROOMS))
    return [step] + [call for calls in nested for call in calls]


def random_script(source, units):
    """Ends with a wait, so that its last unit ends."""
    steps = []
    for _ in range(units):
        steps.append((WAIT, 0, 0))
        # Loops, too: what was met before comes again.
        for _ in range(source.choice((0, 1, 2, 2, 3, 4))):
            calls = random_calls(source)
            steps += calls * source.choice((1, 1, 1, 2))
    return steps + [(WAIT, 0, 0)]


def random_profile(source, program, seen, is_paper):
    """Of contexts that come, except a few, and some that never do."""
    # Few thresholds, so that many are equal; too long for anything to be late.
    types = [Type(source.choice((0, 1, 2, 3)) * 10**12, 100 + 3 * i,
                  source.randrange(-200, 100), source.randrange(-400, 100),
                  source.choice((-32768, source.randrange(200))))
             for i in range(30)]
    depths = sorted(context for context in seen if source.random() < 0.97)
    depths += [(source.randrange(NR_FUNCTIONS), 8 * source.randrange(9000, 9999) + 4)
               for _ in range(100)]
    contexts = []
    for guard, depth in sorted(set(depths)):
        share = source.choice((0.1, 1, 1, 1))
        weights = [(i, source.randrange(128), source.randrange(128))
                   for i in range(len(types)) if source.random() < share]
        contexts.append(Context(guard, depth, weights))
    return Profile(SCRIPTED, [program.boundary()], [(offset, 0) for offset in program.offsets],
                   types, contexts, is_paper)


def events_of(recorder):
    """[event] by tid, of guards and units alone; until no more come."""
    found = {}
    while events := recorder.read(300):
        for event in events:
            if event.kind in (GUARD, UNIT):
                found.setdefault(event.tid, []).append(event)
    return found


def ends_of(reference, units):
    """[(type id, fits)] of a thread's units."""
    found = []
    for calls in units[:-1]:
        reference.begin()
        for guard, depth in calls:
            reference.hit(guard, depth)
        found.append(reference.end())
    return found


class Tally:
    """How the module's events compare with what they should be."""

    def __init__(self):
        self.hits = self.ends = self.novel = 0
        self.wrong = {"hits seen": 0, "type so far": 0, "type at the end": 0, "fit": 0,
                      "ends seen": 0}
        self.types = {}         # units that certainly are of one, by its id
        self.noted = 0

    def miss(self, what, text):
        self.wrong[what] += 1
        self.noted += 1
        if self.noted <= 5:
            note(f"{what}: {text}")

    def compare(self, reference, units, events):
        """A thread's units, the last of which is the wait that ends the one before."""
        at = 0
        for calls in units[:-1]:
            reference.begin()
            for guard, depth in calls:
                wanted = reference.hit(guard, depth)
                event = events[at] if at < len(events) else None
                at += 1
                self.hits += 1
                if not event or (event.kind, event.number, event.sp) != (GUARD, guard, depth):
                    self.miss("hits seen", f"({guard}, {depth}): {event}")
                    return
                if event.value != wanted:
                    self.miss("type so far", f"{wanted}: {event}")
            kind, fits = reference.end()
            event = events[at] if at < len(events) else None
            at += 1
            self.ends += 1
            self.novel += not fits
            if kind and reference.knows(calls):
                self.types[kind] = self.types.get(kind, 0) + 1
            if not event or event.kind != UNIT:
                self.miss("ends seen", f"{event}")
                return
            if event.number != kind:
                self.miss("type at the end", f"{kind}: {event}")
            if bool(event.sp & NOVEL) == fits:
                self.miss("fit", f"{fits}: {event}")
        if at != len(events):
            self.miss("ends seen", f"{len(events) - at} events more than there should be")

    def count(self, reference, units):
        """A thread's units, of which there are no events."""
        for calls, (kind, fits) in zip(units, ends_of(reference, units)):
            self.hits += len(calls)
            self.ends += 1
            self.novel += not fits
            if kind and reference.knows(calls):
                self.types[kind] = self.types.get(kind, 0) + 1

    def judge(self, text, threads):
        note(f"{text}: {self.hits} hits, {self.ends} units, {self.novel} of them novel")
        for what, count in self.wrong.items():
            ok(count == 0, f"{text}: {what}, {count} of {self.hits} hits and {self.ends} units "
               "otherwise")
        ok(self.ends == threads, f"{text}: all units")
