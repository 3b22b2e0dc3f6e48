# SPDX-License-Identifier: GPL-2.0
"""The real slow programs that were found: a table as text, and a page of the documentation."""

import slow_budgets

# What is asked, and the only figures of the paper's Table 3 that are known here.
MOST_D = 8
RANK_1_SHARE = 0.8
PAPER = "the paper found 10 bugs, with d from 1 to 8"
# Training sees other units each time.
THRESHOLD_FACTOR = 2

COLUMNS = ["case", "paper", "trees", "paths", "functions", "guards", "threshold", "found",
           "found by", "delay", "rank", "d", "false alarms", "overhead", "boundaries", "verdict"]

HOW = f"""\
Each case is a program of Debian's, stripped as it comes, in a VM whose clock counts instructions
(`scripts/vm --icount`: one CPU, a nanosecond each), so that a busy host has no part in it.  It is
trained by `pg-collect train` on its normal load alone and
armed; a normal load by another seed, which training has not seen, is run; then the program is
made slow, several times.  The report of the longest unit of each time is judged.  Nothing in the
module or in `pg-collect` knows any of these programs.

* **paper**: the bug of the PerfGuard paper's Table 3 that the case stands for, if any. The text
  of that table is not at hand; what is known of it: {PAPER}.
* **trees, paths, functions**: of the unit type that was inferred for the slow unit: the distinct
  call trees that training saw of it, and the mean number of call paths and of functions of one.
  With "novel" the unit fitted no type and was judged as the closest one, which is told.
* **guards**: of the whole profile. **threshold**: of the type, or before it is known the largest
  that the unit may have.
* **found**: of so many times that the program was made slow, in so many a late unit was reported.
  **found by** the overdue watch while it ran, by a guard, or at its end; **delay**: from the
  threshold to the report, the longest.
* **rank**: 1 if the root cause is on the report's hot path, else its place among the functions
  that are told with their time, behind the path. **d**: how many calls the innermost function of
  the hot path is away from the root cause. The worst of all times.
* **false alarms**: late units of all units of the normal load that training had not seen. The
  declared rate is 0.1 %; more than a binomial variable of that rate exceeds in one of twenty runs
  are a miss.
* **overhead**: guest instructions of the program for a request of the normal load, with its guards
  beside without (`scripts/vm --icount`), with the guards that `train` chooses by default, none of
  which is shed (`arm --budget none`), and half the spread of 3 rounds.
  **boundaries**: the same with a profile that has no guards: what telling units apart costs alone,
  which no budget can lower.
* Numbers of the run before stand in brackets: found, rank and d have to be the same, d to 1; a
  threshold, which is of time, within a factor of {THRESHOLD_FACTOR} if it is of full confidence in
  both runs.  Of few units it is twice the largest time, and where times have a heavy tail, as on a
  processor that the client shares, that is another one each time.
"""


BUDGETS = """\
With `pg-collect learn --budget` other guards are chosen from what a profile was trained with: how
many guards, and how many types have at least {least} units, where types that the guards cannot tell
apart are one; the share of units whose type is inferred at their end in per cent; and the recall:
the mean over these types of the share of a type's units that is inferred as it, so that a seldom
type counts like a frequent one. Both are predicted from the units held back. A budget is a share of
the time of training, and a hit counts as 1 us there.
"""


def time(ns):
    if ns is None:
        return "-"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if abs(ns) >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns} ns"


def worst(values):
    """The largest, None if one is not known."""
    values = list(values)
    return None if not values or None in values else max(values)


def summary(row):
    """What the columns tell of a row, as numbers."""
    turns = row.get("turns", [])
    found = [turn for turn in turns if turn["found"]]
    return {
        "turns": len(turns), "found": len(found),
        "by": sorted({turn["found_by"] for turn in found}),
        "threshold": max((turn["threshold_ns"] for turn in found), default=None),
        # Not known of runs of before.
        "is_sure": bool(found) and all(turn.get("is_sure", True) for turn in found),
        "delay": max((turn["delay_ns"] for turn in found), default=None),
        "rank": worst(turn["rank"] for turn in found),
        "d": worst(turn["d"] for turn in found),
        "novel": any(turn["novel"] for turn in found),
    }


