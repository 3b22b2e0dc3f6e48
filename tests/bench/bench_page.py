# SPDX-License-Identifier: GPL-2.0
"""What bench.py measured as tables, and as the last part of a page of the documentation."""

import textwrap

import paper_page

KINDS = ["none", "push", "mov"]
OURS = "perfguard-account"
# What a user would take for the job; perf stat does a part of it, and is told only.
PEERS = ["bpftrace-fentry", "bpftrace-kprobe", "bpftrace-tracepoint", "systemtap", "perf-record"]
TOOLS = {
    "bare": "empty uprobes, and an empty return probe of the call",
    "perfguard": "perfguard without the time account",
    OURS: "**perfguard** as it is armed",
    "bpftrace-fentry": "bpftrace, the call by fentry and fexit",
    "bpftrace-kprobe": "bpftrace, by kprobe and kretprobe",
    "bpftrace-tracepoint": "bpftrace, by tracepoints",
    "systemtap": "SystemTap, by kprobe and kretprobe",
    "perf-record": "perf record, by tracepoints, with perf script afterwards",
    "perf-stat": "perf stat: counts only, no times",
}
FEWER, FEWER_BY_CLOCK = 1.5, 5
MOST_OVER_BARE = 150
WALKS = {
    "inference": "a hit of a guard: context and type",
    "pointers": "perf's sample at a probe, stack by frame pointers",
    "copy": "perf's sample at a probe, with 8 KiB of the stack",
    "backtrace": "backtrace() in the program",
    "unwind": "pg-collect's walk of a copied stack, with names",
}
FRAMES = [5, 10, 24, 50, 100]
LESS_THAN_WALK = 64
HOOKS = [
    ("the loop's wait, audit", "target-epoll_wait", "bare-epoll_wait"),
    ("the same with the time account", "account-epoll_wait", "bare-epoll_wait"),
    ("the loop's wait, guarded: with inference and judgement", "unit", None),
    ("the same with the time account", "unit-with-account", None),
    ("the same of a unit that met a page fault", "guarded-fault", None),
    ("the same and a read that begins the unit's event", "guarded-event", None),
    ("the same, where the read begins none, but could", "guarded-other", None),
    ("the first and another event, which is a unit of its own", "guarded-queue", None),
    ("a wait in mid-unit, here read", "target-read", "bare-read"),
    ("the loop's wait of a bystander", "bystander-epoll_wait", "bare-epoll_wait"),
    ("any other system call, here getppid", "target-getppid", "bare-getppid"),
    ("the loop's wait after disarming", "after-epoll_wait", "bare-epoll_wait"),
]
ALERTS = [("the hit that finds the unit late: record, stack, alert", "late-found"),
          ("a hit after that", "late-after"), ("the late unit's end: the second alert", "late-end")]
STACK_KIB = [1, 8, 40]
NUMBERS = [10, 1000, 10000]
MOST_KIB, THREAD_BYTES, TYPE_BYTES = 1024, 512, 8
STACKS_A_SECOND = 5000
SCALE = {"threads": [1, 100, 1000, 10000], "guards": [10, 100, 1000], "types": [10, 100, 1000],
         "targets": [1, 4, 16]}
FLAT = 1.1


def number(value):
    return f"{value:,.0f}"


def verdict(met):
    return "met" if met else "**missed**"


def section(title, text, head, rows):
    return {"title": title, "text": text, "head": head, "rows": rows, "level": 3}


def added(result, field):
    """{(kind, tool): what a unit takes more than without a tool}"""
    took = {(row["kind"], row["tool"]): row[field] for row in result["rows"] if field in row}
    return {key: value - took[key[0], "none"] for key, value in took.items()}


def times(costs, kind, tool):
    if (kind, tool) not in costs or (kind, OURS) not in costs or tool in ("perfguard", OURS):
        return "-"
    return f"{costs[kind, tool] / costs[kind, OURS]:.2f}"


def best(costs, kind):
    """The best peer, and how many times as much it takes."""
    cost, tool = min((costs[kind, tool], tool) for tool in PEERS if (kind, tool) in costs)
    return tool, cost / costs[kind, OURS]


