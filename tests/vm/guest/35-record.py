# SPDX-License-Identifier: GPL-2.0
"""Record mode: sites, the training stream, and that nothing of it stays."""

import errno
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import threading
import time

from perfguard import (IS_SLOW, MODULE, PATIENCE, VICTIM, Victim, done, note, ok, run, skip,
                       wait_until)
from record import (CALLED, END, ENTER, HIT, INHERIT, LEAVE, LOST, ONE_SHOT, OWNED, RECORD, START,
                    Called, Recorder, byte_at, changed_bytes, file_offset, functions, kinds,
                    mappings)

READ = 0                                # the system call in which a program awaits a line
ENOTSUPP = 524
PARAMETER = pathlib.Path("/sys/module/perfguard/parameters/stream_mib")
STORM_MS = 20000 if IS_SLOW else 8000


class Setting:
    """A recorder with the stream open, a program, and its target."""

    def __init__(self, kind="pid", flags=OWNED, sites=(), site_flags=0):
        self.recorder = Recorder()
        self.program = Called()
        self.target = self.recorder.watch(kind, self.program.pid if kind == "pid" else CALLED,
                                          flags)
        self.recorder.ask("open")
        if sites:
            self.add(sites, site_flags)

    def add(self, names, flags=0):
        """Sites at functions of the program; their ids count from 1."""
        return self.recorder.sites(self.target, CALLED, [
            (self.program.offset(name), i + 1, 0) for i, name in enumerate(names)], flags)

    def end(self):
        self.program.end()
        self.recorder.end()


def all_sites(path, first=0):
    return [(offset, first + i, 0) for i, offset in enumerate(functions(path))]


def many_sites(path, first=0):
    """All, or some where all take too long."""
    return all_sites(path, first)[:: 8 if IS_SLOW else 1]


def library(pid, name):
    return next(path for *_, path in mappings(pid) if f"/{name}" in path)


def rising(events):
    """Whether each thread has another time for each event."""
    times = [(event.tid, event.time) for event in events if event.kind != LOST]
    return len(set(times)) == len(times)


def structure():
    """Hits carry the stack pointer at the entry, and the return address."""
    setting = Setting(flags=OWNED | RECORD)
    recorder, program = setting.recorder, setting.program
    ok(setting.add(program.NAMES)[1:] == (0, {}), "sites are added")
    notes, tid = program.notes("call 3")
    events = recorder.read()
    hits = [(hit.number, hit.sp, hit.value) for hit in kinds(events, HIT, tid)]
    ok(hits[-3:] == [(i + 1, *wanted) for i, wanted in enumerate(notes)] and len(hits) == 9,
       "each hit has its site, stack pointer and return address")
    image = events[0].value >> 32
    ok(events[0].kind == START and events[0].value & 0xffffffff == program.pid and image,
       "a thread's first event identifies its process and image, also before its first wait")

    _, tid = program.notes("thread 2")
    events = recorder.read()
    mine = [event for event in events if event.tid == tid]
    ok([event.kind for event in mine] == [START] + 6 * [HIT] + [END] and
       mine[0].value == program.pid | image << 32,
       "a thread that never waits is recorded from its first hit to its end")
    ok(rising(events), "times of one thread rise")
    ok(float(recorder.off(setting.target)) < PATIENCE and
       changed_bytes(program.pid, CALLED) == 0, "taken off, no byte of the code is changed")
    # As if inner()'s entry were a site of middle()'s, further down the stack.
    recorder.sites(setting.target, CALLED, [(program.offset("inner"), 1,
                                             notes[1][0] - notes[2][0])])
    notes, _ = program.notes("call 1")
    ok([(hit.sp, hit.value) for hit in kinds(recorder.read(), HIT)] == [notes[1]],
       "a site's distance to the entry is added to the stack pointer")
    setting.end()


