# SPDX-License-Identifier: GPL-2.0
"""'top' shows what 'status' counts, on a screen and printed."""

import json
import re
import shutil
import subprocess
import time

import guarded
from guarded import NR_TYPES, SLEEP, Guarded, Request
from perfguard import (COLLECT, IS_SLOW, MS, PATIENCE, collect, done, note, ok, status, wait_until,
                       watching)
from terminal import Terminal

PROFILE = "/tmp/77.pgp"
# A name that would set the title of a terminal, if it got there.
NAME, SHOWN = "77\x1b]0;hostile\x07gu\u00e4rd", "77?]0;hostile?gu\u00e4rd"
UNITS = 2000
INTERVAL = 30 if IS_SLOW else 8
DELAY_MS = 900 if IS_SLOW else 400
SLOW_MS = 100 if IS_SLOW else 10


def start(port):
    """The server under that name; its clients have the usual one."""
    path = f"/tmp/{NAME}"
    usual = guarded.GUARDED
    guarded.GUARDED = shutil.copy(usual, path)
    try:
        return Guarded(port, "/tmp/77.log")
    finally:
        guarded.GUARDED = usual


def counted():
    """(units, late) of all types, as status has them."""
    types = status("type")
    return (sum(one["units"] + one["late"] for one in types), sum(one["late"] for one in types))


def cells(line):
    """A row's columns by its heading's words, from the right."""
    names = ("late/s", "late", "blocked", "runqueue", "cpu", "max", "p99", "p50", "units/s")
    words = line.split()
    if len(words) > len(names) + 2 and re.fullmatch(r"\d+%", words[-10]):
        del words[-10:-8]       # busy, mean
    return dict(zip(names, reversed(words)))


def rows(lines):
    """[(indent, name, cells)] of the table's rows."""
    found = []
    for line in lines:
        if re.search(r" (-|[0-9.kM]+) +\d+ +(-|[0-9.]+)$", line):
            indent = len(line) - len(line.lstrip())
            found.append((indent, line.split()[0], cells(line)))
    return found


def check_printed(server):
    """A rate that is known, and late units between what status says before and after."""
    before = counted()
    top = subprocess.Popen([COLLECT, "top", "--once", "-d", str(INTERVAL), "--types",
                            str(NR_TYPES)], text=True,
                           stdout=subprocess.PIPE)
    time.sleep(INTERVAL / 3)
    server.load(2, UNITS, "steady")
    text = top.communicate()[0]
    after = counted()
    for line in text.splitlines():
        note(line)
    found = rows(text.splitlines())
    program = next((one for indent, _, one in found if not indent), None)
    if not ok(top.returncode == 0 and program and SHOWN in text, "the program has a row"):
        return
    rate = (after[0] - before[0]) / INTERVAL
    ok(after[0] - before[0] >= UNITS and 0.9 * rate < float(program["units/s"]) <= 1.01 * rate,
       f"with its units a second: {program['units/s']}, {rate:.1f} by status")
    ok(program["late"] == str(after[1]), f"and those late: {program['late']}")
    types = [one for indent, _, one in found if indent == 4]
    ok(len(types) == NR_TYPES and
       abs(sum(float(one["units/s"]) for one in types) - float(program["units/s"])) <
       0.02 * rate + 1, "each type has one, and they add up")
    ok(all(sum(float(one[part]) for part in ("cpu", "runqueue", "blocked")) in range(99, 102)
           for one in types if one["cpu"] != "-"), "the parts are all of their time")
    ok(max(map(len, text.splitlines())) <= 100 and "\x1b" not in text and
       re.search(r"takes [0-9.]+ % of 90 % CPU; \d+ guards? on", text), "and the budget is stated")


def delayed(server, kind):
    """One more unit, which is late."""
    before = counted()[0]
    server.play([Request(kind, SLEEP, guarded.MIDDLE, DELAY_MS * MS)])
    # It has ended when the loop waits again.
    wait_until(lambda: counted()[0] > before)


def late_of(lines):
    found = rows(lines)
    return int(found[0][2]["late"]) if found else None


