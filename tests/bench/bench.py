#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What guarding costs, beside the kernel's bare mechanisms and what one would otherwise take.

usage: bench.py [--part PART] [--kernel KERNEL] [--report]

Parts are peers (bpftrace, perf and SystemTap doing the same job), wall (the same by the clock, not
by instructions) and figures (each piece of ours by itself); without options all, on both kernels.
--report only writes the page.

Each result replaces its own of an earlier run in tests/eval/results/bench.json. From all of them come
the tables on the standard output and tests/eval/results/bench.md.

Exit: 0 all was measured, 1 not so, 2 usage
"""

import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path[1:1] = [str(TOP / "tests/eval")]

import bench_page  # noqa: E402
import results as store  # noqa: E402
import vm  # noqa: E402

RESULTS = store.FOLDER / "bench.json"
PAGE = RESULTS.with_suffix(".md")
BUILD = TOP / "build"
CACHE = pathlib.Path(os.environ.get("PERFGUARD_CACHE") or pathlib.Path(
    os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "perfguard")
KERNELS = ["6.1", "6.12"]
# A round is a hundred units; by the clock the least of many tells.
ROUNDS = {"peers": 40, "wall": 200}
VM_SECONDS = 900
# Programs that measure themselves, a guest's one after the other; memory while none is left over.
FIGURES = [["tests/bench/memory"], ["tests/vm/cost"], ["tests/vm/hits", "BARE"],
           ["tests/eval/paper-walk"], ["tests/eval/paper-cost", "BARE"],
           ["tests/vm/stacks"], ["tests/bench/arming", "BARE"], ["tests/bench/naming"],
           ["tests/bench/scale"]]


class NoResult(Exception):
    """What was to be measured could not be; the text says why."""


def in_vm(kernel, options, *command):
    """Run a guest's part; returns what it printed."""
    with tempfile.TemporaryDirectory() as out, \
            tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        trouble = vm.run(kernel, out, VM_SECONDS, options, *command, output=output)
        output.seek(0)
        said = output.read()
    if trouble:
        raise NoResult(f"{trouble}: {said[-300:]}")
    return said


def systemtap(kernel):
    """Its modules for a kernel, and what is wrong with it, if there are none."""
    modules = BUILD / kernel / "stap"
    done = subprocess.run([str(HERE / "stap-build"), kernel, str(BUILD / "tests/bench/units"),
                           str(modules)], stderr=subprocess.PIPE, text=True, check=False)
    return modules, done.stderr.strip() if done.returncode else ""


def peers(part, kernel):
    modules, trouble = systemtap(kernel)
    options = ["--icount"] if part == "peers" else ["-c", "1"]
    said = in_vm(kernel, options, "/usr/bin/python3", "-B", HERE / "guest/peers.py",
                 BUILD / "tests/bench/units", BUILD / kernel / "bare/bare.ko", ROUNDS[part],
                 modules)
    rows = [json.loads(line) for line in said.splitlines()]
    for row in rows:
        if row["tool"] == "systemtap" and trouble:
            row["trouble"] = f"it does not compile for this kernel: {trouble}"
    return {"rows": rows, "versions": versions()}


def versions():
    """Debian's versions of what was compared."""
    said = subprocess.run(["dpkg-query", "-W", "-f=${Package} ${Version}\n", "bpftrace",
                           "linux-perf", "systemtap"], capture_output=True, text=True,
                          check=False).stdout
    return dict(line.split(" ", 1) for line in said.splitlines())


def figures(kernel):
    bare = str(BUILD / kernel / "bare/bare.ko")
    commands = [" ".join([str(BUILD / words[0]), *(bare for _ in words[1:])])
                for words in FIGURES]
    said = in_vm(kernel, ["--icount"], "bash", "-ec", "\n".join(commands))
    return {"figures": {name: float(figure) for name, figure in
                        map(str.split, said.splitlines())}}


def measure(part, kernel):
    vm.say(f"bench: {part}, Linux {kernel}")
    result = figures(kernel) if part == "figures" else peers(part, kernel)
    result["kernel"] = (CACHE / "kernels" / kernel / "release").read_text().strip()
    result["commit"] = vm.commit("kmod", "user", "include")
    result["date"] = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    return result


def main():
    parts = ["peers", "wall", "figures"]
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", action="append", choices=parts)
    parser.add_argument("--kernel", action="append", choices=KERNELS)
    parser.add_argument("--report", action="store_true")
    arguments = parser.parse_args()
    good = True
    for kernel in [] if arguments.report else arguments.kernel or KERNELS:
        for part in arguments.part or parts:
            try:
                store.keep(RESULTS, kernel, part, measure(part, kernel))
            except (NoResult, OSError, LookupError, ValueError) as error:
                vm.say(f"bench: {part}, Linux {kernel}: {type(error).__name__}: {error}")
                good = False
    results = store.read(RESULTS, KERNELS)
    sections = bench_page.sections(results)
    print(bench_page.text(sections))
    bench_page.write(PAGE, sections, results)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
