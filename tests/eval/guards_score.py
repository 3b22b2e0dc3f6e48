# SPDX-License-Identifier: GPL-2.0
"""The results of a run of the guest's part, for the module's guards."""

import datetime
import json
import math
import pathlib
import subprocess

import alarms
import required
import score
import vm
from loops import Profile
from report import failed, item, percent

TOP = pathlib.Path(__file__).resolve().parents[2]
JUDGE = str(TOP / "build/tests/eval/judge-guards")
JUDGE_SECONDS = 600

# How each profile is derived from the one that was trained.
PROFILES = {
    "default": [],
    "hits-1": ["--hits", "1"],
    "hits-2": ["--hits", "2"],
    "hits-4": ["--hits", "4"],
    "sigma": ["--threshold", "sigma:4"],
}
RECORDED = ["default", "hits-1", "hits-2", "hits-4"]
ALARMED = ["default", "sigma"]
WHAT = {"default": "default budget", "hits-1": "1 hit", "hits-2": "2 hits", "hits-4": "4 hits"}
HITS = {"hits-1": 1, "hits-2": 2, "hits-4": 4}
# Shares of the time, in percent; and fewer hits than any of them buys in the slow VM.
BUDGETS = ["budget:0.25", "budget:0.5", "budget:1", "budget:2", "budget:4", "hits:0.25", "hits:0.5"]
UNITS_OF = {"budget": "% of the time", "hits": "hits a unit"}
# Accuracy may be below the profile's prediction by this much.
SLACK = 0.02
# The module has to report this share of the units found by whole call trees.
REPORTED = 0.99
CONFIDENCE = 0.95


class NoResult(Exception):
    """There is nothing to judge, for the reason in the text."""


def read_judge(out, name, budgets):
    """The output of judge-guards for a recording: {kind: [dictionaries]}."""
    trace = out / f"{name}.pgt"
    if not trace.exists():
        raise NoResult("nothing was recorded")
    words = [JUDGE, str(out / f"{name}.pgp"), str(trace), *budgets]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=JUDGE_SECONDS,
                              stdin=subprocess.DEVNULL, check=False)
    except subprocess.TimeoutExpired as error:
        raise NoResult(f"judging took more than {JUDGE_SECONDS} s") from error
    if done.returncode:
        raise NoResult(f"judge-guards: {done.stderr.strip()[-300:]}")
    found = {"replay": [], "loop": [], "budget": []}
    for line in done.stdout.splitlines():
        entry = json.loads(line)
        found[entry["kind"]].append(entry)
    return found


def share(part, whole):
    return part / whole if whole else math.nan


def judge_replay(what, replay):
    """Whether the module inferred what the reference infers."""
    wrong = replay["wrong_hits"] + replay["strange"]
    yield item("inference", f"hits like the reference, {what}", "all",
               f"{replay['hits'] - wrong} of {replay['hits']}",
               wrong == 0 and replay["hits"] > 0, why=replay["why"] or "")
    wrong = replay["wrong_units"] + replay["wrong_novel"]
    yield item("inference", f"units like the reference, {what}", "all",
               f"{replay['units'] - wrong} of {replay['units']}",
               wrong == 0 and replay["units"] > 0, why=replay["why"] or "")
    odd = replay["misplaced_hits"] + replay["missed_hits"]
    yield item("inference", f"calls without hit, or elsewhere, {what}", "0", str(odd),
               odd == 0, why=f"{replay['missed_hits']} without, {replay['misplaced_hits']} at"
               f" another depth; {replay['why'] or ''}")


def with_prediction(got, predicted):
    """A share with the one that the profile predicts."""
    return f"{percent(got)} / {percent(predicted)}"


def confused(loop):
    return "; ".join(f"{entry['units']} of type {entry['is']} taken for {entry['inferred']}"
                     for entry in loop["confused"][:4])


