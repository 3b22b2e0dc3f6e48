# SPDX-License-Identifier: GPL-2.0
"""What a run of the guest's part says of the product."""

import datetime
import json
import math
import pathlib
import re
import subprocess
import time

import asked
import loops
import match
from rand_index import adjusted_rand_index, confusions
from report import failed, item, percent

TOP = pathlib.Path(__file__).resolve().parents[2]
COLLECT = str(TOP / "pg-collect")
LEARN_SECONDS = 120
CLIENTS = {"one": "1 client", "four": "4 clients"}
VERSIONS = {
    "redis": ["redis-server", "--version"], "nginx": ["nginx", "-v"],
    "memcached": ["memcached", "--version"], "apache": ["apache2", "-v"],
    "mariadb": ["mariadbd", "--version"],
}
HOW = """Each program is Debian's own, with a small configuration, in the VM. Clients send a
seeded mix by Zipf's law, each waiting for its answer before it asks again, and log label, time
and connection of each request. A label names the work that a request needs; it was chosen before
any result was seen. A unit belongs to the request that it overlaps most: of its thread, where the
server's log names the thread; of its connection, where its boundary is a call on one; of all, with
one client. Each request has one unit at most. Units of connections that come or go and of timers
belong to no request and are left out of the Rand index; the lines of units count them.
Accuracies are what the trainer predicts for units that it had held back. Lines without anything
asked are for information."""


class NoResult(Exception):
    """The product did not give what is to be judged; the text says why."""


def version_of(program):
    done = subprocess.run(VERSIONS[program], capture_output=True, text=True, check=False)
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[0] if lines else program


def collect(*words, seconds=LEARN_SECONDS):
    """pg-collect to its end: (standard output, seconds)."""
    started = time.monotonic()
    try:
        done = subprocess.run([COLLECT, *map(str, words)], capture_output=True, text=True,
                              timeout=seconds, stdin=subprocess.DEVNULL, check=False)
    except subprocess.TimeoutExpired as error:
        raise NoResult(f"{words[0]} took more than {seconds} s") from error
    if done.returncode:
        tail = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise NoResult(f"{words[0]}: exit {done.returncode}: {' '.join(tail)[:300]}")
    return done.stdout, time.monotonic() - started


class Learnt:
    """A profile learnt from a phase's trace, the units it is made of, and what it took."""

    def __init__(self, directory, hits=None):
        profile = directory / (f"profile-{hits}.pgp" if hits else "profile.pgp")
        profile.unlink(missing_ok=True)
        units = directory / "units.tsv"
        budget = ["--hits", str(hits)] if hits else []
        text, self.seconds = collect("learn", directory / "trace.pgt", "-o", profile,
                                     "--units", units, *budget)
        (directory / "learn.log").write_text(text)
        self.said = text
        self.units = match.read_units(units)
        self.profile = loops.Profile(collect("show", profile, "--json")[0])


def sockets_of(directory):
    return {(int(row["pid"]), int(row["fd"])): int(row["port"])
            for row in match.read_table(directory / "sockets.tsv")}


class Mix:
    """The matched units of a labelled run."""

    def __init__(self, directory, phase):
        self.learnt = Learnt(directory)
        requests = match.read_requests(directory / "requests.tsv")
        log = directory / "access.log"
        log = match.read_log(log, requests, phase["realtime_ns"]) if log.exists() else None
        sockets = sockets_of(directory)
        found = []
        for loop in sorted({unit.loop for unit in self.learnt.units}):
            units = [unit for unit in self.learnt.units if unit.loop == loop]
            within = match.window(units, requests)
            found.append((match.match(units, within, sockets, log), loop, units, within))
        if not found:
            raise NoResult("there are no units")
        # The loop that serves is the one whose units are requests.
        self.matching, self.loop, self.units, self.requests = max(
            found, key=lambda one: len(one[0].pairs))

    def labelled(self, half=None):
        return [(request.label, unit.type) for unit, request in self.matching.pairs
                if half is None or unit.half == half]