def check_live(server, top):
    """What is late is on the screen with the next reading."""
    ok(top.wait(lambda lines: any(SHOWN in line for line in lines)), "the program is on the screen")
    lines = top.screen.lines()
    ok(lines[1].startswith("NAME") and "[UNITS/S" in lines[1] and "LATE/S" in lines[1] and
       "BUSY" not in lines[1], "with a heading of 80 columns")
    before = counted()[1]
    delayed(server, 2)
    ok(counted()[1] > before and top.wait(lambda lines: late_of(lines) == counted()[1]),
       "a late unit is counted")
    longest = re.fullmatch(r"[>]?([0-9.]+)ms", rows(top.screen.lines())[0][2]["max"])
    least = max(one["late_elapsed_ns"] / one["late"] for one in status("type") if one["late"]) / MS
    ok(longest and float(longest[1]) > 0.99 * least > 10,
       f"and the largest time is not less than the mean of late ones: {least:.1f} ms")
    top.press("p")
    shown = late_of(top.screen.lines())
    delayed(server, 3)
    time.sleep(3)
    top.read()
    ok(top.screen.lines()[-1].startswith("PAUSED") and
       late_of(top.screen.lines()) == shown < counted()[1], "but not while it is paused")
    top.press(" ")
    ok(top.wait(lambda lines: late_of(lines) == counted()[1]), "and is when it goes on")


def check_sorted(top):
    top.press("l")
    ok(top.wait(lambda lines: "[LATE]" in lines[1]), "a key sorts by its column")
    late = [int(one["late"]) for indent, _, one in rows(top.screen.lines()) if indent == 4]
    ok(len(late) == NR_TYPES and late == sorted(late, reverse=True) and late[0] > 0,
       f"the largest first: {late}")
    note("\n# ".join(top.screen.lines()))
    top.press(">")
    ok(top.wait(lambda lines: "[LATE/S" in lines[1]), "and > by the next one")
    top.press("left")
    ok(top.wait(lambda lines: "[LATE]" in lines[1]), "and an arrow by the one before")
    top.press("?")
    ok(top.wait(lambda lines: any("Keys of columns" in line for line in lines)), "? shows the keys")
    top.press("escape")
    ok(top.wait(lambda lines: "[LATE]" in lines[1]), "and Esc goes back")


def select(top, is_wanted):
    """Go down to the first row that is wanted."""
    top.press(*["up"] * 20)
    for _ in range(30):
        line = top.screen.selected()
        if line and is_wanted(line):
            return line
        top.press("down")
        top.wait(lambda _, line=line: top.screen.selected() != line, 5)
    return None


def check_detail(top):
    """The latest alert of a type, and its call tree."""
    line = select(top, lambda line: line.startswith("    ") and int(cells(line)["late"]) > 0)
    if not ok(line, "a type is selected"):
        return
    top.press("enter")
    found = top.wait(lambda lines: any("Its latest alert:" in line for line in lines))
    text = list(top.screen.lines())
    for _ in range(8):
        top.press(*["down"] * 10)
        text += top.screen.lines()
    note("\n# ".join(line for line in text[:20]))
    whole = "\n".join(text)
    ok(found and re.search(r"(LATE|ended,?) ", whole) and "type " in whole and "\x1b" not in whole,
       "Enter shows its latest alert")
    ok("depth    function" in whole and "g: has a guard" in whole, "and its call tree")
    top.press("q")
    ok(top.wait(lambda lines: "[LATE]" in lines[1]), "q goes back to the table")
    ok(top.screen.selected() and top.screen.selected().split()[0] == line.split()[0],
       "where the type is still selected")


def check_requests(top):
    """Of requests the distribution of their times, and the slowest."""
    ok(select(top, lambda line: line.startswith("  requests")), "requests are selected")
    top.press("enter")
    ok(top.wait(lambda lines: any(line.startswith("Requests: ") for line in lines) and
                any("Slowest requests" in line for line in lines)), "Enter shows the slowest")
    top.press("escape")
    ok(top.wait(lambda lines: "[LATE]" in lines[1]), "and Esc goes back to the table")


def check_sizes(top):
    for height, width in ((10, 50), (40, 130), (3, 10), (24, 80)):
        top.resize(height, width)
        found = top.wait(lambda lines, width=width: lines[0][:1].isdigit() and
                         lines[1].startswith("NAME"[:width]) and
                         ("BUSY" in lines[1]) == (width >= 100), 20)
        ok(found and top.screen.lines()[-1], f"it fits {height} rows of {width} columns")