def judge_accuracy(program, name, replay, loop):
    """The share of units whose type the module inferred right, with the prediction of training."""
    what = WHAT[name]
    predicted = loop["predicted"]
    yield item("units", f"units / reported by the module, {what}", f">= {percent(REPORTED, 0)}",
               f"{loop['units']} / {loop['reported']}", loop["reported"] >= REPORTED * loop["units"],
               why=f"{loop['module_units']} were reported in all; {replay['equal_boundaries']} of"
               f" {replay['boundaries']} boundaries were found again; {replay['lost']} events"
               " were lost")
    right = share(loop["right"], loop["reported"])
    least = predicted["accuracy"] - SLACK
    yield item("verdicts", f"type right at the end, {what}", "as predicted",
               with_prediction(right, predicted["accuracy"]), right >= least,
               why=f"predicted {percent(predicted['accuracy'])} less {percent(SLACK, 0)};"
               f" {loop['unseen']} units of call trees that training had not seen, of which"
               f" {loop['unseen_right']} are right; {confused(loop)}")
    floors = dict(zip(HITS, required.ACCURACY_OF_FOUR.get(program, required.ACCURACY[program])))
    if name in floors:
        yield item("verdicts", f"the same, required of training, {what}",
                   f">= {percent(floors[name], 0)}", percent(right), right >= floors[name],
                   why=confused(loop))
    yield from judge_hits(name, loop)
    yield item("verdicts", f"threshold within 0.8 to 1.25, {what}", "",
               percent(share(loop["threshold_right"], loop["reported"])))
    yield item("verdicts", f"unseen trees: training / here, {what}", "",
               f"{percent(predicted['unseen'])} / "
               f"{percent(share(loop['unseen'], loop['reported']))}")
    yield item("verdicts", f"units that fit no type, {what}", "",
               percent(share(loop["novel"], loop["reported"])),
               why=f"predicted {percent(loop['predicted_novel'])}")
    yield item("paper", f"type right by its rule, {what}", "",
               percent(share(loop["paper_right"], loop["reported"])))


def judge_hits(name, loop):
    """How often a unit hits a guard."""
    what = WHAT[name]
    predicted = loop["predicted"]
    why = f"predicted are {predicted['hits']:.2f} and at most {predicted['worst']}"
    mean = share(loop["hits"], loop["reported"])
    plan = HITS.get(name)
    most = plan * required.HITS_OF_PLAN if plan else None
    yield item("verdicts", f"mean hits a unit, {what}", f"<= {most:.1f}" if plan else "",
               f"{mean:.2f}", mean <= most if plan else None, why=why)
    yield item("verdicts", f"most hits of a unit, {what}", f"<= {required.WORST_HITS}" if plan else "",
               str(loop["worst"]), loop["worst"] <= required.WORST_HITS if plan else None, why=why)


def serving(loops):
    """The loop with the most units."""
    if not loops:
        raise NoResult("no event loop has a type")
    return max(loops, key=lambda loop: loop["units"])


def judge_budgets(found, loop):
    """Guards of other budgets, by their hits in the recording."""
    for entry in found["budget"]:
        if entry["budget"] == "armed" or entry["loop"] != loop:
            continue
        kind, number = entry["budget"].split(":")
        predicted = entry["predicted"]
        right = share(entry["right"], entry["reported"])
        least = predicted["accuracy"] - SLACK
        hits = share(entry["hits"], entry["reported"])
        yield item("budgets", f"{number} {UNITS_OF[kind]}", "as predicted",
                   with_prediction(right, predicted["accuracy"]), right >= least,
                   why=f"{predicted['guards']} guards, {hits:.2f} hits a unit")
        yield item("budgets", f"{number} {UNITS_OF[kind]}: mean hits", "", f"{hits:.2f}")
        yield item("budgets", f"{number} {UNITS_OF[kind]}: types, unmerged", "",
                   f"{entry['types']}, {percent(predicted['unmerged'])}")


def judge_recorded(program, out, name):
    """(items, the loop that serves)"""
    found = read_judge(out, name, BUDGETS if name == "default" else [])
    loop = serving(found["loop"])
    replay = found["replay"][0]
    return [*judge_replay(WHAT[name], replay), *judge_accuracy(program, name, replay, loop),
            *judge_budgets(found, loop["loop"])], loop


