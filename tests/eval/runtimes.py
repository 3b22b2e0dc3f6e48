#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What a unit of a server in CPython, Node.js and Java is, in the VM.

usage: runtimes.py [--kernel KERNEL] [--again]

--again judges what an earlier run recorded, without a VM.  The table goes to the standard output
and to tests/eval/results/runtimes.md.

Exit: 0 all requirements were met, 1 not so, 2 usage
"""

import argparse
import json
import pathlib
import subprocess
import sys

import vm

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE / "guest"), str(vm.TOP / "tests/vm/guest")]

from binomial import interval  # noqa: E402
from measured import share_text, table  # noqa: E402

BUILD = vm.TOP / "build/eval"
PAGE = HERE / "results/runtimes.md"
SECONDS = 3600
RATE = 0.001            # declared
CANNOT = 3              # exit of pg-collect check

HOW = """\
Servers of a few lines each (`tests/eval/guest/runtimes/`) are asked by four clients that pause 20
ms. `pg-collect check` says beforehand whether a program's work is in units of event loops; where it
is, the server is trained on, armed and asked for another minute, with connections that last and then
with one for each request. Asked is one unit a request, within 1 %, of the loop that does most units
(others have timers, or accept connections), and no more false alarms than 0.1 % by the 95 %
interval, or that `check` says that it cannot be done.
"""


def judge_load(load):
    """(units by requests, false alarms, whether both are as asked)"""
    ratio = load["busiest"] / max(load["requests"], 1)
    low, _ = interval(load["late"], load["units"])
    return (f"{ratio:.3f}", share_text(load["late"], load["units"], digits=2),
            abs(ratio - 1) <= 0.01 and low <= RATE)


def judge(one):
    """Rows of the table, and whether all is as asked."""
    name = one["name"]
    if one["check"] == CANNOT:
        return [(name, "it cannot be done", "-", "-", "-")], True
    if "single" not in one:
        return [(name, "it can", "-", f"training failed: {one.get('train', '')}", "no")], False
    rows, met = [], True
    for kind, text in (("lasting", "lasting"), ("single", "one a request")):
        if kind not in one:
            continue
        ratio, alarms, good = judge_load(one[kind])
        rows.append((name, f"it can; connections: {text}", ratio, alarms, "yes" if good else "no"))
        # By one connection for each request it was trained on only if that is all it was.
        met &= good or (kind == "single" and "lasting" in one)
    return rows, met


def build_classes():
    classes = BUILD / "runtimes"
    classes.mkdir(parents=True, exist_ok=True)
    subprocess.run(["javac", "-d", classes, HERE / "guest/runtimes/Server.java"], check=True)
    return classes


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kernel", default="6.12")
    parser.add_argument("--again", action="store_true")
    arguments = parser.parse_args()
    out = BUILD / arguments.kernel / "runtimes"
    path = out / "runtimes.json"
    if not arguments.again:
        out.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        trouble = vm.run_script(arguments.kernel, out, SECONDS, ["-m", "3072"],
                                HERE / "guest/runtimes.py", str(build_classes()), "/out")
        if trouble:
            vm.say(f"runtimes: {trouble}")
            return 1
    judged = [judge(one) for one in json.loads(path.read_text())]
    text = table(["server", "`check` says", "units a request", "false alarms", "as asked"],
                 [row for rows, _ in judged for row in rows])
    print(text)
    PAGE.write_text(f"# Servers in CPython, Node.js and Java\n\nLinux {arguments.kernel}, by "
                    f"`make eval-runtimes`; commit {vm.commit('kmod', 'user', 'include')}.\n\n"
                    f"{HOW}\n{text}")
    return 0 if all(met for _, met in judged) else 1


if __name__ == "__main__":
    sys.exit(main())
