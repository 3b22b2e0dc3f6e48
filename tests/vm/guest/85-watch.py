# SPDX-License-Identifier: GPL-2.0
"""What 'watch' makes of alerts: where, why, how often, and changes of level."""

import json
import os
import pathlib
import pty
import socket
import struct
import subprocess
import time

from perfguard import (COLLECT, IS_SLOW, MS, PATIENCE, TOP, VICTIM, Audit, Victim, collect, done,
                       in_schema, note, ok, skip, wait_until)

GUARDED = str(TOP / "build/tests/vm/guarded")
PORT = 7085
PROFILE = "/tmp/85.pgp"
NR_TYPES = 8
SLEEP, SPIN, LOCK, PIPE = 1, 2, 3, 4
MIDDLE = 1
FAR_OUT = 8
DELAY_MS = 900 if IS_SLOW else 300
TRIES = 8
STARTED = []


class Watch:
    """pg-collect watch, its output in a file."""
    count = 0

    def __init__(self, *arguments, leads_session=False):
        Watch.count += 1
        self.path = pathlib.Path(f"/tmp/85.watch.{Watch.count}")
        self.process = subprocess.Popen([COLLECT, "watch", *map(str, arguments)], text=True,
                                        stdout=self.path.open("w", encoding="utf-8"),
                                        stderr=subprocess.PIPE,
                                        start_new_session=leads_session)
        STARTED.append(self.process)
        time.sleep(0.5)

    def text(self):
        return self.path.read_text(encoding="utf-8")

    def lines(self, kind=None):
        whole = self.text().rpartition("\n")[0].splitlines()
        lines = [json.loads(line) for line in whole]
        return [line for line in lines if kind in (None, line["kind"])]

    def wait(self, kind, number):
        wait_until(lambda: len(self.lines(kind)) >= number)
        return self.lines(kind)

    def end(self):
        self.process.send_signal(2)
        self.process.wait(PATIENCE)
        return self.lines()

    @classmethod
    def all_lines(cls):
        """Of all of them that printed JSON."""
        text = "\n".join(path.read_text(encoding="utf-8") for path in
                         pathlib.Path("/tmp").glob("85.watch.*"))
        return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def nice_of_session(pid):
    """Of the group that the scheduler puts the sessions' tasks in; None without such groups."""
    try:
        return int(pathlib.Path(f"/proc/{pid}/autogroup").read_text().split()[-1])
    except (OSError, IndexError):
        return None


def kinds_of(line):
    return [part["part"] for part in line["reason"]["parts"]]


def units_of(watch, kind):
    return {line["unit"] for line in watch.lines(kind)}


def numbers_of(watch):
    """(number, unit) of each record."""
    return [(line["seq"], line["unit"]) for line in watch.lines()
            if line["kind"] in ("late", "ended")]


def reported(lines):
    """{unit: where it was} of the units that have lines: the hot path, down to the victim's code."""
    units = {}
    for line in lines:
        if line["kind"] in ("late", "ended"):
            path = [(step["module"], step["offset"]) for step in line["hot_path"]]
            while path and path[-1][0] != VICTIM:
                path.pop()
            units.setdefault(line["unit"], tuple(path))
    return units


def repeated(lines, count="count"):
    return sum(line[count] for line in lines if line["kind"] == "repeated")


def commanded(victim, watch, word):
    """The lines of a unit that a command makes late: its end, and those before."""
    before = len(long(watch, 0.9 * DELAY_MS))
    victim.do(f"{word} {DELAY_MS}")
    wait_until(lambda: len(long(watch, 0.9 * DELAY_MS)) > before)
    line = long(watch, 0.9 * DELAY_MS)[before]
    return line, [one for one in watch.lines("late") if one["unit"] == line["unit"]]