def loop_context(pid, enter):
    """Some return address on the stack of a thread that waits, and its distance."""
    code = [(start, end) for start, end, permissions, *_ in mappings(pid) if "x" in permissions]
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        memory.seek(enter.sp)
        for i, (word,) in enumerate(struct.iter_unpack("<Q", memory.read(1024))):
            if i and any(start < word < end for start, end in code):
                return word, 8 * i
    return 0, 0


def waits():
    """Wait calls are recorded while the flag is set and the stream open."""
    setting = Setting()
    recorder, program, target = setting.recorder, setting.program, setting.target
    program.do("call 1")
    ok(not recorder.read(), "without the flag, wait calls are not recorded")
    recorder.ask("flags", target, OWNED | RECORD)
    program.do("call 1")
    program.do("call 1")
    events = recorder.read()
    pairs = [event for event in events if event.kind in (ENTER, LEAVE)]
    enter = pairs[0]
    ok(events[0].kind == START and [event.kind for event in pairs] == [ENTER, LEAVE, ENTER] and
       {event.number for event in pairs} == {READ}, "with it, they are, from the next one on")
    ok(pairs[1].sp == 0 and pairs[1].value == len("call 1\n") and
       "libc" in file_offset(program.pid, enter.value)[0] and pairs[1].time > enter.time,
       "with the place, the first argument and the result")

    address, distance = loop_context(program.pid, enter)
    recorder.ask("loop", events[0].value >> 32, 7, READ, hex(address), distance)
    program.do("call 1")
    program.do("call 1")
    pairs = [event for event in recorder.read() if event.kind in (ENTER, LEAVE)]
    ok([(event.kind, event.number) for event in pairs] ==
       [(LEAVE, READ), (ENTER, READ | 7 << 12), (LEAVE, READ | 7 << 12), (ENTER, READ | 7 << 12)],
       "the wait of a known loop has the loop's number")

    recorder.ask("close")
    program.do("call 1")
    recorder.ask("open")
    ok(not recorder.read(), "what happens while the stream is closed is not recorded")
    program.do("call 1")
    program.do("call 1")
    events = recorder.read()
    ok([event.kind for event in events] == [START, ENTER, LEAVE, ENTER],
       "opened again, each thread is introduced again")
    recorder.ask("flags", target, OWNED)
    program.do("call 1")
    recorder.read()
    program.do("call 1")
    ok(not recorder.read(), "the flag taken off, no more is recorded")
    recorder.ask("flags", target, OWNED | RECORD)
    program.do("call 1")
    recorder.read()
    program.send("exec")
    program.hear()
    program.do("call 1")
    events = recorder.read()
    kinds_seen = [event.kind for event in events]
    ok(kinds_seen[:2] == [LEAVE, END] and START in kinds_seen[2:],
       "an exec ends the thread's events, and it is introduced as what it is then")
    setting.end()


def coverage():
    """One-shot sites on all functions of the program."""
    recorder = Recorder()
    program = Called()
    target = recorder.watch("exe", CALLED)
    sites = all_sites(CALLED)
    number = {offset: i for offset, i, _ in sites}
    recorder.ask("open")
    seconds, refused, which = recorder.sites(target, CALLED, sites, ONE_SHOT)
    note(f"coverage: {len(sites)} sites in {seconds} s, refused {which}")
    ok(refused == 0, "all functions of a program can be probed")
    before = changed_bytes(program.pid, CALLED)
    program.do("threads 8 50")
    program.do("call 5")
    hits = [hit.number for hit in kinds(recorder.read(), HIT)]
    seen = {name: number[program.offset(name)] in hits for name in program.NAMES}
    ok(len(set(hits)) == len(hits) and
       seen == {"outer": True, "middle": True, "inner": True, "never": False},
       "each function that runs is recorded once, whatever threads run it")
    ok(changed_bytes(program.pid, CALLED) == before - len(hits),
       "and its breakpoint is gone, the others are not")
    program.do("threads 8 50")
    program.do("call 5")
    ok(not kinds(recorder.read(), HIT), "nothing is recorded again")
    other = Called()
    other.do("call 1")
    hits = [hit.number for hit in kinds(recorder.read(), HIT)]
    ok(not set(hits) & {number[program.offset(name)] for name in program.NAMES[:3]},
       "nor in another process of the target")
    ok(recorder.ask("status")[1:] == [str(len(sites)), "0", f"{target}:{len(sites)}"],
       "status has the number of sites")
    recorder.off(target)
    ok(changed_bytes(program.pid, CALLED) + changed_bytes(other.pid, CALLED) == 0,
       "taken off, no byte is changed")
    for each in (program, other, recorder):
        each.end()


