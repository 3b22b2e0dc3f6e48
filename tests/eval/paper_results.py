# SPDX-License-Identifier: GPL-2.0
"""From what the guests left to figures, and from figures to tables beside the paper's."""

import json
import re
import sqlite3
import statistics

import collect
import paper_known as known
from paper_overhead import TITLES, figure_7
from paper_text import NAMES, count, of_all, percent, time_text

COSTLIEST = 10
# A type that was timed less often has no deviation to speak of.
LEAST_TIMED = 20

SERVERS = ["apache", "mariadb", "redis", "nginx"]

# Table 6: (what, figure of ours, of the paper's rule).  "-" in front: the kernel's own part
# is to be told beside it.
PIECES = [
    ("a unit: its end and the next one's begin", "unit", None),
    ("the same with the time account", "unit-with-account", None),
    ("a hit, 1 candidate", "1-candidate", "paper-1-candidate"),
    ("a hit, 2 candidates", "2-candidates", "paper-2-candidates"),
    ("a hit, 8 candidates", "8-candidates", "paper-8-candidates"),
    ("a hit, 64 candidates", "64-candidates", "paper-64-candidates"),
    ("first hit of its context in a unit, 2 candidates", "2-candidates-first",
     "paper-2-candidates-first"),
    ("the same, 8 candidates", "8-candidates-first", "paper-8-candidates-first"),
    ("the same, 64 candidates", "64-candidates-first", "paper-64-candidates-first"),
    ("the same in an unknown context, with the longer end of a unit that fits no type",
     "unknown-context-first",
     "paper-unknown-context-first"),
    ("the same, before any known one: the unit may be of each of 64 types", "unknown-context",
     "paper-unknown-context"),
    ("a hit outside of units", "outside-a-unit", None),
    ("a hit after the unit is known to be late: no look at the clock", "late-after", None),
    ("a hit, instruction carried out by the module", "1-candidate-by-module",
     "paper-1-candidate-by-module"),
    ("a hit, instruction single-stepped (never chosen unless nothing else is left)",
     "1-candidate-stepped", "paper-1-candidate-stepped"),
    ("the hit that finds the unit late: record, stack and alert", "late-found", None),
    ("the end of a late unit: the second alert", "late-end", None),
]
BARE = "bare-probe"

WALKS = [
    ("inference", "a hit of a guard: context by its depth, type by the context"),
    ("own-inference", "of this the module's own part, without the kernel's probe"),
    ("probe", "a probe with a sample to perf's ring, no stack"),
    ("pointers", "the same, with the stack by frame pointers"),
    ("copy", "the same, with a copy of 8 KiB of the stack instead"),
    ("backtrace", "backtrace() in the program itself, by unwind rules"),
    ("unwind", "pg-collect's walk of a copied stack, by unwind rules"),
]


def is_timed(path):
    """Whether all types can be timed: the guards were on in a timing run."""
    return any(kind["times"]["nr"] for kind in collect.show(path)["types"])


def of_training(out):
    """The costliest types of a training, and its contexts."""
    profile = collect.show(out / "profile.pgp")
    guest = json.loads((out / "timing.json").read_text())
    timed = [kind for kind in profile["types"] if kind["times"]["nr"] >= LEAST_TIMED]
    timed.sort(key=lambda kind: (-kind["times"]["mean_ns"], kind["id"]))
    ten = [{"id": kind["id"], "units": kind["times"]["nr"], "mean_ns": kind["times"]["mean_ns"],
            "deviation": kind["times"]["deviation_ns"] / kind["times"]["mean_ns"],
            "functions": kind["functions"], "trees": kind["nr_trees"]}
           for kind in timed[:COSTLIEST]]
    if not ten:
        raise LookupError("no type was timed")
    with sqlite3.connect(out / "profile.pgp") as base:
        paths = base.execute("select count(*) from node").fetchone()[0]
    return {"program": guest["program"], "kernel": guest["kernel"], "guest_s": guest["seconds"],
            "types": len(profile["types"]), "timed": len(timed), "ten": ten,
            "deviation": statistics.mean(kind["deviation"] for kind in ten),
            "paths": paths,
            "units": sum(loop["units"] for loop in profile["loops"])}


def of_contexts(said):
    """What pg-collect learn said of a recording's contexts."""
    share = re.search(r"contexts identified: ([0-9.]+) % of (\d+) calls,"
                      r" ([0-9.]+) % of (\d+) pairs", said)
    return {"contexts": float(share[1]) / 100, "calls": int(share[2]),
            "pairs_known": float(share[3]) / 100, "pairs": int(share[4])}


