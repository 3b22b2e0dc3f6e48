# SPDX-License-Identifier: GPL-2.0
"""Guarding keeps to its budget, whatever the guards are hit; what fits stays on."""

import json
import os
import pathlib
import random
import shutil
import subprocess
import time

from family import NUMBER, Family, Refused, u32
from perfguard import EXACT, IS_SLOW, MODULE, TOP, collect, done, note, ok, run, wait_until
from profile import Context, Profile, Type, armed, guards
from record import changed_bytes, file_offset

# In memory: what waits for the host's files while probes go on lets the others be hit unheld.
BUSY = shutil.copy(TOP / "build/tests/vm/busy", "/tmp")
MAKE_PROFILE = str(TOP / "build/tests/unit/make-profile")
WINDOW = 1500       # ms
SEED = 20161113
ENDS = 6 if IS_SLOW else 16
ACTIVE, SHED = 1, 2
OFTEN, SELDOM, RARE = range(3)
ALL_BUT_RARE = 2    # the score of a unit that met the first two; the last is in each second one
POLL = 7
RISE = 4096
LATE_NS = 100000    # a quarter of a unit
# The functions begin with a push; guards are behind it, as where training puts them.
PUSH, SLOT = 1, 8   # bytes
LEAST = 4           # alerts a second in any budget
PRICES = {"KERNEL_HIT_NS": "kernel_hit", "MODULE_HIT_NS": "module_hit",
          "STEPPED_HIT_NS": "stepped_hit", "CALL_NS": "call", "UNIT_NS": "unit"}


