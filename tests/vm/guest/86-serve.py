# SPDX-License-Identifier: GPL-2.0
"""The service: it arms, keeps each alert, says how it is, reloads without a gap, and survives."""

import collections
import http.server
import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import threading
import time
import urllib.error
import urllib.request

from guarded import reload as reload_module
from perfguard import (IS_SLOW, LONG, MS, TOP, collect, done, in_schema, note, ok, run,
                       skip, status, wait_until)
from serving import JOURNAL, Journal, Serve, Socket

PORT, METRICS = "7186", "7187"
TMP = pathlib.Path("/tmp/serve")
PROFILES, CONFIG, SPOOL = TMP / "profiles.d", TMP / "perfguard.conf", TMP / "spool"
SERVER, PLAYER = TMP / "server", TMP / "player"
HOOKED, OTHERS = TMP / "hooked", TMP / "others"
SPIN, MIDDLE = 2, 1
NOBODY = 65534
KINDS = (2, 3, 7)
NR, SLOW_MS, RELOADS = 600, 150, 4
ARMED, NOT_ARMED, DISARMED, SPOOL_FAILED, SPOOL_GOES_ON, LATE, ENDED, LOST = (
    "ed0ef48f52e24db09f658de45e10d3b7", "6b961067e13e4e19b96ac015b23d2122",
    "fe1a387639014683bb6e99051e19ac7b", "8ed1f2df574649b1b863a2381f9739a7",
    "e96bdb69d8f84e529b6bf5c720b574b0", "fe86aa21d29f4d8da02e7cda398f32f2",
    "a78fade9de234a089c4502da16845d50", "331ba2e98735421f9be0f2ae6f25b802")


def requests(name, nr, delay_ms=0, gap_ms=0):
    """A file of requests; with a delay each spins for so long."""
    number = random.Random(name)
    with open(TMP / name, "wb") as file:
        for seq in range(nr):
            file.write(struct.pack("<4I3Q", number.choice(KINDS), SPIN if delay_ms else 0, MIDDLE,
                                   seq, delay_ms * MS, 4000, gap_ms * MS))


def start_server():
    """Another user's, so that its files and stacks are not root's own."""
    server = subprocess.Popen([SERVER, "serve", PORT, OTHERS / "log"], user=NOBODY, group=NOBODY)
    wait_until(lambda: f":{int(PORT):04X} " in pathlib.Path("/proc/net/udp").read_text(
        encoding="ascii"))
    time.sleep(0.5)
    return server


def play(name):
    return run(PLAYER, "play", PORT, TMP / name, timeout=LONG).returncode == 0


def configure(*lines, spool=SPOOL):
    CONFIG.write_text("\n".join((f"profiles = {PROFILES}", f"spool = {spool}", "window = none",
                                 *lines)) + "\n", encoding="utf-8")


def spooled(*options, spool=SPOOL):
    text = collect("watch", "--spool", spool, "--json", *options).stdout
    return [json.loads(line) for line in text.splitlines()]


def slow_ones(kind):
    """Of this kind, about what was slow on purpose: on a busy host others are late, too."""
    return [line for line in spooled() if line["kind"] == kind and
            line["elapsed_ns"] >= SLOW_MS * MS]


def kinds(lines):
    return collections.Counter(line["kind"] for line in lines)


def errors():
    return (TMP / "err").read_text()


def begin(notify, journal):
    hook = TMP / "hook"
    # Two may run at once.
    hook.write_text(f"#!/bin/sh\nexec 9>> {HOOKED}\nflock 9\ncat >&9\necho >&9\n")
    hook.chmod(0o755)
    (PROFILES / "bad.pgp").write_bytes((PROFILES / "server.pgp").read_bytes()[:5000])
    configure("budget = none", f"on-alert = {hook}")
    serve = Serve(notify, CONFIG, METRICS)
    if not ok(serve.process.poll() is None and serve.count("READY=1") == 1, "it is ready"):
        note(errors())
        done()
    armed = status("profile")
    ok([one["name"] for one in armed] == [str(PROFILES / "server.pgp")],
       "when the profile of the directory is armed")
    ok([one["PERFGUARD_PROFILE"] for one in journal.ids(ARMED)] == [str(PROFILES / "server.pgp")],
       "the journal has that, with an id")
    refused = journal.ids(NOT_ARMED)
    ok(refused and {one["PERFGUARD_PROFILE"] for one in refused} == {str(PROFILES / "bad.pgp")} and
       {one["PRIORITY"] for one in refused} == {"3"} and "damaged" in refused[0]["MESSAGE"],
       "and that another one cannot be, as it is damaged")
    ok("guarding by 1 of 2 profiles" in serve.status()[0], "so does what it says of itself")
    return serve


