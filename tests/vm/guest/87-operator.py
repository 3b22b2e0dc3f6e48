# SPDX-License-Identifier: GPL-2.0
"""What an operator does wrong, or finds changed: it is refused or said, with what to do."""

import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import time

from perfguard import (COLLECT, IS_SLOW, LONG, TOP, Audit, collect, done, note, ok, run, skip,
                       status, wait_until, watching)

PORT = "7187"
TMP = pathlib.Path("/tmp/operator")
GUARDED = TOP / "build/tests/vm/guarded"
# Of files of their own: the client is not learnt, and the server can be replaced.
SERVER, PLAYER = TMP / "server", TMP / "player"
PROFILE, OTHER = TMP / "server.pgp", TMP / "other.pgp"
KINDS = (2, 3, 7)
NR, FEW = 200, 20


def requests(name, nr):
    path = TMP / name
    number = random.Random(1)
    with open(path, "wb") as file:
        for seq in range(nr):
            file.write(struct.pack("<4I3Q", number.choice(KINDS), 0, 0, seq, 0, 4000, 0))
    return path


class Server:
    def __init__(self, port=PORT):
        self.process = subprocess.Popen([SERVER, "serve", port, TMP / f"log-{port}"])
        self.pid = self.process.pid
        wait_until(lambda: f":{int(port):04X} " in pathlib.Path("/proc/net/udp").read_text(
            encoding="ascii"))
        time.sleep(0.5)

    def end(self):
        self.process.kill()
        self.process.wait()


def play(name):
    return f"{PLAYER} play {PORT} {TMP / name}"


def train_command(path, load, *options):
    return [COLLECT, "train", "-v", "-o", path, "--workload", load, "--hits", "2", *options, "-e",
            SERVER]


def train(path, load, *options):
    return run(*train_command(path, load, *options), timeout=LONG)


def last_line(text):
    return text.strip().splitlines()[-1] if text.strip() else ""


def said(result, code, text, *words):
    """It exited so, with all of the words in what it printed."""
    both = result.stdout + result.stderr
    note(f"{time.monotonic():.0f} s: {last_line(both)}")
    missing = [word for word in words if word not in both]
    if not ok(result.returncode == code and not missing, text):
        note(f"exit {result.returncode}, without {missing}: {both[-900:]}")


def daemon():
    result = collect("audit", "--", "/bin/sh", "-c", "sleep 787 > /dev/null 2>&1 & sleep 1", timeout=LONG)
    left = [int(path.parent.name) for path in pathlib.Path("/proc").glob("[0-9]*/cmdline")
            if path.read_bytes().split(b"\x00") == [b"sleep", b"787", b""]]
    said(result, result.returncode, "what a command leaves running is reported",
         f"sh has ended and left 1 process running: {left[0] if left else '?'};")
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    result = collect("audit", "--", "/bin/sh", "-c", "sleep 1", timeout=LONG)
    ok("left" not in result.stderr, "one that leaves nothing has nothing said of it")


def untaught():
    """Trainings that teach nothing."""
    said(train(OTHER, f"{play('many')}; exit 3"), 1, "a workload that fails is the end",
         "the workload failed in the stage of coverage (exit status 3)", "--workload-may-fail")
    said(train(OTHER, f"{play('few')}"), 1, "few units teach nothing",
         "too little to learn from: ", "in the stage of structure, and it takes 30")
    load = f"grep -q timing /run/perfguard/target-* || {play('many')}"
    said(train(OTHER, load), 1, "nor does a load that is over before units are timed",
         "0 units were seen in the stage of timing")
    ok(not list(TMP.glob("other*")), "no profile is written, nor anything beside it")


