# SPDX-License-Identifier: GPL-2.0
"""Plain pictures of the curves: SVG without anything from elsewhere."""

import html
import math
import statistics

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 250, 20, 50
COLOURS = ["#1b6ca8", "#c8553d", "#2d8659", "#8e5ea2", "#b8860b", "#555555", "#0aa1a1",
           "#d4267d"]


class Axis:
    """From values to places; by powers of ten if is_log."""

    def __init__(self, low, high, begin, end, is_log=False):
        self.is_log = is_log
        self.low, self.high = (math.log10(low), math.log10(high)) if is_log else (low, high)
        self.begin, self.end = begin, end

    def place(self, value):
        value = math.log10(value) if self.is_log else value
        share = (value - self.low) / (self.high - self.low)
        return self.begin + share * (self.end - self.begin)


def label(x, y, text, anchor="middle"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">'
            f"{html.escape(text)}</text>")


def line(x1, y1, x2, y2, colour="#cccccc", width=1):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            f'stroke="{colour}" stroke-width="{width}"/>')


def chart(curves, x_ticks, y_ticks, names, is_log_x, is_log_y):
    """curves: [(name, [(x, y)])]; ticks: [(value, text)]; names: of the axes."""
    x_axis = Axis(x_ticks[0][0], x_ticks[-1][0], LEFT, WIDTH - RIGHT, is_log_x)
    y_axis = Axis(y_ticks[0][0], y_ticks[-1][0], HEIGHT - BOTTOM, TOP, is_log_y)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
           f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>']
    for value, text in y_ticks:
        y = y_axis.place(value)
        out += [line(LEFT, y, WIDTH - RIGHT, y), label(LEFT - 6, y + 4, text, "end")]
    for value, text in x_ticks:
        x = x_axis.place(value)
        out += [line(x, HEIGHT - BOTTOM, x, HEIGHT - BOTTOM + 5, "#555555"),
                label(x, HEIGHT - BOTTOM + 18, text)]
    out += [label((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, names[0]),
            f'<text transform="translate(14 {(TOP + HEIGHT - BOTTOM) / 2:.0f}) rotate(-90)" '
            f'text-anchor="middle">{html.escape(names[1])}</text>']
    for i, (name, points) in enumerate(curves):
        colour = COLOURS[i % len(COLOURS)]
        places = [(x_axis.place(x), y_axis.place(y)) for x, y in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" '
                   'stroke-width="2"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        y = TOP + 14 + 20 * i
        out += [line(WIDTH - RIGHT + 14, y - 4, WIDTH - RIGHT + 34, y - 4, colour, 2),
                label(WIDTH - RIGHT + 40, y, name, "start")]
    return "\n".join([*out, "</svg>"]) + "\n"


def draw_load(result, paper):
    clients = [int(n) for n in result["free"]]
    curves = [(paper.TITLES[name],
               [(n, 100 * statistics.mean(result["profiles"][name][str(n)]["overheads"]))
                for n in clients]) for name in result["plan"]["profiles"]
              if name in result["profiles"]]
    limit = 100 * paper.known.OVERHEAD
    curves.append(("the paper's limit", [(clients[0], limit), (clients[-1], limit)]))
    values = [y for _, points in curves for _, y in points]
    step = next(s for s in (0.5, 1, 2, 5, 10, 20, 50, 100, 1e9)
                if (max(values) - min(0, *values)) / s <= 8)
    low, high = math.floor(min(0, *values) / step), math.ceil(max(values) / step)
    return chart(curves, [(n, str(n)) for n in clients],
                 [(i * step, f"{i * step:g} %") for i in range(low, high + 1)],
                 ("clients", "CPU time more than without guards"), True, False)


def draw_walk(results, paper):
    bare = results.get("cost", {}).get("figures", {}).get(paper.BARE)
    figures = paper.walk_figures(results["walk"], bare)
    names = {"inference": "a hit of a guard", "own-inference": "the module's part of it",
             "probe": "perf's probe, no stack", "pointers": "perf, frame pointers",
             "copy": "perf, copy of 8 KiB", "backtrace": "backtrace()",
             "unwind": "pg-collect's walk"}
    curves = [(names[walk], sorted(figures[walk].items()))
              for walk, _ in paper.WALKS if walk in figures]
    values = [y for _, points in curves for _, y in points]
    powers = range(math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))) + 1)
    return chart(curves, [(n, str(n)) for n in sorted(figures["inference"])],
                 [(10 ** i, f"{10 ** i:,}") for i in powers],
                 ("frames", "guest instructions"), True, True)


def draw(name, results, paper):
    """The picture of a section's chart; results are those of its kernel."""
    if name == "walk":
        return draw_walk(results, paper)
    return draw_load(results[name], paper)