def alert(serve, journal):
    play("one-slow")
    ok(wait_until(lambda: slow_ones("ended")), "a late unit is in the spool")
    line = slow_ones("ended")[-1]
    ok(line["exe"] == str(SERVER) and line["elapsed_ns"] >= SLOW_MS * MS and line["hot_path"],
       f"with all that watch says: {line['elapsed_ns'] / MS:.0f} ms")
    text = collect("watch", "--spool", SPOOL)
    ok(text.returncode == 0 and "LATE server" in text.stdout and "ended server" in text.stdout,
       "for people, too")
    ok(wait_until(lambda: [one for one in journal.ids(ENDED)
                           if int(one["PERFGUARD_SEQ"]) == line["seq"]]), "the journal has it")
    late = journal.ids(LATE)[-1]
    ok(late["PRIORITY"] == "4" and late["PERFGUARD_EXE"] == str(SERVER) and
       json.loads(late["PERFGUARD_JSON"])["seq"] == int(late["PERFGUARD_SEQ"]) and
       late["MESSAGE"].count("\n") >= 3, "with its fields")
    ok(wait_until(lambda: HOOKED.exists() and HOOKED.read_text().count("\n{") + 1 >= 2),
       "the command for alerts was run")
    hooked = [json.loads(line) for line in HOOKED.read_text().splitlines() if line]
    ok({"late", "ended"} <= set(kinds(hooked)), "with its JSON")
    ok(serve.wait("WATCHDOG=1", 3), "the watchdog is fed")
    again = spooled("--unwind")
    old, new = ([frame["function"] for frame in one["stacks"][0]["frames"]]
                for one in ([line for line in lines if line["kind"] == "late"][-1]
                            for lines in (spooled(), again)))
    ok(kinds(again)["ended"] and old == new and len(old) > 2,
       f"its stacks can be unwound once more: {len(new)} frames")
    brief, short = spooled("--brief"), spooled("--unwind", "--brief")
    ok([one["key"] for one in brief] == [one["key"] for one in spooled()] and
       {one["key"] for one in short} == {one["key"] for one in again},
       "an alert has the same key whoever reads it, and when")
    ok(all("hot_path" in one and not {"stacks", "functions", "contexts"} & set(one)
           for one in brief + short if one["kind"] in ("late", "ended")),
       "in brief they have their hot path only")
    in_schema(spooled() + again + brief + short, ("late", "ended"), "all are in the schema")


def fetch(accept="text/plain", path="/metrics"):
    """The answer's status, type and lines."""
    request = urllib.request.Request(f"http://127.0.0.1:{METRICS}{path}", headers={"Accept": accept})
    try:
        with urllib.request.urlopen(request, timeout=LONG) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read().decode().split("\n")
    except urllib.error.HTTPError as error:
        return error.code, "", []


def total(lines, name, *labels):
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines
               if line.startswith((name + "{", name + " ")) and all(one in line for one in labels))


def metrics():
    """What the service has counted, by HTTP."""
    play("trained")
    first, begun = len(spooled()), time.monotonic()
    code, content, lines = fetch()
    note(f"{len(lines)} lines after {1000 * (time.monotonic() - begun):.0f} ms")
    ok(code == 200 and content.startswith("text/plain; version=0.0.4"), "it has metrics")
    profile, = status("profile")
    ok(total(lines, "perfguard_profile_units_total", f'exe="{SERVER}"') == profile["units"] > 0 and
       0 < total(lines, "perfguard_units_total", 'type="') <= profile["units"] and
       total(lines, "perfguard_unit_duration_seconds_count") > 0,
       f"they have each unit: {profile['units']}")
    ok(total(lines, "perfguard_alerts_total", 'kind="ended"') >= 1 and
       first <= total(lines, "perfguard_spool_alerts") <= len(spooled()) and
       total(lines, "perfguard_profiles", 'state="armed"') == 1 and
       total(lines, "perfguard_guard_hits_total") > 0, "its alerts, its spool, and what guards do")
    ok(fetch("application/openmetrics-text;version=1.0.0")[1].startswith("application/openmetrics") and
       fetch(path="/")[0] == 404, "as OpenMetrics, too, and nothing else")