def misses(row):
    """What is asked and not so, as sentences."""
    if row["error"]:
        return [row["error"]]
    told, normal = summary(row), row["normal"]
    out = []
    if not told["turns"] or told["found"] < told["turns"]:
        out.append(f"found {told['found']} of {told['turns']} times")
    if told["found"] and told["rank"] != 1:
        out.append("the root cause is not on the hot path each time")
    if told["found"] and told["rank"] == 1 and told["d"] > MOST_D:
        out.append(f"the root cause is {told['d']} calls away")
    if normal["error"]:
        out.append(normal["error"])
    elif normal["allowed"] is None:
        out.append("no false-alarm rate is declared")
    elif normal["late"] > normal["allowed"]:
        out.append(f"{normal['late']} false alarms of {normal['units']} units, "
                   f"{normal['allowed']} allowed")
    return out


def changes(row, before):
    """What a run says otherwise than the one before."""
    now, then = summary(row), summary(before)
    out = [f"{what} {now[what]} (before {then[what]})" for what in ("found", "rank")
           if now[what] != then[what]]
    if None not in (now["d"], then["d"]) and abs(now["d"] - then["d"]) > 1:
        out.append(f"d {now['d']} (before {then['d']})")
    if now["is_sure"] and then["is_sure"]:
        factor = now["threshold"] / then["threshold"]
        if not 1 / THRESHOLD_FACTOR <= factor <= THRESHOLD_FACTOR:
            out.append(f"threshold {time(now['threshold'])} (before {time(then['threshold'])})")
    return out


def compared(row, before):
    """How many numbers changes() looks at."""
    now, then = summary(row), summary(before)
    return 2 + (None not in (now["d"], then["d"])) + (now["is_sure"] and then["is_sure"])


def pairs(results):
    """[(this run, the one before)] of cases that have both."""
    return [runs[:2] for runs in results.values()
            if len(runs) > 1 and not runs[0]["error"] and not runs[1]["error"]]


def compared_text(results):
    numbers = sum(compared(*pair) for pair in pairs(results))
    beyond = sum(len(changes(*pair)) for pair in pairs(results))
    days = sorted({pair[1]["date"] for pair in pairs(results)})
    return (f"{numbers} numbers compared with those of {', '.join(days)}: "
            f"{beyond} not within their noise") if days else "Nothing to compare with"


def overheads(overhead):
    """With all guards, and without any."""
    return [f"{100 * overhead[share]:.2f} % +- {100 * overhead[noise]:.2f}"
            if share in overhead else "-"
            for share, noise in (("share", "noise"), ("floor", "floor_noise"))]


def cells(row):
    """A row of the table, by COLUMNS."""
    if row["error"]:
        return [row["bug"], row["paper"], *["-"] * (len(COLUMNS) - 3), "missed"]
    told, of_type, normal = summary(row), row["of_type"] or {}, row["normal"]
    alarms = "-" if normal["error"] else f"{normal['late']} of {normal['units']}"
    return [
        row["bug"], row["paper"],
        *(str(of_type.get(what, "-")) for what in ("trees", "paths", "functions")),
        str(row["nr_guards"]), time(told["threshold"]),
        f"{told['found']}/{told['turns']}" + (" novel" if told["novel"] else ""),
        ", ".join(told["by"]) or "-", time(told["delay"]),
        str(told["rank"] or "-"), "-" if told["d"] is None else str(told["d"]), alarms,
        *overheads(row.get("overhead") or {}),
        "missed" if misses(row) else "met",
    ]


def tally(results):
    """(cases, found each time, on the hot path each time, met)"""
    rows = [runs[0] for runs in results.values()]
    told = [summary(row) for row in rows if not row["error"]]
    return (len(rows), sum(one["found"] == one["turns"] > 0 for one in told),
            sum(one["rank"] == 1 for one in told), sum(not misses(row) for row in rows))


def tally_text(results):
    cases, found, ranked, met = tally(results)
    return (f"{cases} cases: {found} found each time, {ranked} with the root cause on the hot path "
            f"each time; {met} met, {cases - met} missed")


