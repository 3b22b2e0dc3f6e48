# SPDX-License-Identifier: GPL-2.0
"""What audit and watch have seen, as a page."""

import html
import pathlib
import re
import subprocess

from perfguard import (COLLECT, IS_SLOW, LONG, PATIENCE, Victim, collect, done, note, ok,
                       wait_until, watching)

LINES, PAGE, AUDITED = (pathlib.Path(f"/tmp/99.{name}") for name in ("json", "html", "audit.html"))
DELAY_MS = 900 if IS_SLOW else 300


def text_of(page):
    raw = re.sub(r"<style>.*?</style>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", raw)).split())


def audited(victim):
    """What an audit with a page prints; units sleep, spin and wait for a lock meanwhile."""
    audit = subprocess.Popen([COLLECT, "audit", "-v", "-o", AUDITED, "--slower-than", "50ms",
                              "--duration", str(LONG), "-p", str(victim.pid)], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    audit.stderr.readline()
    with LINES.open("w", encoding="utf-8") as output:
        watch = watching("--json", stdout=output)
    victim.do("nothing")
    for word in ("sleep", "spin", "lock"):
        for _ in range(3):
            victim.do(f"{word} {DELAY_MS}")
    wait_until(lambda: LINES.read_text(encoding="utf-8").count('"kind":"ended"') >= 3)
    audit.send_signal(2)
    text = audit.communicate(timeout=PATIENCE)[0]
    watch.send_signal(2)
    watch.wait(PATIENCE)
    return audit.returncode, text


def check_audit(code, text):
    page = text_of(AUDITED)
    ok(code == 0 and "Slowest units" in text and "<html" not in text, "an audit prints its text")
    ok("sleep_here" in page and "spin_here" in page and "Event loops and the times of their units" in
       page and "Flame graph of" in page and "nothing was late" not in page.lower(),
       "and makes a page of the same units")
    slowest = re.search(r"^ 1\. ([0-9.]+ m?s) ", text, re.MULTILINE)[1]
    ok(f"{slowest} late unit" in page, f"with the times that it printed: {slowest}")


def check_watch():
    made = collect("report", "-o", PAGE, LINES)
    if not ok(made.returncode == 0 and not made.stderr, "what watch has written makes a page"):
        note(made.stderr)
        return
    page = text_of(PAGE)
    late = re.search(r"late units? ([0-9,]+)", page)
    ok(late and int(late[1].replace(",", "")) >= 9, f"of all late units: {late and late[1]}")
    missing = [what for what in ("sleep_here", "slept", "held by thread") if what not in page]
    ok(not missing, f"with where they were, why, and who held the lock: {missing}")


def check_refusals(victim):
    refused = collect("audit", "-o", "/no-such-directory/page.html", "-p", victim.pid)
    ok(refused.returncode == 1 and "cannot write" in refused.stderr,
       "an output that cannot be written is refused before the audit")


victim_ = Victim()
try:
    check_audit(*audited(victim_))
    check_watch()
    check_refusals(victim_)
finally:
    victim_.end()
done()