class Busy:
    def __init__(self, threads):
        self.process = subprocess.Popen([BUSY, str(threads)], text=True, bufsize=1,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid = self.process.pid
        words = self.answer().split()
        self.return_address, *self.functions = (int(words[i], 16) for i in (0, 3, 4, 5))
        self.distance, self.depth = int(words[1]), int(words[2])

    def answer(self):
        return self.process.stdout.readline().strip()

    def do(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.answer()

    def rate(self, ms):
        """Work a second, in thousands of instructions."""
        calls, ns = map(int, self.do(f"count {ms}").split())
        return calls * 1e9 / ns

    def own_rate(self):
        """The same with nothing armed: what the kernel does besides only takes away from it."""
        return max(self.rate(WINDOW // 10) for _ in range(3))

    def end(self):
        self.process.kill()
        self.process.wait()

    def profile(self, threshold, least):
        def offset(address):
            return file_offset(self.pid, address)[1]
        return Profile(BUSY, [(offset(self.return_address), POLL, self.distance, RISE)],
                       [(offset(one) + PUSH, SLOT) for one in self.functions],
                       [Type(threshold, 1, least_final=least)],
                       [Context(guard, self.depth, [(0, 1, 1)]) for guard in range(3)])


def measured():
    """What pg-collect finds guarding to cost here."""
    paths = ["/tmp/program", "/tmp/library"]
    for path in paths:
        # The guards of this profile are at places behind the code.
        pathlib.Path(path).write_bytes(pathlib.Path(BUSY).read_bytes().ljust(1 << 20, b"\x90"))
    run(MAKE_PROFILE, "here", "/tmp/here.pgp", *paths)
    result = collect("arm", "/tmp/here.pgp")
    note(result.stdout.replace("\n", "\n# ") + result.stderr)
    lines = [json.loads(line) for line in collect("status", "--json").stdout.splitlines()]
    printed = [line for line in lines if line["kind"] == "profile"]
    text = collect("status").stdout
    collect("disarm", "--all")
    ok(len(printed) == 1 and printed[0]["budget"] == 0.02 and "budget     2 % of" in result.stdout and
       "budget     2 % of CPU time" in text, "the usual budget is reported")
    prices = printed[0]["price_ns"]
    note(f"prices: {prices}")
    assumed = printed[0]["price_assumed"]
    ok(100 < prices["kernel_hit"] and (assumed or prices["kernel_hit"] < prices["stepped_hit"]) and
       prices["call"] > 1 and prices["unit"] > 1, "and what hits and units cost here")
    is_said = "assumed high" in result.stdout, "is assumed, not measured" in text
    ok(not (EXACT and assumed) and is_said == (bool(assumed),) * 2,
       f"what could not be measured is printed: {assumed}")
    ok(collect("arm", "--budget", "none", "/tmp/here.pgp").returncode == 0 and
       "of CPU time" not in collect("status").stdout, "there may be none")
    collect("disarm", "--all")
    return {name: prices[key] for name, key in PRICES.items()}


def arm(family, busy, budget, prices, threshold=0, least=0):
    """The profile's id, its target's."""
    profile = busy.profile(threshold, least).load(family, "busy")
    attributes = [u32(NUMBER["A_PROFILE_ID"], profile)]
    if budget:
        attributes.append(u32(NUMBER["A_PROFILE_BUDGET_PPM"], int(budget * 10000)))
    attributes += [u32(NUMBER["A_PROFILE_" + name], value) for name, value in prices.items()]
    answer = family.do("PROFILE_ARM", *attributes)
    return profile, int.from_bytes(answer[NUMBER["A_PROFILE_TARGET_ID"]], "little")


def forget(family, target):
    family.do("TARGET_DEL", u32(NUMBER["A_TARGET_ID"], target))


def refusals(family, prices):
    busy = Busy(1)
    text = "no budget without prices"
    for budget, some, words in ((2, {}, "needs the costs"),
                                (2, {"KERNEL_HIT_NS": 1, "MODULE_HIT_NS": 1}, "needs the costs"),
                                (2, {**prices, "UNIT_NS": 0}, "needs the costs"),
                                (2, {**prices, "KERNEL_HIT_NS": 1}, "measure the costs again"),
                                (100.1, prices, "range"),
                                (2, {**prices, "UNIT_NS": 1000001}, "range")):
        try:
            arm(family, busy, budget, some)
            ok(False, text)
        except Refused as error:
            ok(words in error.strerror, f"{text}: {error.strerror}")
        text = "no price or budget out of range"
    busy.end()


def states(family, profile):
    return [one["state"] for one in guards(family, profile)]


def are_in_place(family, profile, busy):
    """Breakpoints are where guards are on.  For a moment one may go or come."""
    return wait_until(lambda: changed_bytes(busy.pid, BUSY) ==
                      states(family, profile).count(ACTIVE))


def row_of(family, profile):
    return next(one for one in armed(family) if one["id"] == profile)


def share(row):
    return (row["guards_ns"] + row["boundaries_ns"] + row["report_ns"]) / row["cpu_ns"]


def since(before, after):
    return {key: after[key] - before[key] for key in after if key.endswith("_ns")}


def held(family, prices, threads, budget, fits, windows=2):
    """Beside a busy function, what fits stays; and all together takes no more."""
    text = f"{threads} thread{'s' * (threads > 1)}, {budget} %"
    busy = Busy(threads)
    busy.do("hot")
    time.sleep(1)
    before = busy.own_rate()
    start = time.monotonic()
    profile, target = arm(family, busy, budget, prices, least=ALL_BUT_RARE)
    is_shed = wait_until(lambda: states(family, profile)[OFTEN] == SHED)
    row = row_of(family, profile)
    note(f"{text}: shed {time.monotonic() - start:.3f} s after arming began, when guards had "
         f"taken {row['guards_ns'] / 1e6:.2f} ms of {row['cpu_ns'] / 1e6:.2f}")
    time.sleep(3)
    first = guards(family, profile), row_of(family, profile)
    rate = busy.rate(windows * WINDOW)
    last = guards(family, profile), row_of(family, profile)
    note(f"{text}: took {share(last[1]):.4%} since armed by its own account, meanwhile "
         f"{share(since(first[1], last[1])):.4%}; "
         f"shares {[one['share_ppm'] for one in last[0]]}, sheds {[one['sheds'] for one in last[0]]}, "
         f"states {[one['state'] for one in last[0]]}")
    ok(is_shed and (last[0][OFTEN]["state"] == SHED or not EXACT) and
       last[0][OFTEN]["sheds"] >= (2 if windows > 2 else 1),
       f"{text}: a guard that is hit a million times a second is shed"
       f"{', and tried again' * (windows > 2)}")
    # By the clock of a busy host a hit may take much longer than when it was tried out.
    # In a long time what does not fit may just be tried again.
    ok(not EXACT or all((one["sheds"] == 0) == fit and
                        ((one["state"] == ACTIVE) == fit or windows > 2)
                        for one, fit in zip(last[0][SELDOM:], fits)),
       f"{text}: of the others what does not fit: {[one['sheds'] for one in last[0][SELDOM:]]}")
    ok(wait_until(lambda: all(after["state"] == SHED or after["hits"] > before["hits"]
                              for before, after in zip(first[0], guards(family, profile)))),
       f"{text}: what is on counts")
    units, novel = (last[1][key] - first[1][key] for key in ("units", "novel"))
    # Without that, half of them and more would be.
    ok(novel * 100 <= units > 100,
       f"{text}: that units lack hits of what is shed is no news: {novel} of {units} are novel")
    return busy, profile, target, (text, budget, before, rate)


def exactly(family, busy, target, figures):
    """By the work that is done, with nothing armed before and after.  Returns what guarding took."""
    text, budget, before, rate = figures
    forget(family, target)
    ok(changed_bytes(busy.pid, BUSY) == 0, f"{text}: all go with the target")
    after = busy.own_rate()
    overhead = 100 * ((before + after) / 2 / rate - 1)
    note(f"{text}: {before:.0f} calls a second before, {rate:.0f} guarded, {after:.0f} after")
    if EXACT:
        ok(abs(before / after - 1) < 0.001, f"{text}: it does as much work before and after")
        ok(overhead <= budget + 0.2, f"{text}: guarding takes {overhead:.3f} % of its work")
        ok(overhead > 0.1, f"{text}: and it takes something")
    return overhead


def comes_back(family, busy, profile, target, figures):
    busy.do("cool")
    ok(wait_until(lambda: states(family, profile)[OFTEN] == ACTIVE),
       "when the load falls, the guard comes back")
    ok(are_in_place(family, profile, busy), "its breakpoint, too")
    hits = guards(family, profile)[OFTEN]["hits"]
    busy.do("hot")
    ok(wait_until(lambda: states(family, profile)[OFTEN] == SHED) and
       guards(family, profile)[OFTEN]["hits"] > hits and are_in_place(family, profile, busy),
       "and goes when it rises")
    goes(family, busy, target, figures)


def goes(family, busy, target, figures):
    exactly(family, busy, target, figures)
    busy.end()


def report_late(family, prices, budget):
    """Each unit is late: what fits in the budget is reported, and a few in any case."""
    text = f"all units late, {budget} %"
    busy = Busy(1)
    time.sleep(1)
    before = busy.own_rate()
    profile, target = arm(family, busy, budget, prices, LATE_NS)
    time.sleep(3)
    first = row_of(family, profile), family.targets()[0], time.monotonic()
    rate = busy.rate(4 * WINDOW)
    last = row_of(family, profile), family.targets()[0], time.monotonic()
    took = since(first[0], last[0])
    seconds = last[2] - first[2]
    late, held_back = (last[1][key] - first[1][key] for key in ("late", "suppressed"))
    share_reported = 100 * took["report_ns"] / took["cpu_ns"]
    note(f"{text}: {late} late, {held_back} held back, in {seconds:.1f} s; by its own account it "
         f"took {share(took):.4%}, reporting {share_reported:.3f} %")
    ok(late > 1000 and LEAST * (seconds - 4) <= late - held_back <= 64 * (seconds + 1),
       f"{text}: four a second are reported in any case: {late - held_back}")
    # What four a second take may be more than the quarter.
    others = late - held_back - LEAST * (seconds + 4)
    ok(held_back and 0 < share_reported < budget / 4 + 0.05 and (others > 100) == (budget > 1),
       f"{text}: and others as the budget has room")
    overhead = exactly(family, busy, target, (text, budget, before, rate))
    # Workers that free what was reported are not in it, some 20,000 instructions each time.  What is
    # missing besides was 0.042 to 0.056 in runs of the same code.
    known = 100 * share(took) + 0.065 + 0.003 * (late - held_back) / seconds
    ok(100 * share(took) < overhead + 0.05 and overhead < known, f"{text}: it knows what it takes")
    busy.end()


def stay_on(family, prices):
    """A target that is nearly idle does not earn what it takes to report its late units."""
    busy = Busy(1)
    busy.do("rest 200000")
    profile, target = arm(family, busy, 3, prices, LATE_NS)
    time.sleep(20)
    row, state = row_of(family, profile), family.targets()[0]
    note(f"nearly idle: {row['cpu_ns'] / 1e6:.2f} ms of CPU time, reporting {state['late']} late units "
         f"took {row['report_ns'] / 1e6:.2f}, {state['suppressed']} held back")
    ok(row["report_ns"] > 0.03 * row["cpu_ns"] / 4 and state["late"] - state["suppressed"] > 50,
       "nearly idle: late units are reported, beyond what they may take")
    ok(states(family, profile) == [ACTIVE] * 3, "nearly idle: and no guard goes for it")
    forget(family, target)
    busy.end()


def ends(prices):
    """However it ends, and whenever, nothing is left."""
    source = random.Random(SEED)
    left = 0
    for _ in range(ENDS):
        family, busy = Family(), Busy(8)
        busy.do("hot")
        _, target = arm(family, busy, source.choice((0.5, 2, 100)), prices)
        time.sleep(source.choice((0, 0.05, 0.2, 1.2)))
        way = source.randrange(4)
        if way == 0:
            busy.end()
        elif way == 1:
            arm(family, busy, 1, prices)
        if way == 2:
            collect("disarm", "--all")
        else:
            forget(family, target)
        if way:
            left += changed_bytes(busy.pid, BUSY)
            busy.end()
        family.close()
        if way == 3:
            left += run("rmmod", "perfguard").returncode
            left += run("insmod", MODULE).returncode
    ok(not left, f"{ENDS} times armed and ended while guards come and go: nothing is left")


def main():
    family = Family()
    prices = measured()
    refusals(family, prices)
    cases = [(64, 2, (True, True))]
    if EXACT:
        comes_back(family, *held(family, prices, 1, 2, (True, True)))
        cases += [(64, 0.5, (False, True))]
        # Long enough for what is costly to be tried again.
        cases += [] if "SHORT" in os.environ else [(1, 0.5, (False, True), 9)]
        for budget in (0.4, 2):
            report_late(family, prices, budget)
        stay_on(family, prices)
    else:
        # A busy host lets much be overspent, and it takes long to earn that again.
        cases += [(1, 2, (True, True))]
    for case in cases:
        busy, _, target, figures = held(family, prices, *case)
        goes(family, busy, target, figures)
    family.close()
    if not EXACT:
        ends(prices)
    ok("Nothing is watched" in collect("status").stdout, "nothing is left")
    done()


main()