def sums(counted):
    """Over all types: (units, late, novel, ns)."""
    types = [entry for entry in counted if entry["kind"] == "type"]
    return tuple(sum(entry[name] for entry in types) + extra for name, extra in
                 (("units", sum(entry["late"] for entry in types)), ("late", 0), ("novel", 0),
                  ("elapsed_ns", 0)))


def hits_of(counted, guards):
    """All hits of the first guards; those behind only begin events."""
    return sum(entry["hits"] for entry in counted
               if entry["kind"] == "guard" and entry["index"] < guards)


def judge_calm(counted, rule, units, novel, profile, loop):
    """The other predictions that a run without recording has to meet."""
    most_novel = loop["predicted_novel"] + SLACK
    yield item("alarms", f"units that fit no type, {rule}", "as predicted",
               with_prediction(share(novel, units), loop["predicted_novel"]), novel <= most_novel * units,
               why=f"predicted {percent(loop['predicted_novel'])} and {percent(SLACK, 0)} more")
    guards = len(profile.rows("guard"))
    mean = share(hits_of(counted["after"], guards) - hits_of(counted["before"], guards), units)
    most = loop["predicted"]["hits"] * required.HITS_OF_PLAN
    yield item("alarms", f"mean hits a unit, {rule}", "as predicted",
               f"{mean:.2f} / {loop['predicted']['hits']:.2f}", mean <= most, why=f"predicted are {loop['predicted']['hits']:.2f}")


def judge_alarms(out, name, rule, loop):
    """Late units under a normal load, in which no unit is slow for a reason."""
    path = out / f"alarms-{name}.json"
    if not path.exists():
        raise NoResult("it was not run")
    counted = json.loads(path.read_text())
    units, late, novel, _ = (after - before for before, after in
                             zip(sums(counted["before"]), sums(counted["after"])))
    if not units:
        raise NoResult("no unit ended")
    profile = Profile(out / f"{name}.pgp")
    rate = profile.rows("model")[0]["false_alarm_rate"]
    most = alarms.most(units, rate, CONFIDENCE + (1 - CONFIDENCE) / 2) if rate else None
    sheds = sum(entry["sheds"] for entry in counted["after"] if entry["kind"] == "guard")
    yield item("alarms", f"late units of a normal run, {rule}",
               f"<= {percent(rate)}" if rate else "", f"{late} of {units}",
               late <= most if rate else None,
               why=f"{percent(share(late, units), 2)}; at most {most} would be likely; {sheds} guards"
               " were shed")
    if loop:
        yield from judge_calm(counted, rule, units, novel, profile, loop)


def judge_steps(program, out):
    items = []
    loops = {}
    rules = {"default": "rate:0.001", "sigma": "sigma:4"}
    for name in RECORDED:
        try:
            new, loops[name] = judge_recorded(program, out, name)
            items += new
        except NoResult as error:
            items.append(failed("units", f"recording, {WHAT[name]}", "", str(error)))
    for name in ALARMED:
        try:
            items += judge_alarms(out, name, rules[name], loops.get("default"))
        except NoResult as error:
            items.append(failed("alarms", f"a normal run, {rules[name]}", "", str(error)))
    return items


def judge(program, kernel, out, trouble):
    """The result of a run, whose files are in out; trouble is the error of the run, if any."""
    recorded = out / "recorded-at"
    result = {"program": program, "kernel": kernel, "version": score.version_of(program),
              "commit": recorded.read_text() if recorded.exists() else vm.commit(), "release": "",
              "items": [],
              "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")}
    done = out / "done.json"
    trained = out / "trained-on"
    if trained.exists():
        result["items"].append(item("time", "kernel of the training", "", trained.read_text().strip()))
    if done.exists():
        guest = json.loads(done.read_text())
        result["release"] = guest["kernel"]
        errors = [f"{step}: {what['error']}" for step, what in guest["steps"].items()
                  if what["error"]]
        trouble = "; ".join(filter(None, [trouble, *errors]))
        result["items"] += judge_steps(program, out)
    else:
        trouble = trouble or "the guest's part reported nothing"
    if trouble:
        result["items"].append(failed("time", "the run in the VM", "", trouble))
    return result
