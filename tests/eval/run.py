#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Try training on real servers in the VM, and tell what was asked and what was got.

usage: run.py [--program NAME] [--kernel KERNEL] [--phase PHASE]
              [--again | --report]

Without options: all programs on both kernels.  --again judges what an earlier run recorded,
without a VM; --report only tells the results that are there.  The table goes to the standard
output, results to build/eval/KERNEL/PROGRAM.json, and the page
tests/eval/results/training.md is written from all results that are there.

Exit: 0 all that is asked was met, 1 not so, 2 usage
"""

import argparse
import json
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path.insert(0, str(HERE / "guest"))

import asked  # noqa: E402
import report  # noqa: E402
import score  # noqa: E402
import selftest  # noqa: E402
import vm  # noqa: E402

BUILD = TOP / "build/eval"
PAGE = TOP / "tests/eval/results/training.md"
# Seconds for everything, and for one VM.
ALL_SECONDS = 40 * 60
VM_SECONDS = 540


def record(program, kernel, phases, seconds):
    """Run the guest's part; returns what went wrong, or ''."""
    out = BUILD / kernel / program
    out.mkdir(parents=True, exist_ok=True)
    if not phases:
        (out / "phases.json").unlink(missing_ok=True)
    return vm.run_script(kernel, out, seconds, [], HERE / "guest/evaluate.py", program, "/out",
                         *phases)


def evaluate(program, kernel, arguments, end):
    """The result of one program on one kernel, as a dictionary."""
    started = time.monotonic()
    trouble = ""
    if not arguments.again:
        seconds = int(min(VM_SECONDS, end - started))
        vm.say(f"eval-training: {program}, Linux {kernel}")
        if seconds < 60:
            trouble = "no time was left"
        else:
            trouble = record(program, kernel, arguments.phase, seconds)
    result = score.judge(program, kernel, BUILD / kernel / program, trouble)
    result["seconds"] = round(time.monotonic() - started, 1)
    (BUILD / kernel).mkdir(parents=True, exist_ok=True)
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
    parser.add_argument("--phase", action="append", default=[])
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--report", action="store_true")
    arguments = parser.parse_args()
    selftest.run()
    end = time.monotonic() + ALL_SECONDS
    results = results_there() if arguments.report else {}
    for program in [] if arguments.report else arguments.program or asked.PROGRAMS:
        for kernel in arguments.kernel or asked.KERNELS:
            results[kernel, program] = evaluate(program, kernel, arguments, end)
    print(report.text(results, asked.KERNELS))
    (BUILD / "results.json").write_text(json.dumps(list(results_there().values()), indent=1))
    PAGE.write_text(report.page(results_there(), asked.KERNELS, score.HOW))
    counts = report.tally(results)
    return 1 if counts["missed"] or counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
