# SPDX-License-Identifier: GPL-2.0
"""The results of a run of the guest's part."""

import collections
import datetime
import json
import math
import pathlib
import re
import shutil
import subprocess
import time

import loops
import match
import required
import vm
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
seeded mix by Zipf's law, each waiting for its answer before the next request, and log label, time
and connection of each request. A label names the work that a request needs; it was chosen before
any result was seen. A unit belongs to the request that was sent and not yet answered when it began:
of its connection, where its boundary is a call on one; of all, with one client. Where the server's
log has thread and time, it is the request that the server began in it. Each request has one unit,
the longest. Units of connections that come or go and of timers belong to no request and are left
out of the Rand index; the lines of units count them. Accuracies are the trainer's predictions for
units that it had held back. Lines without a requirement are for information."""


class NoResult(Exception):
    """The product gave nothing to judge, for the reason in the text."""


def version_of(program):
    done = subprocess.run(VERSIONS[program], capture_output=True, text=True, check=False)
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[0] if lines else program


def collect(*words, seconds=LEARN_SECONDS):
    """Run pg-collect: (its output, seconds)."""
    started = time.monotonic()
    try:
        done = subprocess.run([COLLECT, *map(str, words)], capture_output=True, text=True,
                              timeout=seconds, stdin=subprocess.DEVNULL, check=False)
    except subprocess.TimeoutExpired as error:
        raise NoResult(f"{words[0]} took more than {seconds} s") from error
    if done.returncode:
        tail = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise NoResult(f"{words[0]}: exit {done.returncode}: {' '.join(tail)[:300]}")
    return done.stdout + done.stderr, time.monotonic() - started


class Learnt:
    """A profile, and the units of the run that it was learnt from."""

    def __init__(self, directory):
        self.path = directory / "profile.pgp"
        units = directory / "units.tsv"
        self.said = ""
        self.seconds = None
        trace = directory / "trace.pgt"
        if trace.exists():
            self.path.unlink(missing_ok=True)
            self.said, self.seconds = collect("learn", trace, "-v", "-o", self.path,
                                              "--units", units)
        else:
            self.said = (directory / "train.log").read_text(errors="replace")
        self.units = match.read_units(units)
        self.profile = loops.Profile(self.path)

    def of_budget(self, hits):
        """The profile derived again for so many hits a unit, and the time it took."""
        path = self.path.with_name(f"profile-{hits}.pgp")
        shutil.copy(self.path, path)
        _, seconds = collect("learn", "-o", path, "--hits", hits)
        return loops.Profile(path), seconds

    def by_loop(self):
        """The units of each loop that has some, the most first."""
        counts = collections.Counter(unit.loop for unit in self.units)
        return [[unit for unit in self.units if unit.loop == loop]
                for loop, _ in counts.most_common()]

    def loop_in_profile(self, units):
        """The profile's number for the loop of these units."""
        kinds = collections.Counter(unit.type for unit in units if unit.type)
        return self.profile.loop_of_type(kinds.most_common(1)[0][0]) if kinds else units[0].loop


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
        for units in self.learnt.by_loop():
            within = match.window(units, requests)
            found.append((match.match(units, within, sockets, log), units, within))
        if not found:
            raise NoResult("there are no units")
        # The loop that serves is the one whose units are requests.
        self.matching, self.units, self.requests = max(
            found, key=lambda one: len(one[0].pairs))

    def labelled(self, half=None):
        return [(request.label, unit.type) for unit, request in self.matching.pairs
                if half is None or unit.half == half]


def near(got, wanted, share):
    return abs(got - wanted) <= share * wanted


def right_loop(program, learnt):
    """The loop of a profile that is the right one, if no labelled run shows which one serves."""
    found = [loop for loop in map(learnt.loop_in_profile, learnt.by_loop())
             if loops.is_right(learnt.profile.boundaries(loop), required.LOOPS[program])[0]]
    if not found:
        raise NoResult("none of its loops is the right one")
    return found[0]