class Load:
    """Plays the same requests again and again."""

    def __init__(self, name):
        self.rounds, self.is_over, self.name = 0, False, name
        self.thread = threading.Thread(target=self.play)
        self.thread.start()

    def play(self):
        while not self.is_over and play(self.name):
            self.rounds += 1

    def end(self):
        """How many requests that were."""
        self.is_over = True
        self.thread.join()
        return self.rounds * (TMP / self.name).stat().st_size // 40


def reload(serve):
    """With another budget, again and again, while units run."""
    before = status("target")[0]["units"]
    load = Load("trained")
    for i in range(RELOADS):
        configure(f"budget = {3 + i % 2}")
        serve.signal(signal.SIGHUP)
        serve.wait("READY=1", 2 + i)
    played = load.end()
    target, profile = status("target"), status("profile")
    ok(serve.count("RELOADING=1") == RELOADS and serve.count("READY=1") == 1 + RELOADS,
       f"reloaded {RELOADS} times under load, and said so")
    ok(len(target) == 1 and abs(target[0]["units"] - before - played) <= 3,
       f"no unit was missed meanwhile: {target[0]['units'] - before} of {played}")
    ok(round(100 * profile[0]["budget"]) == 3 + (RELOADS - 1) % 2,
       f"the budget is the new one: {profile[0]['budget']}")
    CONFIG.write_text("bugdet = 3\n")
    serve.signal(signal.SIGHUP)
    ok(serve.wait("READY=1", 2 + RELOADS) and len(status("profile")) == 1,
       "a configuration that is wrong changes nothing")


def killed(serve, notify):
    """What comes while nobody reads is there afterwards."""
    configure("budget = none")
    play("slow")
    serve.signal(signal.SIGKILL)
    serve.process.wait()
    at_death = len(spooled())
    ok(len(status("profile")) == 1, "killed, it leaves the program guarded")
    play("slow")
    serve = Serve(notify, CONFIG, METRICS)
    play("slow")
    wait_until(lambda: spooled()[-1]["kind"] == "ended" and len(spooled()) > at_death)
    time.sleep(2)
    lines = spooled()
    numbers = [line["seq"] for line in lines
               if line["kind"] in ("late", "ended", "novel", "request")]
    lost = sum(line["count"] for line in lines if line["kind"] == "lost")
    note(f"{at_death} when it died, {len(lines)} now: {kinds(lines)}")
    ok(len(numbers) == len(set(numbers)), "no alert is there twice")
    ok(len(numbers) + lost == max(numbers), f"{len(numbers)} of {max(numbers)} alerts are there, "
       f"and {lost} are counted as lost")
    ok(lost == 0, "none is lost")
    return serve


def full(serve, notify, journal):
    disk = TMP / "disk"
    disk.mkdir()
    run("mount", "-t", "tmpfs", "-o", "size=400k", "none", disk)
    spool = disk / "spool"
    configure("budget = none", spool=spool)
    serve.signal(signal.SIGHUP)
    serve.wait("READY=1", 2)
    play("slow")
    play("slow")
    ok(wait_until(lambda: journal.ids(SPOOL_FAILED)), "a full disk is reported")
    wait_until(lambda: serve.status()[1]["not"] > 0)
    line, numbers = serve.status()
    ok(numbers["not"] > 0 and len(journal.ids(SPOOL_FAILED)) == 1, f"once, and counted: {line}")
    run("mount", "-o", "remount,size=64m", disk)
    ok(wait_until(lambda: play("one-slow") and journal.ids(SPOOL_GOES_ON)),
       "with room again it goes on")
    ok(spooled(spool=spool)[-1]["kind"] in ("late", "ended"), "and keeps what comes")
    configure("budget = none", "spool-alerts = 10", spool=spool)
    serve.signal(signal.SIGHUP)
    serve.wait("READY=1", 3)
    play("slow")
    ok(wait_until(lambda: serve.status()[1]["dropped"] > 0) and len(spooled(spool=spool)) <= 10,
       f"a spool that is full drops the oldest, and counts them: {serve.status()[0]}")


