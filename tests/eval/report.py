# SPDX-License-Identifier: GPL-2.0
"""The results as a text table and as a page of the documentation."""

import sys

import asked
import programs

TITLES = {
    "inference": "Inference, by the module and by a reference",
    "loop": "Event loops",
    "units": "Units",
    "types": "Types",
    "guards": "Guards, on held-back units",
    "verdicts": "Guards, on a new run",
    "budgets": "Budgets, offline",
    "alarms": "False alarms",
    "paper": "Beside the paper",
    "time": "Time",
}
VERDICTS = {True: "met", False: "missed", None: ""}


def item(group, what, wanted, got, good=None, paper="", why=""):
    """A line of the table: what was asked, what was got, and whether that is enough.

    good is None where nothing is asked.  why says what a reader needs to judge it.
    """
    return {"group": group, "what": what, "asked": wanted, "got": got, "verdict": VERDICTS[good],
            "paper": paper, "why": why}


def failed(group, what, wanted, why):
    """A line for what could not be measured although it is asked."""
    return {**item(group, what, wanted, "-", why=why), "verdict": "failed"}


def percent(share, digits=1):
    return f"{100 * share:.{digits}f} %"


def by_program(results):
    """[(program, {kernel: result})] in the order of asked.PROGRAMS."""
    for program in asked.PROGRAMS:
        found = {kernel: result for (kernel, name), result in results.items() if name == program}
        if found:
            yield program, found


def lines_of(per_kernel):
    """[(group, what, asked, paper, {kernel: item})], in the order in which they come."""
    lines = {}
    for kernel, result in per_kernel.items():
        for entry in result["items"]:
            key = (entry["group"], entry["what"])
            line = lines.setdefault(key, {"asked": "", "paper": "", "items": {}})
            line["asked"] = line["asked"] or entry["asked"]
            line["paper"] = line["paper"] or entry["paper"]
            line["items"][kernel] = entry
    order = list(TITLES)
    for group, what in sorted(lines, key=lambda key: order.index(key[0])):
        line = lines[group, what]
        yield group, what, line["asked"], line["paper"], line["items"]


def cell(entry):
    if not entry:
        return "not run", ""
    return entry["got"], entry["verdict"]


def tally(results):
    verdicts = [entry["verdict"] for result in results.values() for entry in result["items"]]
    return {verdict: verdicts.count(verdict) for verdict in ("met", "missed", "failed")}


def text(results, kernels):
    out = []
    for program, per_kernel in by_program(results):
        kernels_here = [kernel for kernel in kernels if kernel in per_kernel]
        head = next(iter(per_kernel.values()))
        out += ["", f"{program}: {head['version']}"]
        form = "  {:<46} {:>9} " + " {:>16} {:<7}" * len(kernels_here) + " {:>7}"
        names = [word for kernel in kernels_here for word in (f"Linux {kernel}", "")]
        out.append(form.format("", "asked", *names, "paper"))
        title = None
        for group, what, wanted, paper, items in lines_of(per_kernel):
            if group != title:
                out.append(f" {TITLES[group]}")
                title = group
            cells = [word for kernel in kernels_here for word in cell(items.get(kernel))]
            out.append(form.format(what, wanted, *cells, paper).rstrip())
        for kernel in kernels_here:
            for entry in per_kernel[kernel]["items"]:
                if entry["why"] and entry["verdict"] in ("missed", "failed"):
                    out.append(f"  {kernel}, {entry['what']}: {entry['why']}")
    counts = tally(results)
    out += ["", f"{counts['met']} met, {counts['missed']} missed, {counts['failed']} failed"]
    return "\n".join(out)


def page_table(per_kernel, kernels):
    columns = [word for kernel in kernels for word in (f"Linux {kernel}", "")]
    yield "| | asked | " + " | ".join(columns) + " | paper |"
    yield "|---" * (3 + len(columns)) + "|"
    title = None
    for group, what, wanted, paper, items in lines_of(per_kernel):
        if group != title:
            yield f"| **{TITLES[group]}** |" + " |" * (2 + len(columns))
            title = group
        cells = []
        for kernel in kernels:
            got, verdict = cell(items.get(kernel))
            cells += [got, f"**{verdict}**" if verdict in ("missed", "failed") else verdict]
        yield "| " + " | ".join([what, wanted, *cells, paper]) + " |"


def page_notes(per_kernel, kernels):
    for kernel in kernels:
        for entry in per_kernel[kernel]["items"] if kernel in per_kernel else []:
            if entry["why"] and entry["verdict"] in ("missed", "failed"):
                yield f"* Linux {kernel}, {entry['what']} ({entry['verdict']}): {entry['why']}"


def page_labels(program):
    server = programs.load(program)
    module = sys.modules[type(server).__module__]
    mix = server.mix(0, 1, 1)
    yield " ".join(module.__doc__.split())
    follow = list(getattr(mix, "follow", {}).values())
    yield ""
    yield "Labels, the most frequent first: " + ", ".join(list(mix.labels) + follow) + "."


def page(results, kernels, how):
    """tests/eval/results/training.md"""
    counts = tally(results)
    out = ["# Training on real servers: asked and got", "",
           "Written by `make eval-training`; not to be edited.", "", how, "",
           f"{counts['met']} met, {counts['missed']} missed, {counts['failed']} failed."]
    for program, per_kernel in by_program(results):
        head = next(iter(per_kernel.values()))
        runs = ", ".join(f"Linux {kernel} ({result['release'] or 'no answer'}) on {result['date']}"
                         f" at {result['commit']}" for kernel, result in per_kernel.items())
        out += ["", f"## {program}", "", f"{head['version']}.  Run on {runs}.", ""]
        out += page_labels(program)
        out += ["", *page_table(per_kernel, kernels)]
        notes = list(page_notes(per_kernel, kernels))
        out += ["", *notes] if notes else []
    return "\n".join(out) + "\n"
