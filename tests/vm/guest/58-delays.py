# SPDX-License-Identifier: GPL-2.0
"""Injected delays of twice a type's threshold are all reported, of half of it never.

A server is trained under a load whose times vary (Pareto), and armed.  DELAYS in the
environment is how many delays there are, 1000 if it is not set; a quarter of each kind.
"""

import os
import pathlib
import random

import guarded
from guarded import (BEFORE, ENDED, KINDS, LATE, LEAST, LOST, MIDDLE, NR_TYPES,
                     PLACES, SLEEP, SPIN, Armed, Guarded, Request, match, unit_of,
                     units_of)
from perfguard import MS, collect, done, note, ok, skip

NR_KINDS = 4
DELAYS = int(os.environ.get("DELAYS", "1000"))
SLACK = 20 * MS
SCALE = 10
TRAINING = 6000
NORMAL = 40             # of each type, to see what it is taken for
LONG = 20 * MS + SLACK  # beyond the threshold: time enough to be found while it lasts
STUCK = 60_000 * MS
BATCH = 100
# Not more alerts than the module makes in a second.
GAP = 60 * MS
SEED = 20161113


def normal(kind):
    """The shortest request of a type, without a delay."""
    return Request(kind, work=LEAST[kind] * SCALE, gap_ns=2 * MS)


def learn_ids(server, armed, recorder):
    """{true type: id that the module infers of it}, and the first unit after it."""
    first = server.count()
    server.play([normal(kind) for _ in range(NORMAL) for kind in range(NR_TYPES)])
    units = server.units(first)
    pairs = units_of([event for event in recorder.read(300) if event.tid == units[0].tid])
    matched = match(units, pairs)
    votes = {kind: {} for kind in range(NR_TYPES)}
    for i, (event, _) in matched.items():
        votes[units[i].type][event.number] = votes[units[i].type].get(event.number, 0) + 1
    ids = {kind: max(count, key=count.get) for kind, count in votes.items() if count}
    right = sum(votes[kind][ids[kind]] for kind in ids)
    note(f"types: {ids}; {right} of {len(units)} normal units are recognised")
    ok(len(ids) == NR_TYPES and len(set(ids.values())) == NR_TYPES and
       right >= 0.99 * len(units), "each kind of request is a type of its own, and recognised")
    ok(not [one for one in armed.alerts() if one["kind"] in (LATE, ENDED)],
       "none of them is late")
    return ids


