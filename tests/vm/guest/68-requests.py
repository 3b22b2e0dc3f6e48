# SPDX-License-Identifier: GPL-2.0
"""A request that takes long holds up no other user of generic netlink, nor who sent it."""

import errno
import os
import signal
import subprocess
import tempfile
import time

from family import NUMBER, Family, Refused, number, u32, u64
from large import Large, Order
from perfguard import IS_SLOW, MODULE, TOP, done, note, ok, run, wait_until
from profile import armed
from record import OWNED

REGISTRAR = TOP / "build" / os.environ["PERFGUARD_KERNEL"] / "taker/registrar.ko"
NR_GUARDS = 1000 if IS_SLOW else 4000
NR_PROCESSES = 4 if IS_SLOW else 40
MAX_WAITING = 16            # requests of one socket, besides the one that is carried out
SHARE = 0.5                 # of the slow request's time, all others together


class Arming(Order):
    """The program is armed by a socket of its own."""

    def __init__(self, program):
        self.family = Family()
        self.loaded = program.profile().load(self.family)
        super().__init__(self.family.do, "PROFILE_ARM", u32(NUMBER["A_PROFILE_ID"], self.loaded))


def is_clean(program, family):
    """No target, no profile, no breakpoint: a closed socket's are taken off by a worker."""
    return (not family.targets() and not family.table("PROFILE_GET", "PROFILE") and
            program.changed() == 0)


def started(program, family):
    """An arming that has begun to put probes on."""
    arming = Arming(program)
    arming.start()
    wait_until(family.targets)
    return arming


def disarm(family):
    try:
        family.do("TARGET_DEL")
    except Refused as error:
        if error.errno != errno.ENOENT:
            raise
    return not family.targets()


def registered(arming):
    """Another family comes, and somebody asks for it, while a profile is armed."""
    began = time.monotonic()
    insmod = subprocess.Popen(["/sbin/insmod", REGISTRAR], stderr=subprocess.DEVNULL)
    time.sleep(0.1)         # it waits by now, if it has to
    Family().close()        # which asks generic netlink for a family
    asked = time.monotonic()
    loaded = insmod.wait()
    took = time.monotonic() - began
    inside = arming.is_under_way()
    arming.join()
    whole = arming.ended - arming.began
    note(f"armed in {whole:.2f} s; meanwhile asked in {asked - began:.2f} s, "
         f"registered in {took:.2f} s")
    ok(loaded == 0 and inside and took < SHARE * whole,
       "meanwhile a family is registered, and generic netlink answers")
    run("/sbin/rmmod", "registrar")
    return whole


def refused_unload(program, family):
    arming = started(program, family)
    result = run("/sbin/rmmod", "perfguard")
    ok(result.returncode != 0 and "in use" in result.stderr and arming.is_under_way(),
       f"meanwhile the module cannot be removed: {result.stderr.strip()}")
    arming.join()
    arming.family.close()
    ok(disarm(family) and program.changed() == 0, "disarmed")


def killed(program, family, whole):
    """Who arms, which takes so long, is killed, and ends at once."""
    child = os.fork()
    if not child:
        try:
            program.profile().arm(Family(), "killed")
        finally:
            os._exit(0)
    wait_until(family.targets)
    began = time.monotonic()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    took = time.monotonic() - began
    ok(took < SHARE * whole, f"who arms is killed, and ends: {took:.2f} s")
    ok(wait_until(lambda: is_clean(program, family)) and not armed(family),
       "what it began is undone")


def answers(family, numbers):
    """0 or the errno of each request of a socket, in the order in which they were sent."""
    found = []
    for one in numbers:
        try:
            family.receive(one)
            found.append(0)
        except Refused as error:
            found.append(error.errno)
    return found


def in_order(program):
    """One socket does not wait for its answers."""
    family = Family()
    answer = family.do("TARGET_NEW", u32(NUMBER["A_TARGET_PID"], program.processes[0].pid))
    target = u32(NUMBER["A_TARGET_ID"], number(answer[NUMBER["A_TARGET_ID"]]))
    numbers = [family.begin("TARGET_SET", target, u64(NUMBER["A_TARGET_THRESHOLD_NS"], 1 << 30)),
               family.begin("STATS_GET"),
               family.begin("TARGET_DEL", target),
               family.begin("TARGET_SET", target),
               family.begin("STATS_GET")]
    found = answers(family, numbers)
    ok(found == [0, 0, 0, errno.ENOENT, 0], f"requests of a socket are carried out in order: {found}")
    family.close()


def too_many(program, family):
    """One socket sends more than the module takes."""
    arming = Arming(program)
    sender = arming.family
    numbers = [sender.begin("PROFILE_ARM", u32(NUMBER["A_PROFILE_ID"], arming.loaded))]
    wait_until(family.targets)
    numbers += [sender.begin("STATS_GET") for _ in range(MAX_WAITING + 4)]
    # The refusals come first: the others wait.
    refused = answers(sender, numbers[-4:])
    ok(refused == [errno.EBUSY] * 4, f"too many requests of one socket are refused: {refused}")
    ok(family.stats()["targets"] == 1, "others are answered")
    found = answers(sender, numbers[:-4])
    ok(found == [0] * (MAX_WAITING + 1), "and the rest when their turn comes")
    sender.close()
    disarm(family)


def dropped(program, family):
    """A socket is closed before its requests are carried out."""
    arming = Arming(program)
    sender = arming.family
    sender.begin("PROFILE_ARM", u32(NUMBER["A_PROFILE_ID"], arming.loaded))
    wait_until(family.targets)
    sender.begin("TARGET_NEW", u32(NUMBER["A_TARGET_PID"], os.getpid()),
                 u32(NUMBER["A_TARGET_FLAGS"], OWNED))
    sender.begin("PROFILE_NEW", b"")
    sender.close()
    ok(wait_until(lambda: is_clean(program, family)), "requests of a closed socket leave nothing")


def main():
    with tempfile.TemporaryDirectory() as directory:
        program = Large(directory, NR_PROCESSES, NR_GUARDS)
        family = Family()
        arming = started(program, family)
        whole = registered(arming)
        ok(isinstance(arming.result, dict) and len(armed(family)) == 1, "the profile is armed")
        arming.family.close()
        ok(disarm(family) and program.changed() == 0, "and disarmed")
        refused_unload(program, family)
        killed(program, family, whole)
        in_order(program)
        too_many(program, family)
        dropped(program, family)
        ok(all(process.poll() is None for process in program.processes),
           "the program lives through all of it")
        program.end()
        family.close()
    ok(run("/sbin/rmmod", "perfguard").returncode == 0, "the module can be removed")
    run("/sbin/insmod", MODULE)
    done()


main()
