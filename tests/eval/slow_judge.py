# SPDX-License-Identifier: GPL-2.0
"""The result of a run of the guest's part: whether a bug and its cause were reported."""

import json
import pathlib

import alarms
import collect

CONFIDENCE = 0.95


def module_name(path):
    return pathlib.PurePath(path or "").name.split(".so")[0]


def is_cause(step, outer, cause):
    """Whether cause names a step of a path that the step outer (or None) called."""
    if cause.endswith(">"):
        return outer is not None and outer["function"] == cause[:-1]
    if cause.endswith(":"):
        return module_name(step["module"]) == cause[:-1]
    return step["function"] == cause


def caller(path, place):
    """The step that called a step of a path, or None if unknown."""
    return path[place - 1] if place and not path[place].get("by_several") else None


def distance(path, causes):
    """How many calls the innermost function of a path (outermost first) is from a cause; None
    if no cause is on it."""
    for calls, place in enumerate(range(len(path) - 1, -1, -1)):
        outer = caller(path, place)
        if any(is_cause(path[place], outer, cause) for cause in causes):
            return calls
    return None


def rank(alert, causes):
    """1 if a cause is on the hot path; else the place of the first cause among the functions that
    are listed with their time, counted after the path; None if no cause is listed."""
    if distance(alert["hot_path"], causes) is not None:
        return 1
    named = [cause for cause in causes if not cause.endswith(">")]
    for place, function in enumerate(alert["functions"]):
        if any(is_cause(function, None, cause) for cause in named):
            return place + 2
    return None


def read_alerts(out):
    """{step: [alerts]} of late units."""
    steps = {}
    path = out / "alerts.jsonl"
    for line in path.read_text().splitlines() if path.exists() else []:
        entry = json.loads(line)
        if entry["alert"]["kind"] in ("late", "ended"):
            steps.setdefault(entry["step"], []).append(entry["alert"])
    return steps


def longest(alerts):
    """(first, last) report of the longest unit, or (None, None)."""
    if not alerts:
        return None, None
    unit = max(alerts, key=lambda alert: alert["elapsed_ns"])
    mine = [alert for alert in alerts
            if (alert["tid"], alert["unit"]) == (unit["tid"], unit["unit"])]
    return mine[0], mine[-1]


def part_ns(alert):
    """The part of the unit's time that exceeded its limit, ns."""
    times = alert.get("time_ns") or {}
    if alert.get("part") == "own":
        return alert["elapsed_ns"] - times.get("runqueue", 0)
    return times.get(alert.get("part"), alert["elapsed_ns"])


def judge_turn(bug, alerts, sure=()):
    """The reports of one slow turn of the program; sure: types whose limits are."""
    first, last = longest(alerts)
    if not first:
        return {"found": False}
    return {
        "found": True,
        "found_by": first["found_by"],
        "type": last["type"],
        "novel": bool(last.get("novel")),
        "threshold_ns": first["threshold_ns"],
        "part": first.get("part"),
        "is_sure": last["type"] in sure,
        "elapsed_ns": last["elapsed_ns"],
        # From when it was late.
        "delay_ns": part_ns(first) - first["threshold_ns"],
        "rank": rank(last, bug.root_cause),
        "d": distance(last["hot_path"], bug.root_cause),
        "d_first": distance(first["hot_path"], bug.root_cause),
        "path": [step["function"] or f"{module_name(step['module'])}+{step['offset']:#x}"
                 for step in last["hot_path"]],
        "where": [function["function"] for function in last["functions"][:3]],
        "reason": (last.get("reason") or {}).get("text"),
    }


def judge_normal(done, profile):
    """Units and false alarms of the normal load that training had not seen."""
    step = done["steps"].get("normal", {"error": "not run"})
    if step["error"]:
        return {"error": step["error"]}
    sums = {}
    for when in ("before", "after"):
        types = [entry for entry in step[when] if entry["kind"] == "type"]
        whole = [entry for entry in step[when] if entry["kind"] == "profile"]
        sums[when] = (sum(entry["units"] for entry in types),
                      sum(entry["late"] for entry in types),
                      sum(entry["novel"] for entry in whole))
    units, late, novel = (after - before
                          for before, after in zip(sums["before"], sums["after"]))
    if units == 0:
        return {"error": "the normal load made no unit"}
    rate = profile["model"]["false_alarm_rate"]
    return {"error": "", "units": units, "late": late, "novel": novel, "rate": rate,
            "allowed": alarms.most(units, rate, CONFIDENCE) if rate else None}


def judge_type(profile, number):
    for kind in profile["types"]:
        if kind["id"] == number:
            return {"trees": kind["nr_trees"], "paths": round(kind["paths"], 1),
                    "functions": round(kind["functions"], 1), "units": kind["units"]}
    return None


def judge(name, bug, out):
    """A row of the table."""
    done = json.loads((out / "done.json").read_text())
    errors = [f"{step}: {result['error']}" for step, result in done["steps"].items()
              if result["error"] and step in ("start", "train", "arm", name)]
    row = {"bug": name, "title": bug.title, "kind": bug.kind, "paper": bug.paper,
           "subject": done["subject"], "kernel": done["kernel"],
           "root_cause": list(bug.root_cause), "error": "; ".join(errors)}
    if not (out / "profile.pgp").exists():
        return row
    profile = collect.show(out / "profile.pgp")
    steps = read_alerts(out)
    sure = {kind["id"] for kind in profile["types"] if kind["confidence"] in ("fit", "full")}
    row["turns"] = [judge_turn(bug, steps.get(f"{name}.{turn}", []), sure)
                    for turn in range(bug.repeats)]
    row["took"] = done["steps"].get(name, {}).get("took", [])
    found = [turn for turn in row["turns"] if turn["found"]]
    numbers = [turn["type"] for turn in found]
    row["type"] = max(numbers, key=numbers.count) if numbers else None
    row["of_type"] = judge_type(profile, row["type"])
    row["nr_types"] = len(profile["types"])
    row["nr_guards"] = len(profile["guards"])
    row["normal"] = judge_normal(done, profile)
    return row


def over(base, spent):
    """The additional cost over base, by round: mean, and half the spread."""
    rounds = [each / bare - 1 for bare, each in zip(base, spent)]
    return (round(sum(spent) / sum(base[:len(spent)]) - 1, 5),
            round((max(rounds) - min(rounds)) / 2, 5))


def judge_overhead(out):
    """Instructions of the program for a request: bare, with boundaries alone, with all guards."""
    path = out / "overhead.json"
    if not path.exists():
        return None
    spent = json.loads(path.read_text())
    if not spent["on"]:
        return None
    result = {way: round(sum(spent[way]) / len(spent[way]) / spent["requests"])
              for way in ("off", "on")}
    share, noise = over(spent["off"], spent["on"])
    floor, floor_noise = over(spent["off"], spent["floor"])
    return {"requests": spent["requests"], **result, "share": share, "noise": noise,
            "floor": floor, "floor_noise": floor_noise}