def whys_of(line, word, part):
    """[(right, what is)] of a unit's end."""
    first, path = line["functions"][0], line["hot_path"]
    # Who spins asks for the time, and some samples end in the code that reads it.
    return [(first["function"] == f"{word}_here" and first["own"] > 0.5,
             f"{word}: the function where the time goes ranks first"),
            (f"{word}_here" in [step["function"] for step in path] and path[0]["share"] == 1,
             "and is on the hot path"),
            (kinds_of(line)[:1] == [part] and line["reason"]["parts"][0]["ns"] > DELAY_MS * MS / 2,
             f"the reason is {part}: {line['reason']['text']}")]


def holders_of(late, pid):
    """The same of a unit that waits for a lock; it may be seen on its way there first."""
    held = next((one for one in late if one["lock"]), None)
    return [(held and held["lock"]["holder"] and held["lock"]["holder"]["tid"] != pid,
             "the lock's holder is reported"),
            (held and held["syscall"] == "futex" and held["type"] is None and
             held["confidence"] is None,
             "its wait call, and no type where there is no profile")]


def watch_an_audit():
    """Without any profile: where, why, and each unit counted once."""
    victim = Victim()
    audit = Audit("--duration", 900, "--slower-than", "50ms", "-p", victim.pid)
    audit.next("ready")
    victim.do("nothing")
    watch = Watch("--json", "--window", 0)
    folded = Watch("--json", "--window", "4s")
    text = Watch("--window", 0)
    leader = Watch("--json", leads_session=True)
    two = Watch("-n", 2, "--json", "--window", 0)
    ok(wait_until(lambda: os.sched_getscheduler(two.process.pid) == os.SCHED_BATCH and
                  os.getpriority(os.PRIO_PROCESS, two.process.pid) == 19),
       "it makes way for all others")
    if nice_of_session(two.process.pid) is None:
        skip("with its session, if it leads one", "no groups of tasks")
    else:
        ok(wait_until(lambda: nice_of_session(leader.process.pid) == 19) and
           nice_of_session(two.process.pid) == 0, "with its session, if it leads one")
    leader.end()

    for word, part in (("sleep", "sleep"), ("spin", "cpu"), ("lock", "lock")):
        # A unit that the host kept from its work, or the watchdog from it, shows something else.
        for _ in range(TRIES):
            line, late = commanded(victim, watch, word)
            found = whys_of(line, word, part)
            if word == "lock":
                found += holders_of(late, victim.pid)
            if all(is_right for is_right, _ in found):
                break
            note(f"{word}: {len(late)} looks, {line['reason']['text']}")
        for is_right, what in found:
            ok(is_right, what)
    wait_until(lambda: two.process.poll() is not None)
    begin = numbers_of(two)[0]
    both = [number for number in numbers_of(watch) if number >= begin][:len(numbers_of(two))]
    ok(two.process.poll() == 0 and len({unit for _, unit in both}) == 2 and
       numbers_of(two) == both and len({unit for _, unit in both[:-1]}) == 1 and
       (len(both) > 2 or both[0][1] not in units_of(watch, "late")),
       "-n 2 ends with the second late unit, not the second record")

    time.sleep(5)
    before = len(folded.lines())
    for _ in range(10):
        victim.do("sleep 100")
    wait_until(lambda: (new := folded.lines()[before:]) and
               len(reported(new)) + repeated(new) >= 10)
    new = folded.lines()[before:]
    again = [line for line in new if line["kind"] == "repeated"]
    first = reported(new)
    # A busy host may make them differ in where they were.
    ok(first and len(set(first.values())) == len(first),
       f"of ten equal alerts the first is reported, in {len(first)} places")
    ok(repeated(new) == repeated(new, "ended") == 10 - len(first) and
       again[0]["elapsed_ns"]["min"] >= 100 * MS and again[0]["function"] == "sleep_here" and
       again[0]["seq"] in [line["seq"] for line in new if line["kind"] != "repeated"],
       "and the others by their number")
    # One that no look meets while it runs has only its end reported.
    ok(wait_until(lambda: len(long(watch, 100)) >= 10 + 3 and
                  units_of(watch, "late") <= units_of(watch, "ended")),
       "without a window each late unit and its end are reported")
    for one in (watch, folded, text):
        one.process.send_signal(2)
    text.process.wait(PATIENCE)
    printed = text.text()
    ok("sleep_here" in printed and "look at" in printed and "\033" not in printed and
       max(map(len, printed.splitlines())) < 80, "text for people, without colours in a file")
    in_schema(audit.finish().lines, ("ready", "late", "ended", "slow", "loop", "lost", "requests"),
              "all that an audit has printed is in the schema")
    victim.end()


