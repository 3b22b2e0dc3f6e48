# SPDX-License-Identifier: GPL-2.0
"""How many units of a normal run are reported late: not more than the profile declares.

The run is of another seed than the one trained with.  UNITS in the environment is how many
units there are in each, 50000 if it is not set; with SHORT, only the rule that is judged is tried.
"""

import os
import pathlib
import time

from binomial import interval
from guarded import ENDED, Armed, Guarded, show
from perfguard import collect, done, note, ok, skip

UNITS = int(os.environ.get("UNITS", "50000"))
TRAINING = 40000
RATE = 0.001
RULES = ("rate:0.001",) if os.environ.get("SHORT") else ("rate:0.001", "sigma:4")


def expected(profile):
    """Share of false alarms that the profile itself expects, over all units timed."""
    kinds = [kind for kind in profile["types"] if kind["times"]["nr"]]
    number = sum(kind["times"]["nr"] for kind in kinds)
    return sum(kind["times"]["nr"] * (kind.get("false_alarms") or 0)
               for kind in kinds) / max(number, 1)


def waited(form, rule, ends):
    """Where the time of the late units went, of those still in the ring."""
    if not ends:
        return
    sums = [sum(one.get(name, 0) for one in ends) / len(ends) / 1000
            for name in ("elapsed_ns", "cpu_ns", "runqueue_ns", "blocked_ns")]
    note(f"  {form}, {rule}: the last {len(ends)} late units took {sums[0]:.1f} us each, "
         f"{sums[1]:.1f} on a CPU, {sums[2]:.1f} waiting for one, {sums[3]:.1f} blocked")


def alarms(path, rule, server, form):
    """Arm by this rule and run a load; (units, late)."""
    profile = show(path)
    armed = Armed(path)
    first = server.count()
    server.load(2, UNITS, form)
    # The last unit ends with the next wait, which is now.
    time.sleep(0.1)
    units = server.count() - first
    kinds = armed.types()
    late = sum(kind["late"] for kind in kinds.values())
    seen = late + sum(kind["units"] for kind in kinds.values())
    low, high = interval(late, seen)
    armed.look()
    said = expected(profile)
    known = {kind["id"]: kind for kind in profile["types"]}
    note(f"{form}, {rule}: {late} of {seen} late, {100 * late / max(seen, 1):.4f} %, "
         f"95 % interval {100 * low:.4f} to {100 * high:.4f} %, the profile expects "
         f"{100 * said:.4f} %, novel {armed.profile['novel']}")
    for number, kind in sorted(kinds.items()):
        share = known.get(number, {})
        limits = ", ".join(f"{part} {kind[f'{part}_limit_ns'] / 1000:.1f}"
                           for part in ("own", "cpu", "blocked", "block_io")
                           if kind[f"{part}_limit_ns"])
        note(f"  type {number:2}: limits {limits} us, mean of all "
             f"{kind['elapsed_ns'] / max(kind['units'], 1) / 1000:.1f}, "
             f"{kind['late']:4} of {kind['units'] + kind['late']:6} late, trained on "
             f"{share.get('times', {}).get('nr', 0)} timed units")
    waited(form, rule, [one for one in armed.alerts() if one["kind"] == ENDED])
    # The first wait after arming has no unit before it.
    ok(abs(seen - units) <= 2, f"{form}, {rule}: {seen} units counted of {units}")
    return seen, late, low, high


def form(server, name):
    path = pathlib.Path(f"/tmp/{name}.pgp")
    result = server.train(path, TRAINING, name, "--hits", "2")
    if not ok(result.returncode == 0, f"{name}: the server is trained"):
        note(result.stderr[-600:])
        return
    for rule in RULES:
        again = collect("learn", "-o", path, "--hits", "2", "--threshold", rule)
        if again.returncode:
            note(again.stderr)
        seen, late, low, _ = alarms(path, rule, server, name)
        if rule != RULES[0]:
            collect("disarm", "--all")
            continue
        ok(seen >= UNITS - 2 and low <= RATE,
           f"{name}: {late} of {seen} units are false alarms, not more than "
           f"{100 * RATE} % by the 95 % interval")
        collect("disarm", "--all")


def main():
    if not os.environ.get("EXACT"):
        skip("alarms", "only where the guest's time is its own: tests/vm/guards-6.12.t")
        done()
    server = Guarded()
    for name in ("steady", "heavy"):
        form(server, name)
    server.end()
    done()


main()