def table_5(results):
    rows = []
    of_servers = [entry for entry in of_all(results, "train-") if entry[1] in SERVERS]
    for kernel, name, result in of_servers:
        rows.append([NAMES[name], kernel, percent(result["deviation"]),
                     percent(known.DEVIATION),
                     "met" if result["deviation"] <= known.DEVIATION else "**missed**",
                     str(len(result["ten"])), f"{result['types']}", count(result["paths"])])
    if rows:
        yield {"title": "Table 5: how alike the units of a type are",
               "text": ["Relative deviation (standard deviation over mean) of the times of a "
                        "type's units, mean of the ten types of the longest mean time. The "
                        "time is guest instructions: QEMU counts them, and nothing but the "
                        "kernel interrupts the server, so that the processor that the client "
                        "takes is no part of it. Of the paper the mean is known, not of which "
                        "programs; and that its path distances were over about "
                        f"{known.PATHS:,} paths."],
               "head": ["program", "Linux", "deviation", "paper", "", "types", "of types",
                        "call paths"],
               "rows": rows}
    for kernel, name, result in of_servers:
        yield {"title": f"The types of {NAMES[name]}, Linux {kernel}", "level": 3, "text": [],
               "head": ["type", "units timed", "mean", "deviation", "call trees", "functions"],
               "rows": [[str(kind["id"]), count(kind["units"]), time_text(kind["mean_ns"]),
                         percent(kind["deviation"]), str(kind["trees"]),
                         count(kind["functions"])] for kind in result["ten"]]}


def contexts(results):
    rows = []
    for kernel, name, result in of_all(results, "contexts-"):
        paper = known.CONTEXTS.get(name)
        rows.append([NAMES[name], kernel, count(result["calls"]), percent(result["contexts"]),
                     count(result["pairs"]), percent(result["pairs_known"]),
                     percent(paper) if paper else "not known",
                     "" if not paper else "met" if result["contexts"] >= paper else
                     "**missed**"])
    if rows:
        yield {"title": "Section 7.3: contexts identified by function and stack depth",
               "text": ["In recordings of the labelled mix, for table 5 or by `make eval-training`: "
                        "share of the recorded calls, and of the distinct pairs of function and "
                        "stack depth, whose pair tells the whole chain of callers up to the "
                        "event loop. The first one is judged: a pair that several chains share "
                        "does not count, however rare the others are. Which of the two the "
                        "paper counted is not known; it has Apache and MySQL's client.",
                        "What is missed is so by today's compilers: without frame pointers and "
                        "with cold parts split off, more callers than one leave the stack as "
                        "deep. Inference does not need the chain: a pair has a set of candidate "
                        "types, and the accuracy is told in guards.md."],
               "head": ["program", "Linux", "calls", "identified", "pairs", "identified",
                        "paper", ""],
               "rows": rows}


def walk_figures(result, known_bare):
    """{walk: {frames: figure}}, with the module's own part of the inference."""
    figures = {}
    for name, figure in result["figures"].items():
        walk, _, frames = name.rpartition("-")
        if not walk.startswith("frames"):
            figures.setdefault(walk, {})[int(frames)] = figure
    if known_bare:
        figures["own-inference"] = {frames: figure - known_bare
                                    for frames, figure in figures["inference"].items()}
    return figures


def stack_walk(results):
    for kernel, _, result in of_all(results, "walk"):
        bare = results[kernel].get("cost", {}).get("figures", {}).get(BARE)
        figures = walk_figures(result, bare)
        frames = sorted(figures["inference"])
        rows = [[what, *[count(figures[walk][n]) for n in frames]]
                for walk, what in WALKS if walk in figures]
        yield {"title": f"Figure 7(a): inference beside a stack walk, Linux {kernel}",
               "text": ["Guest instructions, by the frames below the event loop; the walks "
                        "have 6 or 7 more above it. Frame pointers are in this test program "
                        "only: without them, as most programs come, the kernel's walk finds "
                        "nothing. The last two have no probe in them; what it takes comes on "
                        "top. All files and pages were touched before."],
               "head": ["", *map(str, frames)], "rows": rows, "chart": ("walk", kernel)}
        yield ratios(kernel, figures, bare)