class Server:
    def __init__(self):
        self.process = subprocess.Popen([GUARDED, "serve", str(PORT), "/tmp/85.log"])
        STARTED.append(self.process)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect(("127.0.0.1", PORT))
        self.socket.settimeout(120)
        self.sent = 0
        time.sleep(0.5)

    def ask(self, kind, delay=0, delay_ms=0.0):
        self.sent += 1
        self.socket.send(struct.pack("<IIIIQQQ", kind, delay, MIDDLE, self.sent,
                                     int(delay_ms * MS), 3000, 0))
        self.socket.recv(64)

    def load(self, number, seed):
        subprocess.run([GUARDED, "load", str(PORT), str(seed), str(number), "steady"], check=True)


def thresholds():
    types = json.loads(collect("show", "--json", PROFILE).stdout)["types"]
    return [one["limits_ns"]["own"] for one in types]


def long(watch, delay_ms):
    return [line for line in watch.lines("ended") if line["elapsed_ns"] >= delay_ms * MS]


def is_for_sleep(line, delay_ms):
    parts = line["reason"]["parts"]
    return kinds_of(line)[:1] == ["sleep"] and line["reason"]["usual_ns"] and \
        parts[0]["excess_ns"] > 0.8 * delay_ms * MS


def delayed(server, watch, kind, delay):
    """The line of a unit that slept; another one's if the host kept it from a CPU as well."""
    line = None
    for _ in range(3):
        before = len(long(watch, delay))
        server.ask(kind, SLEEP, delay)
        if not wait_until(lambda: len(long(watch, delay)) > before):
            break
        line = long(watch, delay)[before]
        if is_for_sleep(line, delay):
            break
        note(f"kind {kind}: {line['reason']['text']}")
    return line


def watch_nothing(watch):
    """While nothing is late it only looks at the armed profiles now and then."""
    def used():
        task = pathlib.Path(f"/proc/{watch.process.pid}")
        status = dict(line.split(":", 1) for line in
                      (task / "status").read_text(encoding="utf-8").splitlines())
        return (int((task / "schedstat").read_text(encoding="utf-8").split()[0]),
                int(status["voluntary_ctxt_switches"]))

    # A unit that the host kept from a CPU before may have been late.
    for _ in range(3):
        time.sleep(11)
        (cpu, wakes), begin = used(), time.monotonic()
        time.sleep(20)
        seconds = time.monotonic() - begin
        cpu, wakes = used()[0] - cpu, used()[1] - wakes
        is_idle = wakes <= seconds / 5 + 1 and cpu < 0.01 * seconds * 1e9
        if is_idle:
            break
    ok(is_idle, f"idle it woke {wakes} times in {seconds:.0f} s, for {cpu / MS:.1f} ms of CPU time")


def readers_of(watch):
    """The processes that read files of programs for it."""
    task = pathlib.Path(f"/proc/{watch.process.pid}/task/{watch.process.pid}/children")
    return [int(pid) for pid in task.read_text(encoding="ascii").split()]


