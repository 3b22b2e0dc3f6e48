# SPDX-License-Identifier: GPL-2.0
"""The paper's tables as text, and as a page of the documentation with its pictures."""

import textwrap

import paper_chart
import paper_results

INTRO = """PerfGuard (Kim, Rhee, Zhang et al., FSE 2016) reports how alike the units of its types
are (table 5), how many contexts the stack depth tells and how cheap that is (section 7.3,
figure 7(a)), what each guard function costs (table 6), and what guarding costs Apache and MySQL
(figure 7). The same is measured here on Debian's Apache and MariaDB. The paper's text was not at
hand: where a figure of it is not known the cell says so. As far as is known, its guards are
code put into the program; ours are breakpoints of the kernel, which cost more each and need
nothing of the program.

All figures are from a guest of QEMU with one processor, in which a nanosecond is one
instruction (`scripts/vm --icount`). They tell nothing of caches. What a piece costs is the same
on every machine; what a load costs varies by what the last line of its table tells.

Each result is of a day and of the last commit then that had changed the module or `pg-collect`:"""


def cells_of(section):
    return [section["head"], *section["rows"]]


def text(sections):
    out = []
    for section in sections:
        rows = [[cell.replace("**", "") for cell in row] for row in cells_of(section)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        out += ["", section["title"]]
        for row in rows:
            cells = [row[0].ljust(widths[0])]
            cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
            out.append(("  " + "  ".join(cells)).rstrip())
    return "\n".join(out)


def table(section):
    head, *rows = cells_of(section)
    yield "| " + " | ".join(head) + " |"
    yield "|---" + "|---:" * (len(head) - 1) + "|"
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def runs(results):
    for kernel in results:
        found = {}
        for name, result in results[kernel].items():
            found.setdefault((result["date"], result["commit"]), []).append(name)
        for (date, commit), names in sorted(found.items()):
            yield f"* Linux {kernel}, {date}, at {commit}: {', '.join(sorted(names))}"


def write(path, sections, results):
    out = ["# The paper's tables, measured here", "",
           "Written by `make eval-paper`; not to be edited.", "", INTRO, "", *runs(results)]
    missing = paper_results.missing(results)
    if missing:
        out += ["", f"Not measured yet: {', '.join(missing)}."]
    for section in sections:
        out += ["", "#" * section.get("level", 2) + " " + section["title"], ""]
        for paragraph in section["text"]:
            out += [textwrap.fill(paragraph, 100, break_long_words=False,
                                  break_on_hyphens=False), ""]
        out += table(section)
        if "chart" in section:
            name, kernel = section["chart"]
            picture = f"paper-{name}-{kernel}.svg"
            (path.parent / picture).write_text(
                paper_chart.draw(name, results[kernel], paper_results))
            out += ["", f"![{section['title']}]({picture})"]
    path.write_text("\n".join(out) + "\n")
