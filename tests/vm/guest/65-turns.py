# SPDX-License-Identifier: GPL-2.0
"""Orders that take long, about many probes, hold up nobody but those about the same target."""

import errno
import os
import signal
import tempfile
import threading
import time

from family import NUMBER, Family, u32
from large import Large, Order
from perfguard import EXACT, IS_SLOW, collect, done, note, ok, wait_until
from profile import armed
from record import CALLED, OWNED, Called, Recorder

NR_SITES = 500 if IS_SLOW else 4000     # of one request
NR_PROCESSES = 3 if IS_SLOW else 6
LEAST = 10                              # questions answered while an order is carried out
SHARE = 0.25                            # of the order's time, the longest of them,
GRACE = 0.2                             # with what a removal does when the probes are off, s


class Asker(threading.Thread):
    """Asks the module for its counters all the time."""

    def __init__(self):
        super().__init__()
        self.family = Family()
        self.ending = threading.Event()
        self.answers = []               # [(asked, answered)]

    def run(self):
        while not self.ending.is_set():
            asked = time.monotonic()
            self.family.stats()
            self.answers.append((asked, time.monotonic()))
            time.sleep(0.002)

    def finish(self):
        self.ending.set()
        self.join()
        self.family.close()


def ordered(text, order, *arguments, meanwhile=None):
    """Carry an order out while somebody asks; its result."""
    asker, thread = Asker(), Order(order, *arguments)
    asker.start()
    time.sleep(0.2)
    thread.start()
    if meanwhile:
        time.sleep(0.1)
        meanwhile(thread)
    thread.join()
    asker.finish()
    took = thread.ended - thread.began
    during = [(asked, answered) for asked, answered in asker.answers
              if answered > thread.began and asked < thread.ended]
    whole = sum(asked > thread.began and answered < thread.ended for asked, answered in during)
    longest = max(answered - asked for asked, answered in during)
    note(f"{text}: {took:.2f} s, {whole} questions answered meanwhile, "
         f"the longest in {1000 * longest:.0f} ms")
    ok(whole >= LEAST and longest < (SHARE * took + GRACE if EXACT else took),
       f"{text}: others are answered meanwhile")
    return thread.result


def elsewhere(recorder, family):
    """Orders about another target, and the end of its process, are not held up."""
    program = Called()
    target = recorder.watch("pid", program.pid)
    sites = [(program.offset(name), i, 0) for i, name in enumerate(program.NAMES)]

    def nr_sites():
        return next(one["sites"] for one in family.targets() if one["id"] == target)

    def meanwhile(order):
        added = recorder.sites(target, CALLED, sites)
        recorder.off(target)
        ok(added[1:] == (0, {}) and nr_sites() == 0 and order.is_under_way(),
           "meanwhile, sites of another target come and go")
        recorder.sites(target, CALLED, sites)
        program.end()
        ended = time.monotonic()
        # Where the order is over by now, they were not held up for long.
        ok(wait_until(lambda: nr_sites() == 0) and
           (order.is_under_way() or not EXACT or time.monotonic() - ended < GRACE),
           "and go with their process")
        recorder.ask("forget", target)

    return meanwhile


def sites(program, family):
    """Sites to record."""
    recorder, other = Recorder(), Recorder()
    target = recorder.watch("exe", program.path)
    added = ordered("sites are added", recorder.sites, target, program.path, program.sites,
                    meanwhile=elsewhere(other, family))
    count = family.stats()["sites"]
    ok(added[1] < NR_SITES // 10 and count == NR_SITES - added[1] and
       program.changed() == NR_PROCESSES * count, f"{count} sites in {NR_PROCESSES} processes")
    ordered("sites are taken off", recorder.off, target, meanwhile=elsewhere(other, family))
    ok(family.stats()["sites"] == 0 and program.changed() == 0, "none is left")
    recorder.sites(target, program.path, program.sites)
    ordered("their target is removed", recorder.ask, "forget", target)
    ok(family.stats()["targets"] == 0 and program.changed() == 0, "it is gone")
    recorder.end()
    other.end()


def disarm():
    return collect("disarm", "--all")


