#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Detect real slow behaviours of real programs in the VM, and report the results.

usage: slow-programs.py [--bug NAME | --subject NAME]... [--kernel KERNEL] [--train]
                        [--part guard | overhead] [--again | --report | --packages]

Without options: every bug of every subject.  A profile of an earlier run with the same kernel
is used again, --train trains again.  --part does one of the two runs of the VM: the bugs, or
the cost of guarding.  --again judges what an earlier run left below build/eval/slow, without a
VM; --report only prints stored results; --packages prints the packages to install.

The table goes to the standard output, results to tests/eval/results/slow.json, with those of
the run before, and the page tests/eval/results/slow.md is written from them.

Exit: 0 all requirements were met, 1 not so, 2 usage
"""

import argparse
import datetime
import fcntl
import json
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path.insert(0, str(HERE / "guest"))

import results as store  # noqa: E402
import slow_budgets  # noqa: E402
import slow_judge  # noqa: E402
import slow_page  # noqa: E402
import subjects  # noqa: E402
import vm  # noqa: E402

BUILD = TOP / "build/eval/slow"
RESULTS = TOP / "tests/eval/results/slow.json"
PAGE = TOP / "tests/eval/results/slow.md"
# Of the host, which may be busy.
GUARD_SECONDS = 2400
OVERHEAD_SECONDS = 1800
# No guard is as cheap as this, in percent.
FLOOR_BUDGET = "0.00001"


def run_guard(kernel, subject, bugs, out, train):
    old = ["done.json", "alerts.jsonl"] + (["profile.pgp", "overhead.json"] if train else [])
    for name in old:
        (out / name).unlink(missing_ok=True)
    trouble = vm.run_script(kernel, out, GUARD_SECONDS, ["--icount"], HERE / "guest/slow.py",
                            subject, "/out", *bugs)
    (out / "trouble").write_text(trouble)


def make_floor(out):
    """The profile without a guard: only the boundaries of units are left."""
    shutil.copy(out / "profile.pgp", out / "floor.pgp")
    subprocess.run([TOP / "pg-collect", "learn", "-o", out / "floor.pgp", "--guard-share",
                    FLOOR_BUDGET], check=True)


def run_overhead(kernel, subject, out):
    (out / "overhead.json").unlink(missing_ok=True)
    if not (out / "profile.pgp").exists() or not subjects.load(subject).cost_requests:
        return
    make_floor(out)
    trouble = vm.run_script(kernel, out, OVERHEAD_SECONDS, ["--icount"],
                            HERE / "guest/overhead.py", subject, "/out")
    if trouble:
        vm.say(f"{subject}: overhead: {trouble}")


def run_budgets(out):
    """Predictions for the profile with other budgets, made on the host from its samples."""
    (out / "budgets.json").unlink(missing_ok=True)
    if (out / "profile.pgp").exists():
        predicted = slow_budgets.over_budgets(TOP / "pg-collect", out / "profile.pgp",
                                              out / "budget.pgp")
        (out / "budgets.json").write_text(json.dumps(predicted))


def judge(kernel, name, out):
    """Rows of the bugs that the last run of the subject was about."""
    subject = subjects.load(name)
    done = out / "done.json"
    if not done.exists():
        return {bug: {"bug": bug, "title": is_.title, "kind": is_.kind, "paper": is_.paper,
                      "subject": name, "kernel": kernel, "root_cause": list(is_.root_cause),
                      "error": (out / "trouble").read_text() or "the guest's part left nothing"}
                for bug, is_ in subject.bugs.items()}
    steps = json.loads(done.read_text())["steps"]
    has_begun = all(not steps.get(step, {"error": "y"})["error"] for step in
                    ("start", "train", "arm"))
    return {bug: slow_judge.judge(bug, is_, out) for bug, is_ in subject.bugs.items()
            if bug in steps or not has_begun}


def versions(subject):
    """Name and version of Debian's package of the program, the first of packages."""
    done = subprocess.run(["dpkg-query", "-W", "-f=${Package} ${Version}", subject.packages[0]],
                          capture_output=True, text=True, check=False)
    return done.stdout


def known_bugs():
    return [bug for subject in subjects.NAMES for bug in subjects.load(subject).bugs]


def keep(rows):
    """Add the rows to the stored ones, and write the page; returns the stored ones.

    Of each bug this run and the last of another day are kept.  Parts may run at the same time.
    """
    BUILD.mkdir(parents=True, exist_ok=True)
    with open(BUILD / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        results = add(rows)
        PAGE.write_text(slow_page.page(results, known_bugs()))
    return results


def add(rows):
    results = store.read(RESULTS)
    for name, row in rows.items():
        older = [run for run in results.get(name, []) if run["commit"] != row["commit"]
                 or run["date"] != row["date"]]
        other_days = [run for run in older if run["date"] != row["date"]]
        results[name] = [row, *(other_days or older)[:1]]
    results = {name: results[name] for name in known_bugs() if name in results}
    store.write(RESULTS, results)
    return results


def wanted(arguments):
    """{subject: [bugs]}"""
    if not arguments.bug and not arguments.subject:
        return {name: list(subjects.load(name).bugs) for name in subjects.NAMES}
    chosen = {name: list(subjects.load(name).bugs) for name in arguments.subject}
    for bug in arguments.bug:
        of_subject = chosen.setdefault(subjects.find(bug), [])
        if bug not in of_subject:
            of_subject.append(bug)
    return chosen


def evaluate(name, bugs, arguments):
    """Rows of these bugs."""
    out = BUILD / arguments.kernel / name
    out.mkdir(parents=True, exist_ok=True)
    if not arguments.again:
        for script in subjects.load(name).builds:
            subprocess.run([str(HERE / script)], check=True)
        if arguments.part != "overhead":
            vm.say(f"eval: {name}: {', '.join(bugs)}, Linux {arguments.kernel}")
            run_guard(arguments.kernel, name, bugs, out, arguments.train)
        if arguments.part != "guard":
            vm.say(f"eval: {name}: overhead")
            run_overhead(arguments.kernel, name, out)
        (out / "run").write_text(json.dumps({"date": datetime.date.today().isoformat(),
                                             "commit": vm.commit("kmod", "user", "include")}))
    run = json.loads((out / "run").read_text()) if (out / "run").exists() else None
    if not run:
        return {}
    if arguments.part != "overhead":
        run_budgets(out)
    budgets = out / "budgets.json"
    rows = {bug: row for bug, row in judge(arguments.kernel, name, out).items() if bug in bugs}
    for row in rows.values():
        row.update(run, version=versions(subjects.load(name)),
                   overhead=slow_judge.judge_overhead(out),
                   budgets=json.loads(budgets.read_text()) if budgets.exists() else {})
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bug", action="append", default=[])
    parser.add_argument("--subject", action="append", default=[], choices=subjects.NAMES)
    parser.add_argument("--kernel", default="6.12")
    parser.add_argument("--part", choices=["guard", "overhead"])
    for option in ("train", "again", "report", "packages"):
        parser.add_argument(f"--{option}", action="store_true")
    arguments = parser.parse_args()
    if arguments.packages:
        print("\n".join(sorted({package for name in subjects.NAMES
                                for package in subjects.load(name).packages})))
        return 0
    rows, results = {}, keep({})
    for name, bugs in ({} if arguments.report else wanted(arguments)).items():
        judged = evaluate(name, bugs, arguments)
        results = keep(judged)
        rows.update(judged)
    shown = {name: results[name] for name in rows or results}
    print(slow_page.text(shown))
    return 0 if slow_page.is_met(shown) else 1


if __name__ == "__main__":
    sys.exit(main())