def report_while_busy():
    """Somebody waits for the page: it is made at the usual priority, and nothing is silent for long."""
    ours, its = pty.openpty()
    os.set_blocking(ours, False)
    last = time.monotonic()
    report = subprocess.Popen([COLLECT, "report", "-o", "/tmp/85.busy.html", "live"],
                              stdin=subprocess.DEVNULL, stderr=its)
    STARTED.append(report)
    silence, levels, said = 0, set(), b""
    while report.poll() is None and silence < PATIENCE:
        levels.add(os.getpriority(os.PRIO_PROCESS, report.pid))
        time.sleep(0.05)
        silence = max(silence, time.monotonic() - last)
        try:
            said += os.read(ours, 4096)
            last = time.monotonic()
        except BlockingIOError:
            pass
    for line in said.decode().splitlines():
        note(line)
    ok(report.poll() == 0 and silence < (30 if IS_SLOW else 4),
       f"on a busy machine report live is never silent for longer than {silence:.1f} s")
    ok(19 not in levels, "and has the priority of who waits for it")


def watch_while_busy(server, delay):
    """
    Programs that leave no CPU time do not keep the first alert from who has just begun to watch:
    what it needs of files was read before the priority was lowered.
    """
    busy = [subprocess.Popen(["/bin/sh", "-c", "while :; do :; done"])
            for _ in range(os.cpu_count())]
    STARTED.extend(busy)
    for options in ((), ("--json",)):
        watch = Watch("--window", 0, *options, leads_session=True)
        wait_until(lambda: os.sched_getscheduler(watch.process.pid) == os.SCHED_BATCH)
        readers, begin = readers_of(watch), time.monotonic()
        # A busy host may make another unit late before.
        is_first = not watch.text()
        server.ask(MIDDLE, SLEEP, delay)
        wait_until(watch.text)
        if is_first:
            note(f"the first alert is there after {time.monotonic() - begin:.1f} s")
        new = set(readers_of(watch)) - set(readers)
        # One more may read the kernel's own code in the process.
        ok(len(readers) >= 2 and len(new) <= 1 and
           all(os.getpriority(os.PRIO_PROCESS, pid) == 19 for pid in readers),
           f"before the first alert it has read files of programs: {len(readers)}, "
           f"with it {len(new)} ({' '.join(options) or 'text'})")
        watch.process.send_signal(2)
    report_while_busy()
    for one in busy:
        one.kill()