def plan(thresholds):
    """[(request, what it is to show)]: delays of all kinds, types and places, and between them."""
    listed = []
    for i in range(DELAYS):
        kind = SLEEP + i % NR_KINDS
        type_ = i // NR_KINDS % NR_TYPES
        place = i // NR_KINDS // NR_TYPES % 3
        for factor in (2, 0.5):
            listed.append((Request(type_, kind, place, factor * thresholds[type_],
                                   LEAST[type_] * SCALE, GAP), factor))
    for i in range(max(NR_TYPES, DELAYS // 10)):
        type_ = i % NR_TYPES
        listed.append((Request(type_, SLEEP + i // NR_TYPES % NR_KINDS, i % 3,
                               thresholds[type_] + LONG, LEAST[type_] * SCALE, GAP), "long"))
    random.Random(SEED).shuffle(listed)
    return listed


class Result:
    """A delayed unit, and what was reported of it."""

    def __init__(self, request, factor, unit, threshold, largest, pair):
        self.request, self.factor, self.unit, self.pair = request, factor, unit, pair
        self.records = []
        self.threshold = threshold
        hits = pair[1] if pair else []
        self.had_hit = any(hit.time <= unit.delay_ns for hit in hits)
        # Before the first guard nothing is known of the type.
        self.applies = threshold if self.had_hit else largest

    @property
    def elapsed(self):
        return self.unit.end_ns - self.unit.start_ns

    def found(self):
        """From its true start to its first record, ns."""
        return min(one["mono_ns"] for one in self.records) - self.unit.start_ns

    def __str__(self):
        return (f"type {self.unit.type}, {KINDS[self.request.kind]} "
                f"{PLACES[self.request.place]}, {self.request.delay_ns / MS:.1f} ms, "
                f"took {self.elapsed / MS:.1f}, threshold {self.threshold / MS:.1f}, "
                f"hit before {self.had_hit}, reported "
                f"{[(one['kind'], one['found_by'], round(one['elapsed_ns'] / MS, 1)) for one in self.records]}")


def run(server, armed, recorder, listed, thresholds):
    """([Result], [records about no unit of it])"""
    results, strange = [], []
    largest = max(thresholds.values())
    for at in range(0, len(listed), BATCH):
        part = listed[at:at + BATCH]
        first = server.count()
        server.play([request for request, _ in part])
        units = server.units(first)
        matched = match(units, units_of([event for event in recorder.read(300)
                                      if event.tid == units[0].tid]))
        batch = [Result(request, factor, unit, thresholds[unit.type], largest, matched.get(i))
                 for i, ((request, factor), unit) in enumerate(zip(part, units))]
        starts = [unit.start_ns for unit in units]
        for record in armed.alerts():
            i = None if record["kind"] == LOST else unit_of(units, starts, record)
            if record["kind"] not in (LATE, ENDED, LOST):
                continue
            if i is None:
                strange.append(record)
            else:
                batch[i].records.append(record)
        results += batch
    return results, strange


def table(title, results):
    note(title)
    for kind in range(SLEEP, SLEEP + NR_KINDS):
        for place in range(3):
            some = [one for one in results
                    if (one.request.kind, one.request.place) == (kind, place)]
            if not some:
                continue
            late = [one for one in some if one.records]
            beyond = sorted(one.found() - one.threshold for one in late)
            first = [one.records[0] for one in late]
            by = [sum(one["found_by"] == how for one in first) for how in (1, 2, 3)]
            note(f"  {KINDS[kind]:5} {PLACES[place]:6} {len(some):4} delays {len(late):4} reported, "
                 f"by guard {by[0]:3} watch {by[1]:3} end {by[2]:3}; beyond the type's "
                 f"threshold: median {beyond[len(beyond) // 2] / MS if beyond else 0:6.2f} ms, "
                 f"worst {beyond[-1] / MS if beyond else 0:6.2f}")


def complain(results, why):
    for one in results[:5]:
        note(f"{why}: {one}")


def judge(results, strange, ids):
    twice = [one for one in results if one.factor == 2]
    half = [one for one in results if one.factor == 0.5]
    long = [one for one in results if one.factor == "long"]
    table("delays of twice the threshold", twice)
    table("delays of 40 ms more than the threshold", long)
    for text, some in (("of twice the threshold", twice), ("of 40 ms more", long)):
        silent = [one for one in some if not one.records]
        complain(silent, "not reported")
        ok(not silent, f"{len(some) - len(silent)} of {len(some)} delays {text} are reported")
        late = [one for one in some if one.records and
                one.found() > one.applies + SLACK]
        complain(late, "too late")
        unknown = sum(not one.had_hit for one in some)
        ok(not late, f"{len(some) - len(silent) - len(late)} of them within threshold + 20 ms; "
           f"the loop's largest threshold for {unknown} that had met no guard")
    alive = [one for one in long if any(record["kind"] == LATE for record in one.records)]
    complain([one for one in long if one not in alive], "not while it lasted")
    ok(len(alive) == len(long), f"{len(alive)} of {len(long)} of the long ones while they lasted")
    complain([one for one in half if one.records], "a false alarm")
    within = [one for one in half if one.elapsed < one.threshold]
    ok(len(within) == len(half) and not any(one.records for one in half),
       f"{sum(bool(one.records) for one in half)} of {len(half)} delays of half of it are reported")
    ok(not strange, f"{len(strange)} records are about anything else")
    for record in strange[:5]:
        note(f"strange: {record['kind']} {record.get('elapsed_ns')} {record.get('lost')}")
    ends = [(one, [record for record in one.records if record["kind"] == ENDED])
            for one in twice + long]
    ok(all(len(end) == 1 for _, end in ends), "each has one end")
    right = sum(end[-1].get("type_id") == ids[one.unit.type] for one, end in ends if end)
    ok(right >= 0.99 * len(ends), f"the end of {right} of {len(ends)} has the true type")
    close = sum(abs(end[-1]["elapsed_ns"] + end[-1].get("check_ns", 0) - one.elapsed) < MS
                for one, end in ends if end)
    ok(close >= 0.99 * len(ends), f"and of {close} the true time, within 1 ms")


def stuck(server, armed, thresholds):
    """A unit that does not come back is reported at growing intervals."""
    armed.alerts()
    for kind, place in ((SLEEP, BEFORE), (SPIN, MIDDLE)):
        time = STUCK if kind == SLEEP else STUCK // 20
        server.play([Request(0, kind, place, time, 1000)])
        matched = [one for one in armed.alerts() if one["kind"] == LATE]
        times = [one["elapsed_ns"] for one in matched]
        doublings = (time // min(thresholds.values())).bit_length()
        note(f"{KINDS[kind]} of {time // MS} ms: reported after "
             f"{', '.join(f'{one / MS:.0f}' for one in times)} ms")
        ok(3 <= len(matched) <= doublings + 2,
           f"{len(matched)} reports in {time // (1000 * MS)} s, not more than {doublings} doublings")
        ok(all(b >= 2 * a for a, b in zip(times, times[1:])),
           "at growing intervals: never before its time has doubled")


def main():
    if not os.environ.get("EXACT"):
        skip("delays", "only where the guest's time is its own: tests/vm/guards-6.12.t")
        done()
    guarded.reload(65536)
    server = Guarded()
    path = pathlib.Path("/tmp/delays.pgp")
    result = server.train(path, TRAINING, "heavy", "--hits", "2", scale=SCALE)
    if not ok(result.returncode == 0, "the server is trained"):
        note(result.stderr[-600:])
        done()
    armed = Armed(path, *os.environ.get("ARM", "").split())
    recorder = armed.stream()
    server.play([normal(0)] * 3)        # from here on the thread is seen
    recorder.read(300)
    ids = learn_ids(server, armed, recorder)
    known = armed.types()
    thresholds = {kind: known[ids[kind]]["own_limit_ns"] for kind in ids}
    note(f"thresholds: {[round(ns / MS, 2) for ns in thresholds.values()]} ms")
    results, strange = run(server, armed, recorder, plan(thresholds), thresholds)
    ok(int(recorder.ask("status")[2]) == 0, "no event was lost")
    ok(all(one.pair for one in results), "each unit has its event")
    judge(results, strange, ids)
    recorder.ask("close")
    stuck(server, armed, thresholds)
    collect("disarm", "--all")
    recorder.end()
    server.end()
    done()


main()