def near(got, wanted, share):
    return abs(got - wanted) <= share * wanted


def judge_load(out, name, phase, serving):
    """Units of a plain load against the requests that were sent."""
    what, wanted = phase["title"], phase["requests"]
    learnt = Learnt(out / name)
    loop = learnt.profile.same_loop(serving)
    units = [unit for unit in learnt.units if unit.loop == loop]
    others = len(learnt.units) - len(units)
    return item("units", f"{what}: requests, units", str(wanted), str(len(units)),
                near(len(units), wanted, asked.UNITS),
                why=f"of the loop that serves; {others} units of other loops")


def judge_units(mix, clients):
    wanted, got = len(mix.requests), len(mix.units)
    matching = mix.matching
    yield item("units", f"mix, {clients}: requests, units", str(wanted), str(got),
               near(got, wanted, asked.UNITS),
               why=f"{matching.units_left} units of no request, {matching.requests_left} requests"
                   f" without a unit; matched by {matching.rule}")
    share = len(matching.pairs) / wanted if wanted else 0
    yield item("units", f"mix, {clients}: requests with a unit", "99 %", percent(share),
               share >= 0.99, why=f"matched by {matching.rule}")


def judge_types(program, mix, clients):
    wanted = asked.RAND_INDEX[program]
    held = mix.labelled(half=1)
    for what, labelled in ((clients, mix.labelled()), (f"{clients}, held-back half", held)):
        index = adjusted_rand_index(labelled)
        worst = "; ".join(text for _, text in confusions(labelled, 4))
        yield item("types", f"Rand index, {what}", f"{wanted}" if wanted else "",
                   f"{index:.3f}", None if wanted is None else index >= wanted, why=worst)
    labels = {label for label, _ in mix.labelled()}
    kinds = {kind for _, kind in mix.labelled()}
    trees = {unit.tree for unit in mix.units}
    yield item("types", f"labels / types / call trees, {clients}", "",
               f"{len(labels)} / {len(kinds)} / {len(trees)}")


def judge_unseen(program, mix, clients):
    held = [unit for unit in mix.units if unit.half == 1]
    share = sum(not unit.seen for unit in held) / len(held) if held else math.nan
    limit = asked.UNSEEN.get(program) if clients == CLIENTS["four"] else None
    return item("types", f"unseen call trees, {clients}", f"<= {percent(limit, 0)}" if limit else "",
                percent(share), None if limit is None else share <= limit,
                why=f"of {len(held)} held-back units")


def judge_guards(program, directory, mix, clients):
    """What the guards of each budget are predicted to do."""
    wanted = asked.ACCURACY[program]
    if clients == CLIENTS["four"]:
        wanted = asked.ACCURACY_OF_FOUR.get(program, wanted)
    for hits, least in zip(asked.BUDGETS, wanted):
        what = f"{clients}, {hits} hit{'s' * (hits > 1)}"
        try:
            learnt = Learnt(directory, hits)
            guards = learnt.profile.prediction(learnt.profile.same_loop(
                mix.learnt.profile.identity(mix.loop)))
        except NoResult as error:
            yield failed("guards", f"accuracy, {what}", f">= {percent(least, 0)}", str(error))
            continue
        yield item("guards", f"accuracy, {what}", f">= {percent(least, 0)}",
                   percent(guards["accuracy"]), guards["accuracy"] >= least,
                   why=f"{guards['guards']} guards, {guards['units']} held-back units,"
                       f" {percent(guards['unseen'])} of unseen call trees")
        yield item("guards", f"mean hits, {what}", f"<= {hits * asked.HITS_OF_PLAN:.1f}",
                   f"{guards['hits']:.2f}", guards["hits"] <= hits * asked.HITS_OF_PLAN)
        yield item("guards", f"worst unit, {what}", f"<= {asked.WORST_HITS}",
                   str(guards["worst"]), guards["worst"] <= asked.WORST_HITS)
    number = len(mix.learnt.units)
    limit = asked.SELECTION_SECONDS * max(1, number / asked.SELECTION_UNITS)
    yield item("time", f"learn, {clients}, {number} units", f"<= {limit:.0f} s",
               f"{mix.learnt.seconds:.1f} s", mix.learnt.seconds <= limit)