def guards(program, family):
    """Guards of a profile."""
    profile = program.profile()
    orders = Family()
    result = ordered("a profile is armed", profile.arm, orders)
    first = result[1]
    ok(result[2] == NR_PROCESSES and family.stats()["sites"] == NR_SITES,
       f"with {NR_SITES} guards")
    result = ordered("another takes its place", profile.arm, orders)
    ok(result[1] == first and [one["id"] for one in armed(family)] == [result[0]] and
       family.stats()["sites"] == NR_SITES, "the one before has gone with its guards")
    result = ordered("it is disarmed", disarm)
    ok(result.returncode == 0 and not armed(family) and program.changed() == 0, "none is left")
    orders.close()


def side_by_side(program, family):
    """Two orders about one target wait for each other."""
    profile = program.profile()
    orders = [Order(profile.arm, Family()) for _ in range(2)]
    for order in orders:
        order.start()
    for order in orders:
        order.join()
    results = [order.result for order in orders]
    ok(all(isinstance(result, tuple) for result in results) and
       results[0][1] == results[1][1] and len(armed(family)) == 1 and
       family.stats()["sites"] == NR_SITES, f"two arm at once, one after the other: {results}")
    disarm()

    first, second, third = Recorder(), Recorder(), Family()
    target = first.watch("exe", program.path)
    orders = [Order(first.sites, target, program.path, program.sites),
              Order(second.sites, target, program.path, program.sites[:50]),
              Order(third.do, "TARGET_DEL", u32(NUMBER["A_TARGET_ID"], target))]
    for order in orders:
        order.start()
        time.sleep(0.1)
    for order in orders:
        order.join()
    answers = [order.result for order in orders]
    good = [answer[:2] == ["error", str(errno.ENOENT)] or isinstance(answer[0], float)
            for answer in answers[:2]]
    ok(all(good) and answers[2] == {} and family.stats()["sites"] == 0 and
       family.stats()["targets"] == 0 and program.changed() == 0,
       "sites come while their target goes: all or none, and nothing is left")
    first.end()
    second.end()


def arm_in_child(program):
    """A process that arms; its id."""
    child = os.fork()
    if not child:
        try:
            program.profile().arm(Family(), "killed")
        finally:
            os._exit(0)
    return child


def killed(program, family):
    """Who gives the order is killed in the midst of it."""
    for text, order, delay in (("adding sites", "add", 0.3), ("taking sites off", "off", 0.1),
                               ("having added", "none", 0)):
        recorder = Recorder()
        target = recorder.watch("exe", program.path)
        if order == "add":
            listed = recorder.listed(program.sites)
            recorder.send(f"sites {target} {program.path} 0 {listed}")
        else:
            recorder.sites(target, program.path, program.sites)
        if order == "off":
            recorder.send(f"off {target}")
        time.sleep(delay)
        recorder.end()
        # It finds the place free, however long that takes.
        after = Recorder()
        answer = after.ask("watch", "exe", program.path, OWNED)
        ok(answer[0] == "ok" and family.stats()["targets"] == 1 and
           family.stats()["sites"] == 0 and program.changed() == 0,
           f"killed {text}: nothing is left, and the next one watches the program: {answer}")
        after.end()
        wait_until(lambda: family.stats()["targets"] == 0)
    for delay in (0, 0.1):
        child = arm_in_child(program)
        wait_until(lambda: family.targets())
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        left = family.stats()["sites"]
        wait_until(lambda: not armed(family) or left)
        # The order may have been carried out just before.
        disarm()
        ok(left in (0, NR_SITES) and family.stats()["targets"] == 0 and
           program.changed() == 0 and not armed(family),
           f"killed arming, after {delay} s: {left} guards are on, all or none")


def main():
    with tempfile.TemporaryDirectory() as directory:
        program = Large(directory, NR_PROCESSES, NR_SITES)
        family = Family()
        note(f"{len(program.sites)} functions")
        sites(program, family)
        guards(program, family)
        side_by_side(program, family)
        killed(program, family)
        ok(all(process.poll() is None for process in program.processes),
           "the program lives through all of it")
        program.end()
    done()


main()