def others():
    """Who is no target is left alone."""
    recorder = Recorder()
    other = Called()
    program = Called()
    target = recorder.watch("pid", program.pid)
    recorder.ask("open")
    libc = library(program.pid, "libc.so")
    sites = many_sites(libc, 1000)
    seconds, refused, which = recorder.sites(target, libc, sites)
    note(f"libc: {len(sites)} sites in {seconds} s, refused {refused} {which}")
    recorder.sites(target, CALLED, [(program.offset("outer"), 1, 0)])
    ok(refused < 100 and seconds < PATIENCE, "all functions of libc are probed")
    ok(changed_bytes(program.pid, libc) == len(sites) - refused and
       changed_bytes(other.pid, libc) + changed_bytes(other.pid, CALLED) == 0,
       "there are breakpoints in the target, and in no other process")
    late = Called()
    victim = Victim()
    ok(sum(changed_bytes(each.pid, libc) for each in (late, victim)) == 0,
       "nor in those that come later")
    other.do("call 3")
    late.do("call 3")
    program.do("call 1")
    hits = kinds(recorder.read(), HIT)
    ok({hit.tid for hit in hits} == {program.pid} and 1 in {hit.number for hit in hits},
       "only its hits are recorded")

    child = int(program.do("fork"))
    wait_until(lambda: byte_at(child, program.address["outer"]) != 0xcc)
    program.do("call 1")
    hits = kinds(recorder.read(), HIT)
    ok(byte_at(child, program.address["outer"]) != 0xcc and
       not [hit for hit in hits if hit.tid == child],
       "a child that is none loses the breakpoints it comes by")
    ok(byte_at(program.pid, program.address["outer"]) == 0xcc and
       [hit for hit in hits if hit.number == 1], "its parent keeps them")
    program.do("share")
    ok(byte_at(program.pid, program.address["outer"]) == 0xcc,
       "also if the child has its parent's memory")
    seconds = recorder.off(target)
    note(f"libc: off in {seconds} s")
    ok(seconds < PATIENCE and sum(changed_bytes(pid, path) for pid in (program.pid, child)
                                  for path in (libc, CALLED)) == 0,
       "taken off, parent and child have the bytes of the file")
    program.do("reap")
    for each in (program, other, late, victim, recorder):
        each.end()


def comings():
    """Sites wait for programs and libraries; children by the target's kind."""
    recorder = Recorder()
    first = Called()
    offset = first.offset("outer")
    first.end()
    target = recorder.watch("exe", CALLED)
    recorder.ask("open")
    libm = library_file("libm.so.6")
    recorder.sites(target, CALLED, [(offset, 1, 0)])
    recorder.sites(target, libm, all_sites(libm, 1000))
    numbers = {place: i for place, i, _ in all_sites(libm, 1000)}
    program = Called()
    notes, tid = program.notes("call 1")
    hits = kinds(recorder.read(), HIT)
    ok([(hit.number, hit.tid, hit.sp, hit.value) for hit in hits] == [(1, tid, *notes[0])],
       "a site that was added before the program starts is hit")
    address = int(program.do("library libm.so.6 cbrt"), 16)
    hits = [hit.number for hit in kinds(recorder.read(), HIT)]
    ok(numbers[file_offset(program.pid, address)[1]] in hits,
       "and one in a library that is loaded later")
    child = int(program.do("fork"))
    hits = kinds(recorder.read(), HIT)
    ok([(hit.number, hit.tid) for hit in hits if hit.number == 1] == [(1, child)],
       "the children of an executable's process are recorded")
    program.do("reap")
    program.end()
    recorder.end()

    setting = Setting(flags=OWNED | INHERIT, sites=["outer"])
    program = setting.program
    child = int(program.do("fork"))
    hits = kinds(setting.recorder.read(), HIT)
    ok([hit.tid for hit in hits] == [child], "those of a process if the request says so")
    program.do("reap")
    program.send("exec")
    program.hear()
    program.do("call 2")
    hits = kinds(setting.recorder.read(), HIT)
    ok([hit.tid for hit in hits] == 2 * [program.pid], "a process keeps its sites in an exec")
    before = setting.recorder.ask("status")
    program.end()
    ok(before[1] == "1" and wait_until(lambda: setting.recorder.ask("status")[1] == "0"),
       "they go with its end")
    setting.end()