def running(words):
    """The processes whose command lines have this in them."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += [path.parent.name] if words in path.read_bytes() else []
        except OSError:     # it has ended
            pass
    return found


def sleepers():
    return running(b"/bin/sleep\x001086\x00")


def hanging(serve):
    configure("budget = none", "on-alert = /bin/sleep 1086", "on-alert-timeout = 5s",
              "on-alert-most = 2")
    serve.signal(signal.SIGHUP)
    serve.wait("READY=1", 4)
    most, load = 0, subprocess.Popen([PLAYER, "play", PORT, TMP / "slow"])
    while load.poll() is None:
        most = max(most, len(sleepers()))
        time.sleep(0.05)
    ok(most == 2, f"of a command that hangs {most} run at once")
    ok(wait_until(lambda: serve.status()[1]["too"] >= 2), f"they are ended: {serve.status()[0]}")
    configure("budget = none", f"silence = 2199-01-01 {SERVER.name}", spool=TMP / "silent")
    serve.signal(signal.SIGHUP)
    serve.wait("READY=1", 5)
    reported = serve.status()[1]["alerts"]
    play("one-slow")
    ok(wait_until(lambda: kinds(spooled(spool=TMP / "silent"))["ended"]), "a silenced alert is spooled")
    ok(wait_until(lambda: serve.status()[1]["silenced"] >= 2) and
       serve.status()[1]["alerts"] == reported, "and reported nowhere else")


def learning(serve, journal):
    """The limits of this machine, learnt into the profile and armed."""
    before, old = len(journal.ids(ARMED)), (PROFILES / "server.pgp").read_bytes()
    configure("budget = none", "adapt = 8s")
    serve.signal(signal.SIGHUP)
    serve.wait("READY=1", 6)
    load = Load("trained")
    ok(wait_until(lambda: len(journal.ids(ARMED)) > before + 1) and
       (PROFILES / "server.pgp").read_bytes() != old,
       "limits are learnt into the profile, which is armed again")
    load.end()
    note((errors().strip().splitlines() or ["nothing on stderr"])[-1])
    ok(wait_until(lambda: running(b"learn\x00--live\x00")), "and learnt once more, for longer")
    configure("budget = none", spool=TMP / "silent")
    serve.signal(signal.SIGHUP)
    serve.wait("READY=1", 7)


def replaced(server, journal):
    """The file of the program is replaced by the same build, as an update of a package may do."""
    before = len(journal.ids(ARMED))
    copy = TMP / "copy"
    shutil.copy(SERVER, copy)
    copy.rename(SERVER)
    ok(wait_until(lambda: len(journal.ids(ARMED)) > before), "a program that was replaced is armed again")
    ok(sorted(one["processes"] for one in status("profile")) == [0, 1],
       "beside the process that runs what was there before")
    server.kill()
    server.wait()
    server = start_server()
    ok(wait_until(lambda: sum(one["processes"] for one in status("profile")) == 1),
       "and the process that is started next is guarded")
    return server


def end(serve, notify, journal):
    ok(serve.end() == 0 and serve.count("STOPPING=1") == 1, "it ends by SIGTERM, and says so")
    ok(not status("target") and journal.ids(DISARMED), "with what it armed disarmed")
    ok(not sleepers(), "and nothing left that it started")
    configure("budget = none", "keep-armed = yes")
    serve = Serve(notify, CONFIG, METRICS)
    ok(serve.end() == 0 and len(status("profile")) == 1, "or kept, if that is wanted")
    (PROFILES / "server.pgp").rename(TMP / "moved.pgp")
    serve = Serve(notify, CONFIG, METRICS)
    ok(not status("profile"), "a profile that is there no more is disarmed by the next one")
    serve.end()
    run("umount", TMP / "disk")
    log = run("dmesg").stdout
    ok(all(f"{what} by pg-collect, process " in log and ", uid 0" in log
           for what in ("armed", "disarmed", "trained on")) and
       f": {PROFILES / 'server.pgp'}\n" in log, "the kernel's log has who did what")
    journal.end()
    (TMP / "moved.pgp").rename(PROFILES / "server.pgp")
    serve = Serve(notify, CONFIG, METRICS)
    play("one-slow")
    ok(wait_until(lambda: "ended server" in (TMP / "out").read_text()),
       "without a journal alerts go to stdout")
    serve.end()
    forwarded(notify)


class Collector(http.server.BaseHTTPRequestHandler):
    """What takes log records, on a machine that has nothing else for them."""
    records = []

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.records += [record for one in request["resourceLogs"]
                         for record in one["scopeLogs"][0]["logRecords"]]
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


def attributes():
    """Of all records, as (key, value)."""
    return [(one["key"], one["value"]) for record in list(Collector.records)
            for one in record["attributes"]]


def forwarders():
    return running(b"forward\x00--child\x00")


def forwarded(notify):
    """Alerts go on to another machine, by a process of their own."""
    server = http.server.HTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    configure("budget = none", f"otlp = http://127.0.0.1:{server.server_port}")
    serve = Serve(notify, CONFIG, METRICS)
    play("one-slow")
    last = slow_ones("ended")[-1]["seq"]
    ok(wait_until(lambda: any(value == {"intValue": str(last)} for key, value in attributes()
                              if key == "perfguard.seq")), "alerts are passed on to a collector")
    # All that the ring and the spool had from before goes, too.
    ok(wait_until(lambda: ", 0 waiting" in serve.status()[0] and
                  serve.status()[1].get("passed") == len(Collector.records)),
       f"it says how many: {serve.status()[0]}")
    text = collect("status", "--config", CONFIG).stdout
    lines = [json.loads(line) for line in
             collect("status", "--json", "--config", CONFIG).stdout.splitlines()]
    output, = [line for line in lines if line["kind"] == "output"]
    ok(f"otlp: {output['passed']} passed on, " in text and output["output"] == "otlp" and
       output["passed"] == len(Collector.records) and not output["lost"],
       f"so does status: {text.splitlines()[-1].strip()}")
    in_schema(lines, ("output",), "which is in the schema")
    page = fetch()[2]
    ok(f'perfguard_forward_passed_total{{output="otlp"}} {output["passed"]}' in page and
       'perfguard_forward_lost_total{output="otlp"} 0' in page and
       any(line.startswith('perfguard_forward_waiting{output="otlp"}') for line in page),
       "and the metrics")
    first = forwarders()
    capabilities = [line.split()[1] for line in
                    pathlib.Path(f"/proc/{first[0]}/status").read_text().splitlines()
                    if line.startswith(("CapEff", "CapPrm"))]
    ok(len(first) == 1 and set(capabilities) == {"0" * 16}, "by a process without capabilities")
    os.kill(int(first[0]), signal.SIGKILL)
    ok(wait_until(lambda: len(forwarders()) == 1 and forwarders() != first),
       "which is started again when it has ended")
    nr = len(Collector.records)
    play("one-slow")
    ok(wait_until(lambda: len(Collector.records) > nr), "and goes on")
    uids = [value["stringValue"] for key, value in attributes() if key == "log.record.uid"]
    ok(len(uids) == len(Collector.records) == len(set(uids)), "with what is new")
    serve.signal(signal.SIGKILL)
    serve.process.wait()
    ok(wait_until(lambda: not forwarders()), "it ends with the service, however that ends")
    server.shutdown()


def main():
    TMP.mkdir(exist_ok=True)
    PROFILES.mkdir()
    OTHERS.mkdir()
    os.chown(OTHERS, NOBODY, NOBODY)
    for path in (SERVER, PLAYER):
        shutil.copy(TOP / "build/tests/vm/guarded", path)
    if IS_SLOW:
        skip("a service", "with all of the kernel's checks on it takes too long to train")
        done()
    reload_module(512)      # what others left in its ring is not read
    requests("trained", NR)
    requests("slow", 12, SLOW_MS, 20)
    requests("one-slow", 1, SLOW_MS)
    server = start_server()
    result = collect("train", "-o", PROFILES / "server.pgp", "--workload",
                     f"{PLAYER} play {PORT} {TMP / 'trained'}", "--hits", "2", "-e", SERVER,
                     timeout=LONG)
    if not ok(result.returncode == 0, "a server is trained"):
        note(result.stderr[-600:])
        done()
    notify, journal = Socket(TMP / "notify"), Journal(JOURNAL)
    serve = begin(notify, journal)
    alert(serve, journal)
    metrics()
    reload(serve)
    serve = killed(serve, notify)
    full(serve, notify, journal)
    hanging(serve)
    learning(serve, journal)
    server = replaced(server, journal)
    end(serve, notify, journal)
    server.kill()
    ok(collect("disarm", "--all").returncode == 0, "what was kept is disarmed")
    done()


main()