def peers(kernel, result, wall):
    costs = added(result, "mean")
    clock = added(wall, "least") if wall else {}
    rows = []
    for tool, name in TOOLS.items():
        if ("push", tool) in costs:
            rows.append([name, *(number(costs[kind, tool]) for kind in KINDS),
                         times(costs, "push", tool), times(costs, "mov", tool),
                         times(clock, "mov", tool)])
    for row in result["rows"]:
        if row["kind"] == "none" and "trouble" in row:
            rows.append([f"{TOOLS[row['tool']]}: cannot, see below", *["-"] * 6])
    text = ["Instructions that a unit takes more than without any tool: its two ends, and four hits "
            "of guards, each in a place of its own. The job is to count the hits of each guard, and "
            "to time the units of each thread; each tool's counts were compared with what was run. "
            "Ours also infers the type of the unit, judges its time and splits it up. On *carried "
            "out* sites (push) the kernel emulates the instruction, on *stepped* ones (mov) it "
            "single-steps it. *Times* is how many times as much as ours a tool takes; by the clock, "
            "it is that of QEMU without counting, the least of many rounds; it varies by what else "
            "the machine does. SystemTap needs help to compile at all: `tests/bench/stap-build` "
            "tells."]
    text += [f"{TOOLS[row['tool']]}: {row['trouble']}." for row in result["rows"]
             if row["kind"] == "none" and "trouble" in row]
    for kind, what, least, some in (("push", "Carried out", FEWER, costs),
                                    ("mov", "Stepped", FEWER, costs),
                                    ("mov", "Stepped, by the clock", FEWER_BY_CLOCK, clock)):
        if some:
            tool, ratio = best(some, kind)
            text.append(f"* {what}: the best peer, {tool}, takes {ratio:.2f} times as much; asked "
                        f"for are {least} times: {verdict(ratio >= least)}")
    return section(f"A unit with four guards, Linux {kernel}", text,
                   ["", "no guards", "carried out", "stepped", "times", "times", "by the clock"],
                   rows)


def hits(kernel, figures):
    rows = []
    for name, again in figures.items():
        if name.startswith("again-"):
            site = name.removeprefix("again-")
            over = [value - figures["bare-uprobe"] for value in (again, figures[f"first-{site}"])]
            rows.append([site, number(again), f"+{number(over[0])}", f"+{number(over[1])}",
                         number(figures[f"stepped-{site}"]),
                         verdict(over[1] <= MOST_OVER_BARE)])
    text = [f"An empty uprobe on a nop takes {number(figures['bare-uprobe'])}. A context has 2 "
            "candidates among 100 types. Asked for are no more than "
            f"{MOST_OVER_BARE} on top of it, for the first hit of a context in a unit, too."]
    return section(f"A hit of a guard by the instruction under it, Linux {kernel}", text,
                   ["", "again", "over bare", "first, over bare", "single-stepped", ""], rows)


def hooks(kernel, figures):
    rows = []
    for what, name, base in HOOKS:
        # A result of before it was measured.
        if name not in figures:
            continue
        value = figures[name] - figures[base] if base else figures[name]
        rows.append([what, number(figures[base]) if base else "", f"+{number(value)}"])
    rows += [[what, "", f"+{number(figures[name])}"] for what, name in ALERTS]
    return section(f"Boundaries, bystanders and alerts, Linux {kernel}",
                   ["Entry and return of a call together; of the alerts, while nobody listens."],
                   ["", "bare", "added"], rows)


def stacks(kernel, figures):
    rows = [[number(kib), *(number(figures[f"stack-{which}-{kib}"]) for which in ("found", "again"))]
            for kib in STACK_KIB]
    return section(f"Late units by the depth of their stack, Linux {kernel}",
                   ["The hit that finds a unit late, and each stack that is taken while it stays "
                    "late, with the watch that asks for it and the further alerts; in a program "
                    "with few mappings, while somebody listens to alerts."],
                   ["KiB of stack", "found", "each stack after that"], rows)


def walks(kernel, figures):
    rows = [[name, *(number(figures[f"{walk}-{n}"]) for n in FRAMES)]
            for walk, name in WALKS.items()]
    ours = figures["inference-24"]
    text = ["By the number of frames; of the walks the last two are without the probe that would "
            "start them."]
    for walk, more in (("backtrace", figures["bare-probe"]), ("unwind", figures["copy-24"])):
        ratio = (figures[f"{walk}-24"] + more) / ours
        text.append(f"* {WALKS[walk]}, with its probe, at 24 frames: {ratio:.1f} times a hit; asked "
                    f"for are {LESS_THAN_WALK}: {verdict(ratio >= LESS_THAN_WALK)}")
    spread = max(figures[f"inference-{n}"] for n in FRAMES) - min(
        figures[f"inference-{n}"] for n in FRAMES)
    text.append(f"* Between 5 and 100 frames a hit differs by {number(spread)} instructions: "
                f"{verdict(spread <= 1)}")
    return section(f"Inference beside a walk of the stack, Linux {kernel}", text,
                   ["", *map(str, FRAMES)], rows)


def arming(kernel, figures):
    columns = ["load", "arm", "disarm", "bare-on", "bare-off"]
    rows = [[number(n), *(f"{figures[f'{name}-{n}'] / 1000:,.1f}" for name in columns)]
            for n in NUMBERS]
    text = ["Milliseconds of the guest's time, a nanosecond being an instruction, with what is "
            "waited for; *empty* is a module that puts as many empty uprobes on and off."]
    return section(f"Arming and disarming, Linux {kernel}", text,
                   ["guards", "load", "arm", "disarm", "empty, on", "empty, off"], rows)


