#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Whether the threads that serve requests are the ones that the module says, in the VM.

usage: handovers.py [--program NAME] [--kernel KERNEL] [--again]

Without options: all programs on 6.12.  --again judges what an earlier run recorded, without a VM.
The table goes to the standard output and to tests/eval/results/handovers.md.

Exit: 0 all requirements were met, 1 not so, 2 usage
"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE / "guest"), str(TOP / "tests/vm/guest")]

import measured  # noqa: E402
import programs  # noqa: E402
import vm  # noqa: E402

PAGE = HERE / "results/handovers.md"
FILE = "handovers.json"
PROGRAMS = ("apache", "subject:mariadb_pool", "memcached", "pool",
            "gthreadpool", "gtask")
POOLS = ("pool", "gthreadpool", "gtask")
HOW_TO = {"apache": "a listener accepts, and gives connections to workers",
          "subject:mariadb_pool": "threads of a pool take turns to wait, and wake each other",
          "memcached": "a dispatcher accepts, and gives each connection to a worker",
          "pool": "a loop reads, and gives the request to a pool (`tests/vm/service.c`)",
          "gthreadpool": "GLib's main loop pushes to a GThreadPool (`tests/eval/glib-pool.c`)",
          "gtask": "the same by GTasks that run in threads, and end in the main loop"}
SECONDS = 1800
ENOUGH = 0.99

HOW = f"""\
Four clients ask 2,000 requests and pause 4 ms between them, while the server is audited.  The guest's
clock counts instructions (`scripts/vm --icount`).  What the module records (events `request-read` and
`request-taken` of the training stream) is compared with the truth. Of the servers that is the kernel's
own trace (raw_syscalls) of which thread read from the client's connection between its request and
its answer. That of pools is what their answers say: which thread gave the work, and which had it.

* **seen**: of these the module said which thread serves it; of pools, by whom it was woken, too. A
  thread that finds work while it is awake is not seen to take it.
* **right**: of those that were seen, the thread is the true one; of pools, both are.
* Asked is that {ENOUGH:.0%} are right.
"""


def is_right(one, is_pool):
    if is_pool:
        return one["module"] == [one["truth"]]
    return len(one["module"]) == 1 and one["truth"] == [one["module"][0][0]]


def judge(found):
    """(row of the table, whether it is as asked)"""
    asked = found["requests"]
    seen = [one for one in asked if one["module"]]
    right = sum(is_right(one, found["is_pool"]) for one in seen)
    good = bool(seen) and right >= ENOUGH * len(seen)
    return [found["program"].split(":")[-1], HOW_TO[found["program"]], f"{len(asked):,}",
            f"{len(seen):,}", f"{100 * right / max(len(seen), 1):.2f} %",
            "yes" if good else "no"], good


def measure(program, kernel):
    out = measured.BUILD / kernel / program
    out.mkdir(parents=True, exist_ok=True)
    path = out / FILE
    path.unlink(missing_ok=True)
    if program not in POOLS:
        programs.load(program).install()
    commit = vm.commit("kmod", "user", "include")
    vm.say(f"{program}, Linux {kernel}")
    trouble = vm.run_script(kernel, out, SECONDS, ["-m", "2048", "--icount"],
                            HERE / "guest/handovers.py", program, "/out")
    if trouble:
        vm.say(f"{program}: {trouble}")
        return
    path.write_text(json.dumps(json.loads(path.read_text()) |
                               {"program": program, "commit": commit}))


def main():
    arguments = measured.arguments(PROGRAMS)
    for program in [] if arguments.again else arguments.program or PROGRAMS:
        measure(program, arguments.kernel)
    results = measured.founds(PROGRAMS, arguments.kernel, FILE)
    judged = [judge(found) for found in results]
    text = measured.table(["server", "how it hands over", "asked", "seen", "right", "as asked"],
                          [row for row, _ in judged])
    print(text)
    measured.page(PAGE, "Which threads serve requests",
                  f"Linux {arguments.kernel}, by `make eval-handovers`", results, f"{HOW}\n{text}")
    return 0 if len(judged) == len(PROGRAMS) and all(good for _, good in judged) else 1


if __name__ == "__main__":
    sys.exit(main())
