#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The paper's table 5, section 7.3, table 6 and figure 7, measured here.

usage: paper.py [--part PART] [--kernel KERNEL] [--program NAME] [--again | --report]

Parts are table5, contexts and stackwalk (section 7.3), table6 and figure7; without options all of
them, on Linux 6.12.  All is measured in a VM in which instructions are counted; contexts are
counted in what table5, or eval-training, recorded.
Figure 7 takes the profiles that table5, or eval-guards, trained, and trains them with its own load
as well.  --again works out anew what earlier runs left, without a VM; --report only writes the
page.

Each result replaces its own of an earlier run in tests/eval/results/paper.json. From all of
them come the tables on the standard output and tests/eval/results/paper.md with its pictures.
What the guests left, which --again reads, is in build/eval/paper.

Exit: 0 all was measured, 1 not so, 2 usage
"""

import argparse
import datetime
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path.insert(0, str(HERE / "guest"))

import paper_overhead  # noqa: E402
import paper_page  # noqa: E402
import paper_results  # noqa: E402
import paper_selftest  # noqa: E402
import paper_server  # noqa: E402
import results as store  # noqa: E402
import vm  # noqa: E402

BUILD = TOP / "build/eval/paper"
RESULTS = store.FOLDER / "paper.json"
PAGE = RESULTS.with_suffix(".md")
# What is measured; a result tells the last commit that changed it.
MEASURED = ["kmod", "user", "include"]
PARTS = ["table5", "contexts", "stackwalk", "table6", "figure7"]
KERNELS = ["6.1", "6.12"]
DEFAULT_KERNEL = "6.12"
TRAINED = ["apache", "mariadb", "mariadb-client", "redis", "nginx"]
LOADED = ["apache", "mariadb"]
# Of the guest, for the structure (with the coverage before) and for the timing of a training.
TRAIN_SECONDS = {"apache": (8, 4), "mariadb": (8, 4), "mariadb-client": (8, 1), "redis": (8, 2),
                 "nginx": (8, 3)}
# The same for figure 7's loads.
LOAD_SECONDS = (8, 4)
# A load's requests to Apache, and sysbench's transactions.
REQUESTS = {"apache": 500, "mariadb": 40}
CONCURRENCY = [1, 2, 4, 8, 16]
# Such a load is a tenth of a second, a budget is of some seconds.
HELD_TIMES = 24
ROUNDS = 2
# Of the host.
VM_SECONDS = 1500
LEARN_SECONDS = 300


class NoResult(Exception):
    """What was to be measured could not be; the text says why."""


def in_vm(kernel, out, *command, options=()):
    """Run a guest's part where instructions are counted; returns what it printed."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        trouble = vm.run(kernel, out, VM_SECONDS, ["--icount", *options], *command, output=output)
        output.seek(0)
        said = output.read()
    if trouble:
        raise NoResult(f"{trouble}: {said[-300:]}")
    return said


def figures_of(text):
    """{name: figure} of "name figure" lines."""
    return {name: float(figure) for name, figure in map(str.split, text.splitlines())}


def data():
    """MariaDB's files; nothing else needs any."""
    path = BUILD / "mariadb-data"
    if not path.exists():
        BUILD.mkdir(parents=True, exist_ok=True)
        paper_server.make_data(path)
    return path


def learn(path, *options):
    """pg-collect learn; returns what it said."""
    return subprocess.run([str(TOP / "pg-collect"), "learn", "-v", "-o", str(path),
                           *map(str, options)], check=True, timeout=LEARN_SECONDS, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE).stderr


def record(program, kernel, out, seconds, *load):
    """Add to OUT/profile.pgp what the program does under a load."""
    structure, timing = seconds
    profile = out / "profile.pgp"
    guest = ("python3", "-B", HERE / "guest/paper-train.py", program, "/out", data())
    in_vm(kernel, out, *guest, "structure", structure, *load)
    learn(profile, out / "structure.pgt")
    # The budget is known once units were timed, and the guards may be others then.
    for _ in range(2):
        if load or not paper_results.is_timed(profile):
            in_vm(kernel, out, *guest, "timing", timing, *load)
            learn(profile, out / "timing.pgt")
    (out / "timing.pgt").unlink(missing_ok=True)


def train(program, kernel, arguments):
    """As pg-collect train does, but with little time for structure and much for timing."""
    out = BUILD / kernel / program
    if not arguments.again:
        vm.say(f"eval-paper: training of {program}, Linux {kernel}")
        (out / "profile.pgp").unlink(missing_ok=True)
        record(program, kernel, out, TRAIN_SECONDS[program])
    return paper_results.of_training(out)


