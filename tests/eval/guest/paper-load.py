# SPDX-License-Identifier: GPL-2.0
"""In the guest, where instructions are counted: the CPU time that guards add to a server.

usage: paper-load.py PROGRAM OUT DATA

OUT/plan.json has the plan: profiles, the names of profiles OUT/NAME.pgp, each armed once in
each of so many rounds; held, those of them that are to shed guards that exceed their budget, each
measured after some seconds of load, in which the module decides; concurrency, how many clients or
threads, each tried with each profile, and with nothing armed before and after; requests, in each of
these loads, and held_times as many of a held profile, whose guards the module tries again from time
to time.
OUT/memory.json has the bytes of the module, and of each profile in it; OUT/text.json the addresses
of the module's code.

A line of OUT/load.jsonl is one load: the armed profile ("" for none), the clients, the CPU time
of the server's threads that serve, which is their instructions, the requests, and what the module
counted meanwhile; of a held profile also what it took by the module's own account.  Around each
load with a profile the plugin guest-count is switched on.
"""

import json
import pathlib
import re
import sys
import time

import paper_server
from paper_loads import LOADS, run

TOP = pathlib.Path(__file__).resolve().parents[3]
COLLECT = str(TOP / "pg-collect")
COUNT = str(TOP / "build/tests/eval/count-guards")
MARK = str(TOP / "build/tests/eval/guest-mark")
SETTLE_SECONDS = 0.3
# The cost of guards is checked each second; a shed guard is tried again after 10.
HELD_SECONDS = 8
HELD_CLIENTS = 4
TRIES = 5


def status_rows():
    return [json.loads(line) for line in run(COLLECT, "status", "--json").splitlines()]


def counted(pid):
    """The module's counters: the sums of the armed profile's."""
    sums = {"units": 0, "hits": 0, "stray_hits": 0, "unknown_hits": 0, "guards": 0, "shed": 0}
    for line in run(COUNT, pid).splitlines():
        row = json.loads(line)
        for name in sums:
            if row["kind"] == "profile" and name in row or row["kind"] == "guard" and \
                    name == "hits":
                sums[name] += row[name]
    rows = status_rows()
    sums["late"] = sum(row["late"] for row in rows if row["kind"] == "target")
    # Without a budget it keeps no account.
    cost = next((row["cost_ns"] for row in rows if row.get("cost_ns")), None)
    if cost:
        sums["reporting_ns"] = cost["telling"]
        sums["own_ns"] = cost["guards"] + cost["boundaries"] + sums["reporting_ns"]
    return sums


def module_bytes():
    """The module's own code and data."""
    loaded = pathlib.Path("/proc/modules").read_text()
    return int(re.search(r"^perfguard (\d+) ", loaded, re.MULTILINE)[1])


def module_text():
    """Where the module's code is: the first address and the last one of a function."""
    symbols = map(str.split, pathlib.Path("/proc/kallsyms").read_text().splitlines())
    functions = [int(fields[0], 16) for fields in symbols
                 if fields[1] in "tT" and fields[3:] == ["[perfguard]"]]
    return {"first": min(functions), "last": max(functions)}


def memory_of_profile():
    """Bytes that the armed profile takes in the module."""
    return next(row["bytes"] for row in status_rows() if row["kind"] == "profile")


def try_load(program, name, clients, requests, cpu_time, is_counted=False):
    """One load: (requests, the server's CPU time in it, the counters before).

    Time leaps ahead when the guest waits for the host, and a client may think that it waited
    for too long; then once more.
    """
    for left in range(TRIES - 1, -1, -1):
        before = counted(program.pid) if is_counted else {}
        cpu = cpu_time.ns()
        try:
            if is_counted:
                run(MARK, "begin")
            done = LOADS[name](program, clients, requests)
        except SystemExit:
            if not left:
                raise
            continue
        cpu = cpu_time.ns() - cpu
        if is_counted:
            run(MARK, "end")
        return done, cpu, before
    return 0, 0, {}


def settle(program, name, requests):
    """Under load, until the module has decided which guards fit in the budget."""
    cpu_time = paper_server.CPU_TIMES[name](program, HELD_CLIENTS)
    end = time.monotonic() + HELD_SECONDS
    while time.monotonic() < end:
        try_load(program, name, HELD_CLIENTS, requests, cpu_time)


def sweep(program, name, armed, plan, output):
    wanted = plan["requests"] * (plan["held_times"] if armed in plan["held"] else 1)
    for clients in plan["concurrency"]:
        cpu_time = paper_server.CPU_TIMES[name](program, max(plan["concurrency"]))
        requests, cpu, before = try_load(program, name, clients, wanted, cpu_time, bool(armed))
        row = {"armed": armed, "clients": clients, "requests": requests, "cpu_ns": cpu}
        if armed:
            after = counted(program.pid)
            row["guards"], row["shed"] = after["guards"], after["shed"]
            row.update({key: after[key] - before[key]
                        for key in ("units", "hits", "stray_hits", "unknown_hits", "late",
                                    "own_ns", "reporting_ns") if key in after})
        output.write(json.dumps(row) + "\n")
        output.flush()


def main():
    name, out, data = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    plan = json.loads((out / "plan.json").read_text())
    program = paper_server.start(name, data)
    memory = {"module": module_bytes()}
    (out / "text.json").write_text(json.dumps(module_text()) + "\n")
    LOADS[name](program, max(plan["concurrency"]), 2 * plan["requests"])
    with open(out / "load.jsonl", "w", encoding="utf-8") as output:
        for number in range(plan["rounds"]):
            sweep(program, name, "", plan, output)
            for profile in plan["profiles"][::-1 if number % 2 else 1]:
                begin = time.monotonic()
                try:
                    run(COLLECT, "arm", "--budget", plan["held"].get(profile, "none"),
                        out / f"{profile}.pgp")
                except SystemExit as error:
                    print(f"{profile}: {error}", file=sys.stderr, flush=True)
                    continue
                time.sleep(SETTLE_SECONDS)
                print(f"{profile}: armed in {time.monotonic() - begin:.1f} s", flush=True)
                memory[profile] = memory_of_profile()
                (out / "memory.json").write_text(json.dumps(memory) + "\n")
                if profile in plan["held"]:
                    settle(program, name, plan["requests"])
                sweep(program, name, profile, plan, output)
                run(COLLECT, "disarm", "--all")
                time.sleep(SETTLE_SECONDS)
                sweep(program, name, "", plan, output)
    program.stop()


main()