def library_file(name):
    """Where the loader finds a library: where some process has it."""
    base = pathlib.Path(library(os.getpid(), "libc.so"))
    return str((base.parent / name).resolve())


def overflow():
    """What finds no room is counted and reported."""
    before = int(PARAMETER.read_text(encoding="ascii"))
    PARAMETER.write_text("1", encoding="ascii")
    refused = 0
    for value in ("0", "1025", "x"):
        try:
            PARAMETER.write_text(value, encoding="ascii")
        except OSError:
            refused += 1
    ok(refused == 3, "a size of the stream that makes no sense is refused")
    setting = Setting(sites=["outer", "middle", "inner"])
    recorder, program = setting.recorder, setting.program
    lost_before = int(recorder.ask("status")[2])
    rounds = 15000
    program.do(f"threads 4 {rounds}")
    events = recorder.read()
    lost_status = int(recorder.ask("status")[2]) - lost_before
    hits, lost = len(kinds(events, HIT)), sum(event.value for event in kinds(events, LOST))
    # The threads' ends found no room either, or were recorded.
    ends = len(kinds(events, END))
    note(f"{hits} hits read, {lost} events lost, status says {lost_status}")
    ok(lost and hits + lost + ends == 4 * (3 * rounds + 1), "hits and lost events are all there are")
    ok(lost == lost_status, "status counts the lost ones, too")
    notes, tid = program.notes("call 1")
    ok([(hit.sp, hit.value) for hit in kinds(recorder.read(), HIT, tid)] == notes,
       "afterwards all is recorded again")
    setting.end()
    PARAMETER.write_text(str(before), encoding="ascii")


