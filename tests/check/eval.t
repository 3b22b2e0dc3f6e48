#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""That the evaluation's judge of real slow programs distinguishes good reports from bad ones."""

import json
import pathlib
import sys
import tempfile

EVAL = pathlib.Path(__file__).resolve().parents[1] / "eval"
sys.dont_write_bytecode = True
sys.path[:0] = [str(EVAL), str(EVAL / "guest")]

import alarms  # noqa: E402
import slow_judge  # noqa: E402
import slow_page  # noqa: E402
import subjects  # noqa: E402
from subjects.subject import Bug  # noqa: E402

results = []


def ok(condition, name):
    results.append(bool(condition))
    print(f"{'ok' if condition else 'not ok'} {len(results)} - {name}")


def place(function, module="/usr/lib/libbig.so.1.2", offset=64):
    return {"function": function, "module": module, "offset": offset}


PATH = [place("main", "/usr/bin/big"), place("handler", "/usr/bin/big"), place(None),
        place("slow"), place("memcpy", "/lib/libc.so.6")]


def alert(kind, elapsed, unit=7, path=None, functions=None, **more):
    return {"kind": kind, "tid": 1, "unit": unit, "elapsed_ns": elapsed, "threshold_ns": 1000,
            "found_by": "overdue", "type": 3, "hot_path": PATH if path is None else path,
            "functions": functions or [], **more}


def row(found=3, d=2, rank=1, late=0, threshold=1000, error=""):
    turn = {"found": True, "found_by": "guard", "type": 1, "novel": False, "delay_ns": 5,
            "threshold_ns": threshold, "rank": rank, "d": d, "elapsed_ns": 9, "reason": None,
            "path": ["main", "slow"]}
    return {"bug": "b", "title": "t", "kind": "k", "paper": "", "version": "v 1", "error": error,
            "date": "2000-01-01", "commit": "c", "kernel": "6.12",
            "turns": [turn] * found + [{"found": False}] * (3 - found), "of_type": None,
            "nr_guards": 4, "root_cause": ["slow"], "normal": {
                "error": "", "late": late, "units": 1000, "novel": 0, "allowed": 3}}


def check_distance():
    ok(slow_judge.distance(PATH, ["memcpy"]) == 0, "the innermost function is no call away")
    ok(slow_judge.distance(PATH, ["slow", "main"]) == 1, "the innermost of several causes counts")
    ok(slow_judge.distance(PATH, ["handler>"]) == 2, "a cause without a name, by its caller")
    ok(slow_judge.distance(PATH, ["libbig:"]) == 1, "any function of a library")
    ok(slow_judge.distance(PATH, ["slo", "memcpy>", "main:"]) is None, "nothing else is a cause")
    ok(slow_judge.distance([], ["main"]) is None, "no path, no cause")


def check_rank():
    listed = [place("memcpy"), place("other")]
    ok(slow_judge.rank(alert("late", 9, functions=listed), ["handler"]) == 1, "on the hot path: 1")
    ok(slow_judge.rank(alert("late", 9, functions=listed), ["other"]) == 3,
       "behind it: the place among the functions")
    ok(slow_judge.rank(alert("late", 9, functions=listed), ["none"]) is None, "or not at all")


def check_alarms():
    ok(alarms.most(1000, 0.001, 0.95) == 3 and alarms.most(10, 0.001, 0.95) == 0,
       "a binomial's 95 % quantile")
    ok(alarms.most(50000, 0.001, 0.95) == 62, "of many units")


def check_judge():
    bug = Bug("t", "k", ("slow",), "trigger", repeats=2)
    with tempfile.TemporaryDirectory() as name:
        out = pathlib.Path(name)
        done = {"subject": "s", "kernel": "6", "steps": {"b": {"error": "", "took": [1, 2]}}}
        (out / "done.json").write_text(json.dumps(done))
        lines = [("normal", alert("late", 90)), ("b.0", alert("novel", 900)),
                 ("b.0", alert("late", 1500)), ("b.0", alert("late", 1200, unit=8, path=[])),
                 ("b.0", alert("ended", 5000)), ("b.1", alert("novel", 900))]
        (out / "alerts.jsonl").write_text("".join(
            json.dumps({"step": step, "alert": is_}) + "\n" for step, is_ in lines))
        steps = slow_judge.read_alerts(out)
        turn = slow_judge.judge_turn(bug, steps["b.0"])
        ok(turn["found"] and turn["delay_ns"] == 500 and turn["elapsed_ns"] == 5000,
           "the longest unit is judged: its first report's delay, its last one's time")
        ok(turn["rank"] == 1 and turn["d"] == 1, "and its last path")
        ok(not slow_judge.judge_turn(bug, steps.get("b.1", []))["found"],
           "what only fits no type is not found")
        ok(slow_judge.judge("b", bug, out).get("turns") is None,
           "without a profile there is nothing to judge")


def check_page():
    ok(not slow_page.misses(row(d=8, late=3)), "all requirements met")
    ok(slow_page.misses(row(found=2)), "once not found is a miss")
    ok(slow_page.misses(row(d=9)), "so is a cause too far away")
    ok(slow_page.misses(row(late=4)), "so are too many false alarms")
    ok(slow_page.misses(row(error="no guest")), "so is what did not run")
    ok(slow_page.misses(row(rank=2, d=None)), "so is a cause off the hot path")
    ok(not slow_page.is_met({"a": [row()], "b": [row(rank=2, d=None)]}),
       "one of two off the hot path is too much")
    ok(slow_page.is_met({**{str(i): [row()] for i in range(4)}, "b": [row(rank=2, d=None)]}),
       "one of five is not")
    ok(not slow_page.changes(row(), row(threshold=1900, d=3)), "within the noise of two runs")
    ok(len(slow_page.changes(row(), row(threshold=2100, found=2, d=4))) == 3, "and beyond it")
    unsure = row(threshold=2100)
    unsure["turns"] = [{**turn, "is_sure": False} for turn in unsure["turns"]]
    ok(not slow_page.changes(row(), unsure), "nothing is said of thresholds of few units")
    ok("Not run yet: other." in slow_page.page({"b": [row()]}, ["b", "other"]),
       "and what was not run")
    ok("**missed**" in slow_page.page({"b": [row(found=0)]}), "a miss is in the page")


def check_subjects():
    bugs = [bug for name in subjects.NAMES for bug in subjects.load(name).bugs]
    ok(len(bugs) == len(set(bugs)) and len(bugs) >= 2, "each bug has a name of its own")
    ok(all(hasattr(subjects.load(name), attribute) for name in subjects.NAMES
           for bug in subjects.load(name).bugs.values()
           for attribute in (bug.trigger, bug.after or bug.trigger)), "and can be triggered")


check_distance()
check_rank()
check_alarms()
check_judge()
check_page()
check_subjects()
print(f"1..{len(results)}")
sys.exit(not all(results))