def identify(program, kernel):
    """The contexts of a recording of table5, or of eval-training; time matters nothing here."""
    for trace in (BUILD / kernel / program / "structure.pgt",
                  BUILD.parent / kernel / program / "one/trace.pgt"):
        if trace.exists():
            with tempfile.TemporaryDirectory() as directory:
                said = learn(pathlib.Path(directory) / "profile.pgp", trace)
            return paper_results.of_contexts(said)
    raise NoResult("there is no recording; PART=table5 or eval-training makes one")


def trained_of(program, kernel):
    """The profile that table5 trained, or eval-guards; one is not tied to a kernel."""
    for other in (kernel, *KERNELS):
        for path in (BUILD / other / program / "profile.pgp",
                     BUILD.parent / "guards" / other / program / "trained.pgp"):
            if path.exists():
                return path
    raise NoResult("there is no profile; PART=table5 trains it")


def train_load(program, kernel):
    """Figure 7's profile: it has seen the labelled mix, and what it will be measured with."""
    out = BUILD / kernel / f"{program}-load"
    out.mkdir(parents=True, exist_ok=True)
    shutil.copy(trained_of(program, kernel), out / "profile.pgp")
    vm.say(f"eval-paper: training of {program} under its load, Linux {kernel}")
    record(program, kernel, out, LOAD_SECONDS, "figure7")
    return out / "profile.pgp"


def load(program, kernel, arguments):
    out = BUILD / kernel / program
    if not arguments.again:
        trained = train_load(program, kernel)
        vm.say(f"eval-paper: load on {program}, Linux {kernel}")
        out.mkdir(parents=True, exist_ok=True)
        for name, options in paper_overhead.PROFILES.items():
            path = out / f"{name}.pgp"
            shutil.copy(trained, path)
            learn(path, *options)
        (out / "plan.json").write_text(json.dumps(
            {"profiles": list(paper_overhead.PROFILES), "held": paper_overhead.HELD,
             "held_times": HELD_TIMES, "concurrency": CONCURRENCY,
             "requests": REQUESTS[program], "rounds": ROUNDS}))
        (out / "load.jsonl").unlink(missing_ok=True)
        plugin = f"{TOP}/build/tests/eval/guest-count.so,out={out}/counted.txt"
        in_vm(kernel, out, "python3", "-B", HERE / "guest/paper-load.py", program, "/out", data(),
              options=["--plugin", plugin])
    return paper_overhead.of_load(out)


def measure(name, kernel, *arguments):
    vm.say(f"eval-paper: {name}, Linux {kernel}")
    return {"figures": figures_of(in_vm(kernel, BUILD / kernel / name,
                                        TOP / f"build/tests/eval/paper-{name}", *arguments))}


def tasks(part, kernel, arguments):
    """[(name of the result, how to get it)] of a part."""
    if part == "table5":
        return [(f"train-{name}", lambda it=name: train(it, kernel, arguments))
                for name in TRAINED if name in (arguments.program or TRAINED)]
    if part == "contexts":
        return [(f"contexts-{name}", lambda it=name: identify(it, kernel))
                for name in TRAINED if name in (arguments.program or TRAINED)]
    if part == "figure7":
        return [(f"load-{name}", lambda it=name: load(it, kernel, arguments))
                for name in LOADED if name in (arguments.program or LOADED)]
    if arguments.again:
        return []
    if part == "stackwalk":
        return [("walk", lambda: measure("walk", kernel))]
    return [("cost", lambda: measure("cost", kernel, TOP / f"build/{kernel}/bare/bare.ko"))]


def run(part, kernel, arguments):
    """Have the results of a part; returns whether they could be had."""
    good = True
    for name, get in tasks(part, kernel, arguments):
        try:
            result = get()
        except (NoResult, OSError, LookupError, ValueError,
                subprocess.SubprocessError) as error:
            vm.say(f"eval-paper: {name}, Linux {kernel}: {type(error).__name__}: {error}")
            good = False
            continue
        old = store.read(RESULTS, KERNELS)[kernel].get(name, {}) if arguments.again else {}
        result["commit"] = old.get("commit", vm.commit(*MEASURED))
        result["date"] = old.get("date", datetime.datetime.now(datetime.timezone.utc)
                                 .strftime("%Y-%m-%d"))
        store.keep(RESULTS, kernel, name, result)
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", action="append", choices=PARTS)
    parser.add_argument("--kernel", action="append", choices=KERNELS)
    parser.add_argument("--program", action="append", choices=TRAINED)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--report", action="store_true")
    arguments = parser.parse_args()
    paper_selftest.run()
    wanted = arguments.part or PARTS
    good = True
    for part in [] if arguments.report else PARTS:
        for kernel in arguments.kernel or [DEFAULT_KERNEL]:
            if part in wanted:
                good = run(part, kernel, arguments) and good
    results = store.read(RESULTS, KERNELS)
    sections = paper_results.sections(results)
    print(paper_page.text(sections))
    paper_page.write(PAGE, sections, results)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