def refusals():
    """Every refusal says why, and one bad site stops no other."""
    setting = Setting()
    recorder, program, target = setting.recorder, setting.program, setting.target
    second = Recorder()
    answer = second.ask("open")
    ok(answer[:2] == ["error", str(errno.EBUSY)] and "another program" in " ".join(answer),
       "a second reader of the stream is refused")
    second.end()
    for options, wanted in (("--reuid=65534", "Permission denied"),
                            ("--bounding-set=-sys_admin", "Operation not permitted")):
        result = run("setpriv", options, "head", "-c32", "/dev/perfguard")
        ok(result.returncode != 0 and wanted in result.stderr, f"so is one with {options}")

    inner = program.offset("inner")
    size = os.path.getsize(CALLED)
    sites = [(inner, 1, 0), (size, 2, 0), (1 << 63, 3, 0), (inner, 1 << 28, 0),
             (inner, 5, 1 << 20), ((1 << 64) - 1, 6, 0), (program.offset("outer"), 7, 0)]
    _, refused, which = recorder.sites(target, CALLED, sites)
    ok(which == {i: errno.EINVAL for i in (2, 3, 1 << 28, 5, 6)} and refused == 5,
       "sites outside of the file or with numbers out of range are refused")
    program.do("call 1")
    ok([hit.number for hit in kinds(recorder.read(), HIT)] == [7, 1], "the others are probed")
    libc = library(program.pid, "libc.so")
    data = pathlib.Path(libc).read_bytes()
    trap = trap_offset(program.pid, libc, data)
    _, _, which = recorder.sites(target, libc, [(trap, 9, 0)])
    ok(which == {9: ENOTSUPP}, "an instruction that cannot be probed is refused")
    for path, text, number in (
            ("/nowhere", "not an open file", errno.EBADF),
            ("/tmp", "not a regular file", errno.EINVAL),
            ("/dev/null", "not a regular file", errno.EINVAL),
            ("/proc/self/status", "can be executed", errno.EACCES)):
        answer = recorder.sites(target, path, [(0, 1, 0)])
        ok(answer[:2] == ["error", str(number)] and text in " ".join(answer),
           f"sites in {path} are refused: {text}")
    for target_id in (0, target + 1000):
        answer = recorder.sites(target_id, CALLED, [(inner, 1, 0)])
        ok(answer[:2] == ["error", str(errno.ENOENT)] and "no such target" in " ".join(answer),
           f"so are those for target {target_id}")
    ok(recorder.ask("off", target + 1000)[1] == str(errno.ENOENT), "and taking them off")
    if IS_SLOW:
        skip("there is a limit to all of them", "it takes minutes there")
        setting.end()
        return
    for i in range(0, 300000, 60000):
        answer = recorder.sites(target, CALLED, [(inner, 1, 0)] * 60000)
        if answer[0] == "error":
            break
    ok(answer[0] == "error" and answer[1] == str(errno.ENOSPC) and "too many" in " ".join(answer),
       "there is a limit to all of them")
    seconds = recorder.off(target)
    note(f"240000 probes at one place: off in {seconds} s")
    setting.end()


def trap_offset(pid, path, data):
    """A byte of the code that is a trap already."""
    for start, end, permissions, offset, mapped in mappings(pid):
        if mapped == path and "x" in permissions:
            place = data.find(b"\xcc", offset, offset + end - start)
            if place >= 0:
                return place
    return data.find(b"\xcc")


def killed():
    """The collector is killed: its probes go."""
    setting = Setting(kind="exe", sites=["outer", "middle", "inner"])
    program = setting.program
    libc = library(program.pid, "libc.so")
    sites = many_sites(libc, 1000)
    setting.recorder.sites(setting.target, libc, sites)
    changed = changed_bytes(program.pid, libc)
    setting.recorder.end()
    gone = wait_until(lambda: changed_bytes(program.pid, libc) == 0 and
                      changed_bytes(program.pid, CALLED) == 0)
    ok(changed > len(sites) - 100 and gone, "kill -9 of the collector leaves no breakpoint")
    ok(len(program.do("call 1").split()) == 7, "the program runs on")
    program.end()


def storm():
    """Probes come and go while threads run through them, fork and execute."""
    recorder = Recorder()
    recorder.ask("open")
    program = Called()
    libc = library(program.pid, "libc.so")
    sites, mine = many_sites(libc, 1000), all_sites(CALLED)
    program.send(f"storm {STORM_MS}")
    end = time.monotonic() + STORM_MS / 1000 - 1
    rounds = events = 0
    worst = 0.0
    while time.monotonic() < end:
        target = recorder.watch("exe", CALLED, OWNED | RECORD)
        recorder.sites(target, libc, sites, rounds % 2 * ONE_SHOT)
        recorder.sites(target, CALLED, mine)
        events += len(recorder.read(300))
        if rounds % 3:
            worst = max(worst, recorder.off(target))
        worst = max(worst, float(recorder.ask("forget", target)[1]))
        rounds += 1
    ok(program.answer() == "ok", "the program comes through a storm of probes")
    note(f"{rounds} rounds, {events} events, the longest way off took {worst:.2f} s")
    ok(rounds and events and worst < PATIENCE, "they come and go")
    ok(changed_bytes(program.pid, libc) + changed_bytes(program.pid, CALLED) == 0,
       "and leave nothing")
    target = recorder.watch("exe", CALLED, OWNED | RECORD)
    recorder.sites(target, libc, sites)
    program.send(f"storm {STORM_MS // 4}")
    ok(run("rmmod", "perfguard").returncode != 0, "rmmod is refused while probes are on")
    recorder.end()
    unloaded = wait_until(lambda: run("rmmod", "perfguard").returncode == 0)
    ok(unloaded and not pathlib.Path("/dev/perfguard").exists(),
       "without the collector the module goes, and its device")
    ok(program.answer() == "ok" and changed_bytes(program.pid, libc) == 0,
       "the program does not notice")
    program.end()
    run("insmod", MODULE)