def begin(stage):
    """A training that stays in this stage."""
    load = f"{play('many')}; while grep -qs {stage} /run/perfguard/target-*; do sleep 1; done"
    return subprocess.Popen(train_command(OTHER, load), stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def holder():
    found = [line["holder"] for line in status("target")]
    return found[0] if found else None


def notes():
    """Of who holds a target; one that was killed leaves its own."""
    return set(pathlib.Path("/run/perfguard").glob("target-*"))


def interrupted():
    before = notes()
    for stage in ("structure", "timing"):
        trainer = begin(stage)
        seen = wait_until(lambda s=stage: (holder() or {}).get("stage") == s or
                          trainer.poll() is not None) and trainer.poll() is None
        one = holder() or {}
        text = collect("status").stdout
        ok(seen and one.get("pid") == trainer.pid and one.get("verb") == "train" and
           one.get("since"), f"status names who trains, in the stage of {stage}: {one}")
        if not ok(f"held by 'pg-collect train', process {trainer.pid} of root" in text and
                  f"in the stage of {stage} since" in text and "4611686018" not in text,
                  "to people, too, without a threshold that is none"):
            note(text)
        said(collect("disarm", SERVER), 0, "disarm says what it ends",
             f"ended 'pg-collect train', process {trainer.pid} of root, in the stage of {stage}")
        try:
            errors = trainer.communicate(timeout=60)[1]
        except subprocess.TimeoutExpired:
            errors = "it goes on"
        note(last_line(errors))
        ok(trainer.returncode == 1 and not OTHER.exists() and last_line(errors) ==
           f"pg-collect: ended by 'pg-collect disarm' in the stage of {stage}; nothing is learnt of it",
           "and the training, in its last line, that it was ended")
        if trainer.poll() is None:
            trainer.kill()
    ok(wait_until(lambda: not notes() - before),
       "no note is left of them")


def guarded(server):
    """What is guarded is not trained, and what is audited is not armed."""
    result = collect("arm", "--budget", "none", PROFILE)
    ok(result.returncode == 0, "armed")
    number = status("target")[0]["id"]
    words = f"is guarded by target {number}, with {PROFILE}; 'pg-collect disarm {number}' first"
    said(collect("train", "-o", OTHER, "-p", server.pid), 1, "a guarded process is not trained",
         f"cannot train: {SERVER} {words}")
    said(collect("audit", "-e", SERVER), 1, "nor its program audited", f"cannot audit: {SERVER} {words}")
    ok(status("target")[0]["holder"] is None, "nobody holds it")
    collect("disarm", "--all")
    audit = Audit("--duration", 900, "-e", SERVER)
    wait_until(holder)
    said(collect("arm", PROFILE), 1, "an audited program is not armed",
         f"is watched by 'pg-collect audit', process {audit.process.pid} of root; wait for its end")
    ok("held by 'pg-collect audit'" in collect("status").stdout, "status names who audits")
    audit.finish()


def several():
    """Programs that are started apart are counted when their common file is armed."""
    result = collect("arm", PROFILE)
    ok("command lines" not in result.stdout, "one program is not said to be several")
    other = Server("7188")
    said(collect("arm", PROFILE), 0, "two command lines of one file are",
         "2 now", "with 2 command lines, of 1 user:", "serve 7188", "--cgroup and --uid")
    other.end()
    collect("disarm", "--all")


def replace(by):
    """As an update of a package does."""
    shutil.copy(by, TMP / "new")
    os.replace(TMP / "new", SERVER)


def target():
    found = status("target")
    return found[0] if len(found) == 1 else {}


def lines_of(path):
    """Of watch's output, those about files that were replaced; the last may be cut."""
    whole = path.read_text(encoding="utf-8").rpartition("\n")[0]
    return [line for line in map(json.loads, whole.splitlines()) if line["kind"] == "replaced"]


def updated(server):
    """The same build comes in place of what is armed, and the server is started again."""
    collect("arm", PROFILE)
    number, path = target().get("id"), TMP / "watched"
    ok(target().get("replaced", 0) is None, "the file is the one that was armed")
    with open(path, "wb") as file:
        watch = watching("--json", stdout=file)
    replace(GUARDED)
    server.end()
    server = Server()
    begin = time.monotonic()
    wait_until(lambda: lines_of(path), 120)
    note(f"reported after {time.monotonic() - begin:.1f} s")
    time.sleep(12)
    watch.send_signal(signal.SIGINT)
    watch.wait()
    lines = lines_of(path)
    ok(len(lines) == 1 and lines[0]["build"] == "same" and lines[0]["target"] == number and
       lines[0]["exe"] == str(SERVER), f"watch reports it once: {lines}")
    ok((target().get("replaced"), target().get("unguarded")) == ("same", 1), "status has it")
    said(collect("status"), 0, "and says it to people", f"REPLACED: {SERVER} was replaced since it was "
         f"armed: processes started since then are not guarded (now 1: {server.pid}); arm again: "
         f"'pg-collect arm {PROFILE}'")
    said(collect("arm", PROFILE), 0, "arming it again replaces the target", "1 now",
         f"target {number}, of the file that was there before")
    ok(target().get("processes") == 1 and target().get("replaced", 0) is None,
       "so there is one, which guards the server")
    number = target().get("id")
    replace(GUARDED)
    said(collect("arm", PROFILE), 0, "one that still has processes stays beside the new one",
         f"target {number}, of the file that was there before", "guards 1 of its processes on")
    ok(len(status("target")) == 2, "so there are two")
    said(collect("disarm", SERVER), 0, "the path means both", f"disarmed target {number}: {SERVER}")
    ok(not status("target"), "and they are gone")
    collect("arm", PROFILE)
    replace("/bin/sleep")
    ok(target().get("replaced") == "other", "another build is found out")
    said(collect("status"), 0, "and is to be carried or learnt", "it is another build: take the profile "
         f"over to it, 'pg-collect learn --carry {PROFILE} -o NEW', or train, 'pg-collect train "
         f"-o NEW -e {SERVER}'")
    os.unlink(SERVER)
    said(collect("status"), 0, "so is a file that was removed", f"{SERVER} was removed since it was armed")
    said(collect("disarm", SERVER.name), 0, "its name still means the target", "disarmed target")
    return server


def main():
    shutil.rmtree(TMP, ignore_errors=True)
    TMP.mkdir()
    daemon()
    if IS_SLOW:
        skip("training", "with all of the kernel's checks on it takes too long to train")
        done()
    for path in (SERVER, PLAYER):
        shutil.copy(GUARDED, path)
    requests("many", NR)
    requests("few", FEW)
    server = Server()
    untaught()
    interrupted()
    said(train(PROFILE, f"{play('many')}; exit 3", "--workload-may-fail"), 0,
         "a workload that may fail is learnt from", "warning: the workload failed in the stage of timing")
    if PROFILE.exists():
        guarded(server)
        several()
        server = updated(server)
    server.end()
    done()


main()
