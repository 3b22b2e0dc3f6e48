#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Guard real servers in the VM, and tell of how many units the type was right, and what was late.

usage: guards-servers.py [--program NAME] [--kernel KERNEL] [--train]
                         [--seconds S] [--again | --report]

Without options: all programs on both kernels.  A profile is trained where there is none of an
earlier run of this or of eval-training; --train trains anew.  --seconds is how long each
recording lasts.  --again judges what an earlier run recorded, without a VM; --report only tells
the results that are there.

The table goes to the standard output, results to build/eval/guards/KERNEL/PROGRAM.json, and the
page tests/eval/results/guards.md is written from all results that are there.

Exit: 0 all that is asked was met, 1 not so, 2 usage
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path.insert(0, str(HERE / "guest"))

import asked  # noqa: E402
import guards_page  # noqa: E402
import guards_score  # noqa: E402
import report  # noqa: E402
import vm  # noqa: E402

BUILD = TOP / "build/eval/guards"
TRAINED = TOP / "build/eval"
PAGE = TOP / "tests/eval/results/guards.md"
TRAIN_SECONDS = 420
GUARD_SECONDS = 540
RECORD_SECONDS = 15
ALARM_SECONDS = 25


def train(program, kernel, out, anew):
    """Have out/trained.pgp; what went wrong, or ''."""
    trained = out / "trained.pgp"
    if trained.exists() and not anew:
        return ""
    # A profile is not tied to a kernel.
    for other in () if anew else (kernel, *asked.KERNELS):
        phase = TRAINED / other / program / "four/profile.pgp"
        if phase.exists():
            shutil.copy(phase, trained)
            (out / "trained-on").write_text(other)
            return ""
    trouble = vm.run_script(kernel, out, TRAIN_SECONDS, [], HERE / "guest/evaluate.py", program,
                            "/out", "four")
    if (out / "four/profile.pgp").exists() and not trouble:
        shutil.copy(out / "four/profile.pgp", trained)
        (out / "trained-on").write_text(kernel)
    elif not trouble:
        error = json.loads((out / "phases.json").read_text())["phases"]["four"].get("error")
        trouble = f"training: {error}"
    return trouble


def derive(out):
    """Profiles of each budget and rule from the one that was trained."""
    for name, options in guards_score.PROFILES.items():
        path = out / f"{name}.pgp"
        shutil.copy(out / "trained.pgp", path)
        subprocess.run([str(TOP / "pg-collect"), "learn", "-o", str(path), *options], check=True,
                       timeout=300, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def record(program, kernel, out, arguments):
    trouble = train(program, kernel, out, arguments.train)
    if trouble:
        return trouble
    derive(out)
    (out / "recorded-at").write_text(vm.commit())
    for old in [*out.glob("*.pgt"), *out.glob("alarms-*.json"), out / "done.json"]:
        old.unlink(missing_ok=True)
    (out / "plan.json").write_text(json.dumps({
        "record": guards_score.RECORDED, "record_seconds": arguments.seconds,
        "alarms": guards_score.ALARMED, "alarm_seconds": ALARM_SECONDS}))
    return vm.run_script(kernel, out, GUARD_SECONDS, [], HERE / "guest/guards.py", program, "/out")


def evaluate(program, kernel, arguments):
    """The result of one program on one kernel, as a dictionary."""
    started = time.monotonic()
    out = BUILD / kernel / program
    out.mkdir(parents=True, exist_ok=True)
    trouble = ""
    if not arguments.again:
        vm.say(f"eval-guards: {program}, Linux {kernel}")
        trouble = record(program, kernel, out, arguments)
    result = guards_score.judge(program, kernel, out, trouble)
    result["seconds"] = round(time.monotonic() - started, 1)
    (BUILD / kernel / f"{program}.json").write_text(json.dumps(result, indent=1) + "\n")
    return result


def results_there():
    """{(kernel, program): result} of this and earlier runs."""
    results = {}
    for kernel in asked.KERNELS:
        for program in asked.PROGRAMS:
            path = BUILD / kernel / f"{program}.json"
            if path.exists():
                results[kernel, program] = json.loads(path.read_text())
    return results


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", action="append", choices=asked.PROGRAMS)
    parser.add_argument("--kernel", action="append", choices=asked.KERNELS)
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--seconds", type=float, default=RECORD_SECONDS)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--report", action="store_true")
    arguments = parser.parse_args()
    results = results_there() if arguments.report else {}
    for program in [] if arguments.report else arguments.program or asked.PROGRAMS:
        for kernel in arguments.kernel or asked.KERNELS:
            results[kernel, program] = evaluate(program, kernel, arguments)
    print(report.text(results, asked.KERNELS))
    BUILD.mkdir(parents=True, exist_ok=True)
    (BUILD / "results.json").write_text(json.dumps(list(results_there().values()), indent=1))
    PAGE.write_text(guards_page.page(results_there(), asked.KERNELS))
    counts = report.tally(results)
    return 1 if counts["missed"] or counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