def judge_load(program, out, name, phase, serving):
    """Units of a plain load against the requests that were sent."""
    what, wanted = phase["title"], phase["requests"]
    learnt = Learnt(out / name)
    serves = learnt.profile.same_loop(serving) if serving else right_loop(program, learnt)
    begin, end = map(int, (out / name / "counted.tsv").read_text().split())
    counted = []
    for units in learnt.by_loop():
        if learnt.loop_in_profile(units) == serves:
            counted = [unit for unit in units if begin <= unit.start_ns <= end]
    got = len(counted)
    return item("units", f"{what}: requests, units", str(wanted), str(got),
                near(got, wanted, required.UNITS), why="of the loop that serves, in the time between"
                f" the load's begin and end; {units_by_fd(counted)}")


def units_by_fd(units):
    """The number of units by the file of their boundary call, for a reader."""
    by_fd = collections.Counter(unit.fd for unit in units)
    return ", ".join(f"{n} of {f'file {fd}' if fd >= 0 else 'no file'}"
                     for fd, n in by_fd.most_common(5))


def judge_units(mix, clients):
    wanted, got = len(mix.requests), len(mix.units)
    matching = mix.matching
    yield item("units", f"mix, {clients}: requests / units / lost", "",
               f"{wanted} / {got} / {mix.learnt.profile.lost()}")
    share = len(matching.pairs) / wanted if wanted else 0
    yield item("units", f"mix, {clients}: requests with a unit", ">= 99 %", percent(share),
               share >= 0.99, why=f"{matching.requests_left} requests without a unit,"
               f" {matching.units_left} units of no request; matched by {matching.rule};"
               f" {mix.learnt.profile.cut_off(mix.learnt.loop_in_profile(mix.units))} units were"
               f" cut off or had lost events")


def judge_types(program, mix, clients):
    wanted = required.RAND_INDEX[program]
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
    limit = required.UNSEEN.get(program) if clients == CLIENTS["four"] else None
    return item("types", f"unseen call trees, {clients}",
                f"<= {percent(limit, 0)}" if limit else "", percent(share),
                None if limit is None else share <= limit,
                why=f"of {len(held)} held-back units")


def judge_guards(program, mix, clients):
    """The predictions for the guards of each budget."""
    wanted = required.ACCURACY[program]
    if clients == CLIENTS["four"]:
        wanted = required.ACCURACY_OF_FOUR.get(program, wanted)
    slowest = mix.learnt.seconds or 0
    loop = mix.learnt.loop_in_profile(mix.units)
    for hits, least in zip(required.BUDGETS, wanted):
        what = f"{clients}, {hits} hit{'s' * (hits > 1)}"
        try:
            profile, seconds = mix.learnt.of_budget(hits)
        except NoResult as error:
            yield failed("guards", f"accuracy, {what}", f">= {percent(least, 0)}", str(error))
            continue
        slowest = max(slowest, seconds)
        guards = profile.prediction(loop)
        yield item("guards", f"accuracy, {what}", f">= {percent(least, 0)}",
                   percent(guards["accuracy_end"]), guards["accuracy_end"] >= least,
                   why=f"{guards['nr_guards']} guards, {guards['units']} held-back units,"
                       f" {percent(guards['unseen'])} of unseen call trees")
        yield item("guards", f"mean hits, {what}", f"<= {hits * required.HITS_OF_PLAN:.1f}",
                   f"{guards['hits']:.2f}", guards["hits"] <= hits * required.HITS_OF_PLAN)
        yield item("guards", f"worst unit, {what}", f"<= {required.WORST_HITS}",
                   str(guards["worst"]), guards["worst"] <= required.WORST_HITS)
    number = len(mix.learnt.units)
    limit = required.SELECTION_SECONDS * max(1, number / required.SELECTION_UNITS)
    yield item("time", f"learn, {clients}, {number} units", f"<= {limit:.0f} s",
               f"{slowest:.1f} s", slowest <= limit)


