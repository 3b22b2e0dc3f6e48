#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Whether a late request is named by its cause, in the VM.

usage: causes.py [--program CAUSE-SERVER] [--kernel KERNEL] [--again | --packages]

Without options: all causes and servers on 6.12.  --again judges what an earlier run recorded, without
a VM; --packages prints the packages to install.  The table goes to the standard output and to
tests/eval/results/causes.md.

Exit: 0 all requirements were met, 1 not so, 2 usage
"""

import collections
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE / "guest"), str(TOP / "tests/vm/guest")]

import injected  # noqa: E402
import measured  # noqa: E402
import vm  # noqa: E402

PAGE = HERE / "results/causes.md"
FILE = "causes.json"
SECONDS = 1800
PARTS = [f"{cause}-{name}" for cause in injected.CAUSES for name in injected.names(cause)]
TITLES = {"upstream": "slow upstream", "pool": "slow hand-over (a full pool)",
          "queue": "slow queue (a neighbour's long unit)", "client": "slow client",
          "disk": "slow disk", "lock": "lock"}
# Calls that sleep for a disk, or for a lock, whoever has it.
DISK = ("fsync", "fdatasync", "sync_file_range", "msync", "read", "pread64", "preadv", "preadv2",
        "write", "pwrite64", "pwritev", "pwritev2")
LOCK = ("futex", "flock", "fcntl", "semop", "semtimedop")

HOW = f"""\
Each cause is injected 20 times in three servers that an audit watches with `--slower-than 100ms`, of
which one request of one client is late by some {injected.LATE * 1000:.0f} ms
(`tests/eval/guest/injected/`).  The guest's clock counts instructions (`scripts/vm --icount`).

A request is named by the last that is reported of it: its `cause`, which is its largest part. Where
that is its own units, it is what the late unit, by its number or its thread, is reported for: *disk*
if half of its time is block I/O, or it was seen blocked in a call that writes or reads a file; *lock*
if it was seen blocked in one that waits for a lock (futex, flock); *computing*, or *blocked*
elsewhere. PostgreSQL's row locks are none of the kernel's: who waits for one waits for the signal of
the process that has it, which is to be named. A client that reads slowly is named if the request is not reported, as its time is none of
the server's.

* **named**: of 20, as what it is. **not reported**, and **named otherwise**: as what.
* **first**: as what it was named while it lasted, by the first report of it.
* Asked is 20 of 20.
"""


def units_of(request, units):
    """Reports of the unit that the request waited for: by its number, or its thread's."""
    numbered = [one for one in units if (one["tid"], one["unit"]) ==
                (request["unit_tid"], request["unit"])]
    return numbered or [one for one in units if one["tid"] == request["tid"]] or units


def in_units(units):
    """What the largest part of late units is."""
    for one in sorted(units, key=lambda unit: -unit["elapsed_ns"]):
        times = one["time_ns"]
        if not times:
            continue
        if (times["block_io"] or 0) >= one["elapsed_ns"] / 2:
            return "disk"
        calls = {stack.get("syscall") for unit in units for stack in unit["stacks"]
                 if "tid" not in stack}
        if times["blocked"] >= one["elapsed_ns"] / 2:
            return ("disk" if calls & set(DISK) else "lock" if calls & set(LOCK) else
                    f"blocked in {', '.join(map(str, calls))}")
        return "computing"
    return "in its own units"


def name_of(report, injection):
    if report["cause"] != "in its own units":
        return report["cause"]
    numbered = [one for one in injection["requests"] if one["unit"]]
    return in_units(units_of(numbered[0] if numbered else report, injection["units"]))


def names_of(injection):
    """By the last report, by the first one."""
    requests = injection["requests"]
    if not requests:
        return "not reported", "not reported"
    return name_of(requests[-1], injection), name_of(requests[0], injection)


def judge(found):
    """(row of the table, whether it is as asked)"""
    cause, _, server = found["program"].partition("-")
    wanted = set(found["named"]) | ({"not reported"} if cause == "client" else set())
    last, first = zip(*map(names_of, found["injections"]))
    good = sum(name in wanted for name in last)
    other = collections.Counter(name for name in last if name not in wanted)
    took = sorted(one["took_ns"] for one in found["injections"])
    texts = [", ".join(f"{name} {number}" for name, number in counts.most_common()) or "-"
             for counts in (other, collections.Counter(first))]
    return [TITLES[cause], server, f"{took[len(took) // 2] / 1e6:.0f} ms",
            " or ".join(sorted(wanted)), f"{good} of {len(last)}", *texts], good == len(last) >= 20


def packages():
    servers = [injected.load(*part.split("-")).server for part in PARTS]
    return sorted({package for server in servers for package in server.packages} |
                  {"dmsetup", "e2fsprogs"})


def measure(part, kernel):
    """As measured.measure(), whose programs these are not."""
    out = measured.BUILD / kernel / f"cause-{part}"
    out.mkdir(parents=True, exist_ok=True)
    path = out / FILE
    path.unlink(missing_ok=True)
    cause, name = part.split("-")
    injected.load(cause, name).server.install()
    commit = vm.commit("kmod", "user", "include")
    vm.say(f"{cause} in {name}, Linux {kernel}")
    trouble = vm.run_script(kernel, out, SECONDS, ["-m", "2048", "--icount"],
                            HERE / "guest/causes.py", cause, name, "/out")
    if trouble:
        vm.say(f"{part}: {trouble}")
        return
    found = json.loads(path.read_text()) | {"program": part, "commit": commit}
    path.write_text(json.dumps(found))


def main():
    if sys.argv[1:] == ["--packages"]:
        print(*packages(), sep="\n")
        return 0
    arguments = measured.arguments(PARTS)
    for part in [] if arguments.again else arguments.program or PARTS:
        measure(part, arguments.kernel)
    results = measured.founds([f"cause-{part}" for part in PARTS], arguments.kernel, FILE)
    judged = [judge(found) for found in results]
    text = measured.table(["cause", "server", "took", "is to be", "named", "named otherwise",
                           "first"], [row for row, _ in judged])
    print(text)
    measured.page(PAGE, "Late requests, and what they are late by",
                  f"Linux {arguments.kernel}, by `make eval-causes`", results, f"{HOW}\n{text}")
    return 0 if len(judged) == len(PARTS) and all(good for _, good in judged) else 1


if __name__ == "__main__":
    sys.exit(main())