class Client(threading.Thread):
    """Asks the database server for sums it knows, as long as it is to."""

    ROWS = 40

    def __init__(self, command):
        super().__init__()
        self.command = command
        self.good = self.bad = 0
        self.ending = threading.Event()

    def sql(self, *statements):
        return subprocess.run(self.command, input="".join(line + ";\n" for line in statements),
                              text=True, capture_output=True, timeout=PATIENCE,
                              check=False)

    def fill(self):
        self.sql("create database d", "create table d.t (a int primary key, b int) engine=innodb",
                 *(f"insert into d.t values ({i}, {i})" for i in range(self.ROWS)))

    def run(self):
        turn = 0
        while not self.ending.is_set():
            turn += 1
            answer = self.sql(*(f"update d.t set b = a + {turn} where a = {i}"
                                for i in range(self.ROWS)), "select sum(b) from d.t")
            wanted = sum(range(self.ROWS)) + turn * self.ROWS
            if answer.stdout.split() == ["sum(b)", str(wanted)]:
                self.good += 1
            else:
                self.bad += 1
                note(answer.stderr)


def mariadb_start(base):
    options = ["--no-defaults", f"--datadir={base}/data", f"--socket={base}/socket", "--user=root",
               "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=16M",
               "--innodb-log-file-size=8M"]
    run("mariadb-install-db", *options, "--auth-root-authentication-method=normal",
        "--skip-test-db")
    server = subprocess.Popen(["mariadbd", *options, "--skip-networking"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    client = Client(["mariadb", f"--socket={base}/socket"])
    wait_until(lambda: client.sql("select 1").returncode == 0)
    client.fill()
    return server, client


def mariadb():
    """All functions of a large program, armed and disarmed while it answers."""
    base = pathlib.Path(tempfile.mkdtemp())
    path = os.path.realpath(shutil.which("mariadbd") or "mariadbd")
    server, client = mariadb_start(base)
    recorder = Recorder()
    sites = all_sites(path)
    client.start()
    target = recorder.watch("exe", path, OWNED | RECORD)
    recorder.ask("open")
    for flags, text in ((ONE_SHOT, "one-shot"), (0, "each hit")):
        seconds, refused, _ = recorder.sites(target, path, sites, flags)
        events = recorder.read(3000)
        off = recorder.off(target)
        lost = sum(event.value for event in kinds(events, LOST))
        hits = {event.number for event in kinds(events, HIT)}
        note(f"mariadb, {text}: {len(sites)} sites in {seconds} s, {refused} refused; "
             f"{len(events)} events, {lost} lost, {len(hits)} functions; off in {off} s")
        ok(max(seconds, off) < PATIENCE and refused < 100,
           f"all functions of a database server are armed and disarmed: {text}")
        ok(len(hits) > 200 and changed_bytes(server.pid, path) == 0,
           "many are hit, and no byte is left changed")
    client.ending.set()
    client.join()
    note(f"{client.good} answers were right, {client.bad} wrong")
    ok(client.good > 2 and not client.bad, "its clients had the right answers all the time")
    recorder.end()
    server.terminate()
    server.wait(PATIENCE)


for test in (structure, waits, coverage, others, comings, overflow, refusals, killed, storm):
    note(test.__name__)
    test()
if IS_SLOW:
    skip("all functions of a database server", "it would take an hour there")
elif shutil.which("mariadbd"):
    mariadb()
else:
    skip("all functions of a database server", "mariadbd is not installed")
done()