def judge_loops(program, boundaries):
    """Whether the loop that serves is the right one."""
    good, seen = loops.is_right(boundaries, required.LOOPS[program])
    return item("loop", "the loop that serves", "right", "right" if good else "wrong", good,
                why=f"{seen}; right is: {loops.wanted(required.LOOPS[program])}")


def judge_paper(program, learnt):
    """The figures that the paper reports, by its definitions."""
    ten = costliest(collect("show", "--types", 100000, learnt.path)[0])
    if ten:
        mean = sum(deviation for _, _, deviation in ten) / len(ten)
        yield item("paper", "relative deviation, 10 costliest types", "", percent(mean),
                   paper=percent(required.PAPER_DEVIATION),
                   why="; ".join(f"type {kind}: {time_text}, {percent(deviation)}"
                                 for kind, time_text, deviation in ten))
    else:
        yield failed("paper", "relative deviation, 10 costliest types", "",
                     "no type of the profile was timed")
    share = re.search(r"contexts identified:? *([0-9.]+) *%", learnt.said)
    paper = required.PAPER_CONTEXTS.get(program)
    yield item("paper", "contexts identified", "", f"{share[1]} %" if share else "not printed",
               paper=percent(paper) if paper else "")


def costliest(text):
    """[(type, mean, deviation)] of the ten types with the greatest mean time in show's output."""
    factor = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
    found = []
    for line in text.splitlines():
        row = re.match(r" +(\d+) +[\d.]+ % +[\d.]+ % +([\d.]+) (ns|us|ms|s)"
                       r" +([\d.]+) % ", line)
        if row:
            found.append((float(row[2]) * factor[row[3]], int(row[1]), f"{row[2]} {row[3]}",
                          float(row[4]) / 100))
    return [entry[1:] for entry in sorted(found, reverse=True)[:10]]


def judge_mix(program, out, name, phase):
    clients = CLIENTS[name]
    mix = Mix(out / name, phase)
    items = [*judge_units(mix, clients), *judge_types(program, mix, clients),
             judge_unseen(program, mix, clients), *judge_guards(program, mix, clients)]
    if name == "four":
        limit = required.TRAINING.get(program)
        items.append(item("time", "whole training in the VM", f"< {limit} s" if limit else "",
                          f"{phase['seconds']:.0f} s",
                          phase["seconds"] < limit if limit else None))
        items += judge_paper(program, mix.learnt)
    return items, mix


def judge_phases(program, out, phases):
    """All items; expected ones that could not be measured are failed."""
    items = []
    serving = None
    loads = sorted(name for name in phases if name.startswith("load"))
    for name in [*CLIENTS, *loads]:
        phase = phases.get(name, {"error": "it was not run"})
        what = phase.get("title") or CLIENTS.get(name, name)
        try:
            if "error" in phase:
                raise NoResult(phase["error"])
            if name in CLIENTS:
                new, mix = judge_mix(program, out, name, phase)
                if serving is None:
                    serving = mix.learnt.profile.boundaries(mix.learnt.loop_in_profile(mix.units))
                    new.insert(0, judge_loops(program, serving))
            else:
                new = [judge_load(program, out, name, phase, serving)]
        except NoResult as error:
            new = [failed("units", what, "", str(error))]
        except (OSError, LookupError, ValueError, subprocess.SubprocessError) as error:
            new = [failed("units", what, "", f"{type(error).__name__}: {error}")]
        items += new
    return items


def judge(program, kernel, out, trouble):
    """The result of a run, whose files are in out; trouble is the error of the run, if any."""
    result = {"program": program, "kernel": kernel, "version": version_of(program),
              "commit": vm.commit(), "release": "", "items": [],
              "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")}
    try:
        guest = json.loads((out / "phases.json").read_text())
        result["release"] = guest["kernel"]
        result["items"] = judge_phases(program, out, guest["phases"])
    except FileNotFoundError:
        trouble = trouble or "the guest's part reported nothing"
    if trouble:
        result["items"].append(failed("time", "the run in the VM", "", trouble))
    return result