def memory(kernel, figures):
    few, many = 15, 115
    a_type = (figures["thread-bytes-many"] - figures["thread-bytes-again"]) / (many - few)
    thread = figures["thread-bytes-first"]
    most = THREAD_BYTES + few * TYPE_BYTES
    total = figures["module-bytes"] / 1024 + figures["profile-first"] + figures["threads-first"]
    rows = [["the module", number(figures["module-bytes"] / 1024), ""],
            [f"a profile of 200 guards and {few} types", number(figures["profile-first"]), ""],
            [f"a thousand threads, {few} types", number(figures["threads-first"]), ""],
            ["all of it", number(total), verdict(total < MOST_KIB)],
            ["one of the threads, bytes", number(thread), verdict(thread <= most)],
            ["what a type adds to it, bytes", f"{a_type:.1f}", ""]]
    text = ["KiB of slabs, vmalloc and per-CPU memory by /proc/meminfo, pages that are in part free "
            "included, before and after each thread was in a unit; with what the kernel keeps of "
            "a probe and of a thread for uprobes. Asked for are less than "
            f"{number(MOST_KIB)} KiB in all, and for a thread {THREAD_BYTES} bytes and {TYPE_BYTES} "
            "for each type at most."]
    return section(f"Memory, Linux {kernel}", text, ["", "KiB", ""], rows)


def naming(kernel, figures):
    rows = [[str(n), number(figures[f"stacks-{n}"])] for n in (10, 24, 50)]
    met = verdict(figures["stacks-24"] >= STACKS_A_SECOND)
    text = ["Stacks that pg-collect unwinds and names in a second of 10^9 instructions, by their "
            f"frames. Asked for are {number(STACKS_A_SECOND)} on one core: {met}."]
    return section(f"Unwinding and naming, Linux {kernel}", text, ["frames", "a second"], rows)


def scale(kernel, figures):
    columns = ["unit", "first", "again"]
    text = ["Instructions that guarding adds, with the time account: to the two ends of a unit with "
            "nothing in it, to a guard's first hit in its context in a unit, and to one after that; "
            "the hits are with the kernel's breakpoint, which it finds in a tree of all there are. "
            "One number is varied at a time, of 1 thread, 10 guards, 10 types and 1 target; a context "
            "has 2 candidates. All threads are in a unit, and the mean is told of up to 16 of them, "
            "and of 10 guards. Flat is what differs by no more than "
            f"{100 * (FLAT - 1):.0f} %, the largest figure of a column from the smallest."]
    rows = []
    for axis, numbers in SCALE.items():
        values = {column: [figures[f"scale-{axis}-{n}-{column}"] for n in numbers]
                  for column in columns}
        rows += [[axis, number(n), *(number(values[column][i]) for column in columns)]
                 for i, n in enumerate(numbers)]
        most = max(max(those) / min(those) for those in values.values())
        text.append(f"* By {axis} they differ by {100 * (most - 1):.1f} % at most: "
                    f"{verdict(most <= FLAT)}")
    return section(f"Scale, Linux {kernel}", text, ["of", "number", *columns], rows)


def sections(results):
    """All that is there, of the newest kernel first."""
    out = []
    for _, parts in sorted(results.items(), key=lambda item: -float(item[0].split(".")[1])):
        if "peers" in parts:
            out.append(peers(parts["peers"]["kernel"], parts["peers"], parts.get("wall")))
        if "figures" in parts:
            kernel, figures = parts["figures"]["kernel"], parts["figures"]["figures"]
            out += [make(kernel, figures)
                    for make in (hits, hooks, stacks, walks, arming, memory, naming)]
            # A result may be older than this.
            if "scale-threads-1-unit" in figures:
                out.append(scale(kernel, figures))
    return out


def text(made):
    return paper_page.text(made)


def taken(results):
    for kernel in sorted(results):
        for part, result in sorted(results[kernel].items()):
            tools = ", ".join(f"{name} {version}" for name, version in
                              result.get("versions", {}).items())
            yield (f"* {part}: Linux {result['kernel']}, {result['date']}, at {result['commit']}"
                   + (f"; {tools}" if tools else ""))


def write(path, made, results):
    out = ["# Beside other tools", "", "Written by `make bench`; not to be edited.", "", *taken(results)]
    for one in made:
        out += ["", "#" * (one["level"] - 1) + " " + one["title"], ""]
        for paragraph in one["text"]:
            is_point = paragraph.startswith("* ")
            if is_point and out[-2].startswith(("* ", "  ")):
                out.pop()
            out += [textwrap.fill(paragraph, 100, break_long_words=False, break_on_hyphens=False,
                                  subsequent_indent="  " if is_point else ""), ""]
        out += paper_page.table(one)
    path.write_text("\n".join(out) + "\n")
