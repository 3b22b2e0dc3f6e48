# SPDX-License-Identifier: GPL-2.0
"""In the guest: what the module says of the keys that a program with windows gets, and what they took.

usage: keys.py SUBJECT OUT

OUT/requests.json is as that of requests.py.  The truth is the kernel's own trace of what the X server
and the program write to each other: a key takes from when the server begins to write it to when the
program begins to write the last it draws, before it has written nothing for some time or the next key
comes.  Nothing is judged here.
"""

import bisect
import collections
import json
import pathlib
import random
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[2]
sys.path[:0] = [str(HERE), str(TOP / "tests/vm/guest")]

import programs  # noqa: E402
from calls import Calls  # noqa: E402
from editor import SMALL  # noqa: E402
from family import Family  # noqa: E402
from perfguard import Audit, note  # noqa: E402
from recorded import Recorded  # noqa: E402

NUMBER, BEFORE = 500, 30
KEYS = (*"abcdefgh", "space", "Return", "BackSpace", "Down", "Up", "Left", "Right", "End")
# Between two keys, s: what the program does by a timer of 250 ms is over by then.
PAUSE = (0.4, 0.6)
# What a program draws without a pause of this is for one key.
REST_NS = 100_000_000
SPAN = 100000           # more than all takes, s of the guest's
WRITES = (1, 20, 44, 46)    # write, writev, sendto, sendmsg
ASKS = 20               # by which the descriptor of the keys' sender is known


def sums(family):
    """Of the one target that is audited."""
    row = family.table("REQUEST_GET", "REQUEST")[0]
    return {name: value for name, value in row.items() if isinstance(value, int)}


def press(subject, chance, number):
    """When each key was sent, ns."""
    sent = []
    for _ in range(number):
        sent.append(time.monotonic_ns())
        subject.hand.press(chance.choice(KEYS))
        time.sleep(chance.uniform(*PAUSE))
    return sent


class Truth:
    """What is written meanwhile, and by which descriptors."""

    def __init__(self, subject):
        self.calls = Calls([subject.pid, subject.screen.process.pid], WRITES)
        self.pid = subject.pid
        self.begun = time.monotonic_ns()
        for _ in range(ASKS):
            subject.hand.display.sync()
        self.asked = time.monotonic_ns()

    def keys(self, sent):
        """[(sent, came to the program, last drawn, all in ns)]"""
        calls = self.calls.done()
        hand = collections.Counter(fd for begin, _, tid, fd in calls if tid != self.pid and
                                   self.begun <= begin <= self.asked).most_common(1)[0][0]
        own = collections.Counter(fd for *_, tid, fd in calls if tid == self.pid)
        server = collections.Counter(fd for *_, tid, fd in calls if tid != self.pid)
        note(f"written: {own} by the program, {server} by the server; {hand} is the hand's")
        # It has an eventfd, too, and connections that are not used meanwhile.
        shown = own.most_common(1)[0][0]
        came = sorted(begin for begin, _, tid, fd in calls if tid != self.pid and fd != hand)
        drawn = sorted(begin for begin, _, tid, fd in calls if tid == self.pid and fd == shown)
        for first, last in zip(sent, [*sent[1:], sent[-1] + REST_NS * 10]):
            event = bisect.bisect_left(came, first)
            if event == len(came) or came[event] >= last:
                continue
            end = came[event]
            for when in drawn[bisect.bisect_left(drawn, end):bisect.bisect_left(drawn, last)]:
                if when - end > REST_NS:
                    break
                end = when
            yield first, came[event], end


def measure(subject):
    subject.do(SMALL)
    audit = Audit("--duration", SPAN, *subject.target())
    if not audit.next("ready"):
        raise RuntimeError(audit.finish().errors)
    chance = random.Random(1)
    press(subject, chance, BEFORE)
    family, truth = Family(), Truth(subject)
    before, recorded = sums(family), Recorded(family)
    sent = press(subject, chance, NUMBER)
    after = sums(family)
    # The last one is over once the next has come.
    press(subject, chance, 1)
    found = {"connections": 1, "before": before, "after": after, "recorded": recorded.finish()}
    audit.finish()
    found["asked"] = [{"port": 0, "sent_ns": first, "went_ns": came, "came_ns": end,
                       "answered_ns": end, "label": "key"} for first, came, end in truth.keys(sent)]
    note(f"{found['before']} {found['after']}")
    return found


def main():
    name, out = sys.argv[1], pathlib.Path(sys.argv[2])
    subject = programs.load(name)
    subject.dir.mkdir(parents=True, exist_ok=True)
    subject.start()
    try:
        (out / "requests.json").write_text(json.dumps(measure(subject)))
    finally:
        subject.stop()


main()