def is_met(results):
    cases, found, ranked, met = tally(results)
    # A root cause off the hot path is a miss of its case, but some may be.
    only_rank = sum(misses(runs[0]) == ["the root cause is not on the hot path each time"]
                    for runs in results.values())
    return found == cases and ranked >= RANK_1_SHARE * cases and met + only_rank == cases


def notes(results):
    """What a reader needs to judge, a line each."""
    for name, runs in results.items():
        for miss in misses(runs[0]):
            yield f"{name}: missed: {miss}"
        for now, before in pairs({name: runs}):
            for change in changes(now, before):
                yield f"{name}: not as on {before['date']}: {change}"


def text(results):
    lines = [COLUMNS] + [cells(runs[0]) for runs in results.values()]
    widths = [max(len(line[place]) for line in lines) for place in range(len(COLUMNS))]
    out = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip()
           for line in lines]
    return "\n".join([*out, "", *notes(results), compared_text(results), tally_text(results)])


def both(now, before):
    return now if before in (None, now) else f"{now} ({before})"


def page_case(name, runs):
    row = runs[0]
    yield f"### {name}: {row['title']}"
    yield ""
    yield f"*{row['kind']}*, in {row['version']}. Root cause: " + \
        ", ".join(f"`{cause}`" for cause in row["root_cause"]) + "."
    if row["error"]:
        yield f"\nMissed: {row['error']}."
        return
    normal = row["normal"]
    if not normal["error"]:
        yield f"{normal['novel']} of {normal['units']} units of the normal load fitted no type."
    found = [turn for turn in row["turns"] if turn["found"]]
    if found:
        last = found[-1]
        yield ""
        yield f"The last report: {time(last['elapsed_ns'])}" + \
            (f", {last['reason']}" if last["reason"] else "") + "; hot path:"
        yield ""
        yield "    " + " > ".join(last["path"])


def budget_cells(row):
    """A line of the table of budgets: guards, types, accuracy and recall, for each budget."""
    for told in row["budgets"].values():
        shares = ["-" if told[what] is None else f"{100 * told[what]:.2f}"
                  for what in ("accuracy", "recall")]
        yield f"{told['guards']} / {told['types']} / {' / '.join(shares)}"


def page_budgets(results):
    """Of each profile once."""
    rows = {runs[0]["subject"]: runs[0] for runs in results.values() if runs[0].get("budgets")}
    if not rows:
        return
    budgets = list(next(iter(rows.values()))["budgets"])
    yield "## Types told apart, by budget"
    yield ""
    yield BUDGETS.format(least=slow_budgets.LEAST_UNITS)
    head = ["guards / types / accuracy / recall", *(f"{budget} %" for budget in budgets)]
    yield "| " + " | ".join(head) + " |"
    yield "|---" * len(head) + "|"
    for name, row in rows.items():
        yield f"| {name} | " + " | ".join(budget_cells(row)) + " |"


def page(results, known=()):
    """tests/eval/results/slow.md; known names all cases that there are."""
    out = ["# Real slow programs, and what is told of them", "",
           "Written by `make eval`; not to be edited.", "", HOW,
           tally_text(results) + f"; {PAPER}. {compared_text(results)}.", "",
           "| " + " | ".join(COLUMNS) + " |", "|---" * len(COLUMNS) + "|"]
    for runs in results.values():
        before = cells(runs[1]) if len(runs) > 1 else [None] * len(COLUMNS)
        line = [both(now, then) for now, then in zip(cells(runs[0]), before)]
        line[-1] = f"**{line[-1]}**" if line[-1] == "missed" else line[-1]
        out.append("| " + " | ".join(line) + " |")
    told = list(notes(results))
    out += ["", *(f"* {line}" for line in told)] if told else []
    absent = [name for name in known if name not in results]
    out += ["", "Not run yet: " + ", ".join(absent) + "."] if absent else []
    runs = sorted({(run["date"], run["commit"], run["kernel"])
                   for runs in results.values() for run in runs})
    out += ["", "Run on " + ", ".join(f"{date} at {commit} (Linux {kernel})"
                                      for date, commit, kernel in runs) + ".", ""]
    told = list(page_budgets(results))
    out += [*told, ""] if told else []
    out.append("## The cases")
    for name, runs in results.items():
        out += ["", *page_case(name, runs)]
    return "\n".join(out) + "\n"