def judge_mix(program, out, name, phase):
    clients = CLIENTS[name]
    mix = Mix(out / name, phase)
    items = [*judge_units(mix, clients), *judge_types(program, mix, clients),
             judge_unseen(program, mix, clients)]
    items += judge_guards(program, out / name, mix, clients)
    return items, mix


def judge_loops(program, mix):
    """The loop that serves is the right one; what the other loops are."""
    identity = mix.learnt.profile.identity(mix.loop)
    good, seen = loops.is_right(identity, asked.LOOPS[program])
    return item("loop", "the loop that serves", loops.wanted(asked.LOOPS[program]),
                "right" if good else "wrong", good, why=seen)


def judge_paper(program, profile, said):
    ten = profile.costliest(10)
    if ten:
        mean = sum(kind["deviation"] for kind in ten) / len(ten)
        yield item("paper", "relative deviation, 10 costliest types", "", percent(mean),
                   paper=percent(asked.PAPER_DEVIATION),
                   why="; ".join(f"type {kind['id']}: {kind['mean_ns'] / 1e3:.0f} us, "
                                 f"{percent(kind['deviation'])}" for kind in ten))
    share = re.search(r"contexts identified:? *([0-9.]+) *%", said)
    paper = asked.PAPER_CONTEXTS.get(program)
    yield item("paper", "contexts identified", "", f"{share[1]} %" if share else "not told",
               paper=percent(paper) if paper else "")


def judge_train(program, out, phase):
    seconds = phase["seconds"]
    limit = asked.TRAINING.get(program)
    yield item("time", "whole training in the VM", f"< {limit} s" if limit else "",
               f"{seconds:.0f} s", None if limit is None else seconds < limit)
    said = (out / "train/train.log").read_text(errors="replace")
    profile = loops.Profile(collect("show", out / "train/profile.pgp", "--json")[0])
    yield from judge_paper(program, profile, said)


def judge_phases(program, out, phases):
    """All items, and what was expected but could not be had."""
    items = []
    serving = None
    for name in [*CLIENTS, *sorted(phases)]:
        phase = phases.get(name, {"error": "it was not run"})
        if name in CLIENTS and any(name == done["phase"] for done in items):
            continue
        group = {"train": "time"}.get(name, "units" if name.startswith("load") else "types")
        what = phase.get("title") or CLIENTS.get(name, name)
        try:
            if "error" in phase:
                raise NoResult(phase["error"])
            if name in CLIENTS:
                new, mix = judge_mix(program, out, name, phase)
                if serving is None:
                    serving = mix.learnt.profile.identity(mix.loop)
                    new.insert(0, judge_loops(program, mix))
            elif name == "train":
                new = list(judge_train(program, out, phase))
            else:
                new = [judge_load(out, name, phase, serving)]
        except (NoResult, OSError, LookupError, ValueError) as error:
            new = [failed(group, what, "", f"{type(error).__name__}: {error}"
                          if not isinstance(error, NoResult) else str(error))]
        items += [{**one, "phase": name} for one in new]
    return items


def judge(program, kernel, out, trouble):
    """The result of a run, whose files are in out; trouble is what was wrong with it."""
    commit = subprocess.run(["git", "-C", str(TOP), "rev-parse", "--short", "HEAD"], text=True,
                            capture_output=True, check=False).stdout.strip()
    result = {"program": program, "kernel": kernel, "version": version_of(program),
              "commit": commit, "release": "", "items": [],
              "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")}
    try:
        guest = json.loads((out / "phases.json").read_text())
        result["release"] = guest["kernel"]
        result["items"] = judge_phases(program, out, guest["phases"])
    except FileNotFoundError:
        trouble = trouble or "the guest's part told nothing"
    if trouble:
        result["items"].append(failed("time", "the run in the VM", "", trouble))
    return result
