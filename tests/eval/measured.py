# SPDX-License-Identifier: GPL-2.0
"""What servers of the evaluation's programs are measured by: runs in the guest, what they found
kept with the commit, and false alarms."""

import argparse
import json

import programs
import vm
from binomial import interval

BUILD = vm.TOP / "build/eval"


def arguments(names, inline=False):
    """The options that each of these parts has; with inline, also how guards are to be hit."""
    parser = argparse.ArgumentParser()
    if inline:
        parser.add_argument("--inline", action="store_true")
    parser.add_argument("--program", action="append", choices=names)
    parser.add_argument("--kernel", default="6.12")
    parser.add_argument("--again", action="store_true")
    return parser.parse_args()


def measure(program, kernel, file, seconds, runs, place=None, more=()):
    """Run scripts in guests, [(the VM's option or None, path, words)], the last of which writes the
    file.  They get /out, which is the place, and more words after the others."""
    out = BUILD / kernel / (place or program)
    out.mkdir(parents=True, exist_ok=True)
    path = out / file
    path.unlink(missing_ok=True)
    programs.load(program).install()
    commit = vm.commit("kmod", "user", "include")
    for option, script, *words in runs:
        vm.say(f"{script.name} {' '.join(map(str, words))}, Linux {kernel}")
        trouble = vm.run_script(kernel, out, seconds, ["-m", "2048", *filter(None, [option])],
                                script, *words, "/out", *more)
        if trouble:
            vm.say(f"{program}: {trouble}")
            return
    found = json.loads(path.read_text()) | {"program": program, "commit": commit}
    path.write_text(json.dumps(found))


def founds(names, kernel, file):
    """What was found of those that were measured."""
    paths = [BUILD / kernel / program / file for program in names]
    return [json.loads(path.read_text()) for path in paths if path.exists()]


def inline_file(file):
    """Where the same is kept of guards that are hit by jumps."""
    return f"inline-{file}"


def founds_both(names, kernel, file):
    """What was found with traps, then with jumps."""
    return founds(names, kernel, file) + \
        [found | {"program": f"{found['program']}, inline"}
         for found in founds(names, kernel, inline_file(file))]


def table(heads, rows):
    """As a page has it; rows are of texts."""
    lines = ["| " + " | ".join(row) + " |\n" for row in [heads, *rows]]
    lines.insert(1, "|---" * len(heads) + "|\n")
    return "".join(lines)


def page(path, title, by, results, text):
    """Write what was found, and by which command; by is "Linux KERNEL, by `make PART`"."""
    commits = ", ".join(dict.fromkeys(found["commit"] for found in results))
    if results:
        path.write_text(f"# {title}\n\n{by}; commit {commits}.\n\n{text}")


def weighted_median(pairs):
    """Of (value, weight)."""
    half = sum(weight for _, weight in pairs) / 2
    for value, weight in sorted(pairs):
        half -= weight
        if half <= 0:
            return value
    return float("nan")


def alarms(span):
    """(late, all, starved) of a span without delays, {type: (in time, late, starved)}."""
    late = sum(row[1] for row in span.values())
    return late, late + sum(row[0] for row in span.values()), sum(row[2] for row in span.values())


def share_text(late, units, digits=3):
    low, high = interval(late, units) if units else (0, 1)
    return f"{late} of {units:,}: {100 * late / max(units, 1):.{digits}f} % " \
           f"({100 * low:.{digits}f} to {100 * high:.{digits}f})"