def check_slow(server, top):
    """A type that is slow as a whole is marked, and so is what it belongs to."""
    end = time.monotonic() + PATIENCE
    found = []
    while len(found) < 3 and time.monotonic() < end:
        server.play([Request(5, SLEEP, guarded.MIDDLE, SLOW_MS * MS)] * 50)
        top.read(0.5)
        found = [line for line in top.screen.lines() if line.lstrip().startswith("SLOW ")]
    ok(len(found) == 3 and found[0].startswith("SLOW 77") and found[1].startswith("  SLOW loop") and
       found[2].startswith("    SLOW "), "a type that is slow as a whole is marked")
    line = select(top, lambda line: line.startswith("    SLOW "))
    if ok(line, "and can be selected"):
        top.press("enter")
        ok(top.wait(lambda lines: "SLOW 77" in lines[2] and "are blocked for" in "".join(lines)),
           "which says since when and how much")
        top.press("q")


def check_others(path):
    """A reader of alerts has had all of them that one has who reads them now."""
    all_path = "/tmp/77.all"
    with open(all_path, "w", encoding="utf-8") as file:
        subprocess.run([COLLECT, "watch", "--json", "--all", "--duration", "3"], stdout=file,
                       check=True)
    wanted = [seq for seq in ended(all_path) if seq >= ended(path)[0]]
    wait_until(lambda: len(ended(path)) >= len(wanted), 20)
    ok(ended(path) == wanted and len(wanted) > 1,
       f"'watch' had all {len(wanted)} late units meanwhile")


def ended(path):
    """The numbers of their alerts."""
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file if line.endswith("\n")]
    return [line["seq"] for line in lines if line["kind"] == "ended"]


def check_colours(server):
    """Those late now are red; not where NO_COLOR is set, nor where there is no UTF-8."""
    plain = Terminal(COLLECT, "top", "-d", "10", TERM="xterm", NO_COLOR="1", LC_ALL="C")
    red = Terminal(COLLECT, "top", "-d", "10", TERM="xterm")
    time.sleep(3)
    delayed(server, 4)
    time.sleep(12)
    for one in (plain, red):
        one.screen.feed = lambda text: None     # it is no vt100
        one.press("q")
        one.end()
    ok(b"\x1b[31m" in red.bytes and b"\x1b[31m" not in plain.bytes and
       b"\x1b[1m" not in plain.bytes, "what is late is red, unless NO_COLOR is set")
    ok("gu\u00e4rd".encode() in red.bytes and b"gu?rd" in plain.bytes,
       "a name has its letters where the locale has them")
    ok(b"]0;hostile\x07" not in red.bytes + plain.bytes, "and no control sequence")


def check_ends():
    top = Terminal(COLLECT, "top")
    top.wait(lambda lines: any(SHOWN in line for line in lines))
    top.process.terminate()
    ok(top.end() == 0, "SIGTERM ends it")
    top = Terminal(COLLECT, "top", TERM="dumb")
    ok(top.end() == 2 and b"--once" in top.bytes, "a dumb terminal is refused, with what to do")


def main():
    server = start(7177)
    trained = server.train(PROFILE, 3000, "steady", "--hits", 1)
    armed = collect("arm", "--requests", "--budget", 90, PROFILE)
    if not ok(trained.returncode == 0 and armed.returncode == 0, "trained and armed"):
        note(trained.stderr + armed.stderr)
        done()
    server.load(1, 500, "steady")
    with open("/tmp/77.watch", "w", encoding="utf-8") as file:
        watch = watching("--json", "--window", "0", stdout=file)
    check_printed(server)
    top = Terminal(COLLECT, "top")
    check_live(server, top)
    check_sorted(top)
    check_detail(top)
    check_requests(top)
    check_sizes(top)
    check_others("/tmp/77.watch")
    check_slow(server, top)
    collect("disarm", "--all")
    ok(top.wait(lambda lines: any("Nothing is guarded" in line for line in lines)),
       "what is disarmed goes from the screen")
    collect("arm", PROFILE)
    ok(top.wait(lambda lines: any(SHOWN in line for line in lines)), "and is back when armed again")
    top.press("q")
    ok(top.end() == 0, "q ends it")
    watch.kill()
    watch.wait()
    check_colours(server)
    check_ends()
    collect("disarm", "--all")
    ok("Nothing is guarded" in collect("top", "--once").stdout, "without any it says what to do")
    server.end()
    done()


main()