def ratios(kernel, figures, bare):
    n = known.WALK_FRAMES
    hit, own = figures["inference"][n], figures.get("own-inference", {}).get(n)
    rows = []

    def add(what, walk, inference):
        ratio = walk / inference
        rows.append([what, count(walk), count(inference), f"{ratio:.1f}",
                     str(known.WALK_RATIO),
                     "met" if ratio >= known.WALK_RATIO else "**missed**"])

    if own:
        add("backtrace() beside the module's own part of a hit", figures["backtrace"][n], own)
        add("the same, each with the kernel's probe", figures["backtrace"][n] + bare, hit)
        add("pg-collect's walk and the copy, beside a hit",
            figures["unwind"][n] + figures["copy"][n], hit)
    add("frame pointers, where a program has them, beside a hit", figures["pointers"][n], hit)
    spread = max(figures["inference"].values()) - min(figures["inference"].values())
    return {"title": f"How many times cheaper, at {n} frames, Linux {kernel}", "level": 3,
            "text": ["Here the kernel's breakpoint takes most of a hit. The first line leaves it "
                     "out on both sides: it compares the inference itself with a walk itself, "
                     "which is how the paper's figure is understood here. Between "
                     f"{min(figures['inference'])} and "
                     f"{max(figures['inference'])} frames the inference differs by "
                     f"{spread:.0f} instructions."],
            "head": ["", "walk", "inference", "times", "paper", ""], "rows": rows}


def table_6(results):
    costs = {kernel: results[kernel]["cost"]["figures"] for kernel in results
             if "cost" in results[kernel]}
    if not costs:
        return
    head = [""]
    for kernel in costs:
        head += [f"Linux {kernel}", "without the probe", "paper's rule"]

    def cells(name, paper):
        for figures in costs.values():
            own = figures[name] - figures[BARE] if name not in (
                "unit", "unit-with-account", "late-end") else None
            yield count(figures[name])
            yield "" if own is None else count(own)
            yield count(figures[paper]) if paper else ""

    rows = [["a probe that does nothing: the kernel's part of each hit",
             *[cell for figures in costs.values() for cell in (count(figures[BARE]), "", "")],
             "not known"]]
    rows += [[what, *cells(name, paper), "not known"] for what, name, paper in PIECES]
    yield {"title": "Table 6: what each piece of a guard costs",
           "text": ["Guest instructions that are added, the least of five rounds of 1000 calls; "
                    "what concerns late units is the median of nine. \"Without the probe\" is "
                    "what remains of a hit less a probe that does nothing. \"Paper's rule\" is "
                    "the same with `--infer=paper`. A look at the clock is a part of each hit "
                    "but one after the unit is known to be late. The paper's own figures of "
                    "this table are not known here, and would be of another machine and "
                    "another way of putting guards in."],
           "head": [*head, "paper"], "rows": rows}


def memory(results):
    rows = []
    for kernel, name, result in of_all(results, "load-"):
        sizes = dict(result.get("memory", {}))
        module = sizes.pop("module", 0)
        for profile, size in sizes.items():
            rows.append([f"{NAMES[name]}, {TITLES[profile]}", kernel, count(module), count(size),
                         count(module + size), f"< {count(known.MEMORY)}",
                         "met" if module + size < known.MEMORY else "**missed**"])
    if rows:
        yield {"title": "Memory of the module", "text":
               ["Bytes: the module's own code and data, as the kernel counts them, and the "
                "profile, as the module does: tables, guards with their probes, and the "
                "counters of each processor. About 0.5 KB a thread "
                "comes on top (bench.md), and up to 1 MiB for alerts that wait to be read."],
               "head": ["", "Linux", "module", "profile", "sum", "paper", ""], "rows": rows}


def missing(results):
    """What there is no result of yet."""
    parts = {"figure 7(a)": "walk", "table 6": "cost"}
    for part, prefix, programs in (
            ("table 5", "train-", SERVERS), ("contexts", "contexts-", NAMES),
            ("figure 7", "load-", SERVERS[:2])):
        parts.update({f"{part} of {NAMES[name]}": prefix + name for name in programs})
    there = {name for of_kernel in results.values() for name in of_kernel}
    return [part for part, name in parts.items() if name not in there]


def sections(results):
    """All tables: {title, text, head, rows}."""
    return [section for part in (table_5, contexts, stack_walk, table_6, figure_7, memory)
            for section in part(results)]