def watch_a_profile():
    server = Server()
    # On a fast host units are so short that 2 % are not enough for a guard for each type but one.
    trained = collect("train", "-o", PROFILE, "--hits", 1, "--workload",
                      f"{GUARDED} load {PORT} 1 4000 steady", "-p", server.process.pid,
                      timeout=300)
    armed = collect("arm", "--budget", "none", PROFILE)
    if not ok(trained.returncode == 0 and armed.returncode == 0, "trained and armed"):
        note(trained.stderr + armed.stderr)
        return
    watch = Watch("--json")
    single = Watch("--json", "--window", 0)
    text = Watch()
    server.load(1000, 2)
    time.sleep(6)
    watch_nothing(watch)
    # On a busy host what is normal takes long, too.
    delay = max(300, 1.5 * max(thresholds()) / MS)
    note(f"each type once with a delay of {delay:.0f} ms")
    ended = [line for kind in range(NR_TYPES) if (line := delayed(server, single, kind, delay))]
    if not ok(len(ended) == NR_TYPES, f"{len(ended)} late units of {NR_TYPES} were reported"):
        return
    ok(len({line["type"] for line in ended}) == NR_TYPES,
       "late units of different types are distinguished")
    # The type that no guard identifies has no name.
    ok(sum(line["type_name"] is not None for line in ended) >= NR_TYPES - 1 and
       all(0.5 <= line["confidence"] <= 1 for line in ended), "with names and confidence")
    ok(all(is_for_sleep(line, delay) for line in ended),
       "and with what is usual for them")
    ok(all(not any(context["unusual"] for context in line["contexts"]) for line in ended),
       "what they ran is not: only the time is out of the ordinary")

    kind = min(range(NR_TYPES), key=lambda kind: ended[kind]["threshold_ns"])
    slow = ended[kind]["type"]
    delay = max(ended[kind]["threshold_ns"] / MS * 1.3, 5)
    note(f"type {slow}, each takes {delay:.1f} ms")
    server.load(400, 3)
    end = time.monotonic() + PATIENCE
    levels = []
    while not levels and time.monotonic() < end:
        for _ in range(10):
            server.ask(kind, SLEEP, delay)
        levels = watch.lines("level")
    ok(len(levels) == 1 and levels[0]["type"] == slow and levels[0]["slow"] and
       levels[0]["part"] == "blocked" and levels[0]["level_ns"] >= delay * MS / 2 and
       levels[0]["before_ns"] < levels[0]["level_ns"] / 2 and levels[0]["late"] >= 20, "a type that is slow as a whole is reported as a change of level")
    before = len(watch.lines())
    for _ in range(40):
        server.ask(kind, SLEEP, delay)
    time.sleep(11)
    # One may be late before it meets the guard that identifies its type, and one that the host
    # keeps from a CPU may be far beyond.
    since = [line for line in watch.lines()[before:]
             if line["kind"] == "late" and line["type"] == slow and
             line["elapsed_ns"] < FAR_OUT * levels[0]["level_ns"]]
    for line in since[:3]:
        note(f"{ {name: line[name] for name in ('seq', 'unit', 'elapsed_ns', 'found_by')} }")
    ok(not since, "its late units are not reported singly any more")
    end = time.monotonic() + PATIENCE
    while len(levels) < 2 and time.monotonic() < end:
        for _ in range(100):
            server.ask(kind)
        time.sleep(0.5)
        levels = watch.lines("level")
    ok(len(levels) == 2 and not levels[1]["slow"] and levels[1]["level_ns"] < delay * MS,
       "and when the level is back, that is reported")
    reported = [line for line in single.lines() if line["kind"] in ("late", "ended")]
    ok({line["unit"] for line in reported if line["kind"] == "late"} <=
       {line["unit"] for line in reported if line["kind"] == "ended"} and
       sum(line["kind"] == "ended" and line["type"] == slow for line in reported) > 60,
       "without a window all of them are reported")
    for one in (watch, single, text):
        one.process.send_signal(2)
        one.process.wait(PATIENCE)
    ok(not any(line["kind"] == "novel" for line in single.lines()), "none fits no type")
    printed = text.text()
    ok(f"type {slow}" in printed and " SLOW " in printed and "instead of" in printed and
       max(map(len, printed.splitlines())) < 80, "people read it, too")
    for line in printed.splitlines():
        note(line)
    watch_while_busy(server, max(300, 1.5 * max(thresholds()) / MS))
    made = collect("report", "-o", "/tmp/85.html", "live")
    page = pathlib.Path("/tmp/85.html").read_text(encoding="utf-8") if not made.returncode else ""
    # Those that are sampled have a picture; the alerts are those that the module still has.
    missing = [words for words in ("Types of units now", "guarded for", "In detail")
               if words not in page]
    live = page.partition("id=live>")[2]
    rows, pictures = live.count("<tr><td"), live.count("<td class=picture><svg")
    status = [json.loads(line) for line in collect("status", "--json").stdout.splitlines()]
    counted = sum(line["kind"] == "type" and line["units"] + line["late"] > 0 for line in status)
    # Of those with few units the module has the times of none, maybe; twelve are shown.
    ok(not missing and rows == min(counted, 12) and 0 < pictures <= rows,
       f"a page of what is armed now: {rows} of {counted} types, {pictures} distributions, {missing}")
    in_schema(Watch.all_lines() + status,
              ("late", "ended", "level", "target", "process", "profile", "guard", "type", "hook",
               "module"), "all that watch and status have printed is in the schema")
    collect("disarm", "--all")
    server.process.kill()


try:
    watch_an_audit()
    watch_a_profile()
finally:
    for started in STARTED:
        started.kill()
done()
