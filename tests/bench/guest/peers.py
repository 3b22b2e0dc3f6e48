# SPDX-License-Identifier: GPL-2.0
"""In the guest, with instructions counted: the cost of a unit while each tool does the same job.

usage: peers.py UNITS BARE_KO ROUNDS STAP_DIR

The job: of each thread of a process, how many units it did and how long they took together, and how
often each of its guards was hit. A unit is what the thread does between two calls of epoll_wait.
STAP_DIR has SystemTap's KIND.ko, if it has any for this kernel.

One JSON object a line: kind, tool, mean and least (nanoseconds of a unit, which are instructions
where these are counted), units and hits (what the tool counted), or trouble.
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

UNITS, BARE_KO, ROUNDS, STAP_DIR = sys.argv[1:]
KINDS = ["none", "push", "mov"]
NR_HITS = 4
UNITS_A_ROUND = 100
ACCOUNT = 2
READY = "ready"


class Trouble(Exception):
    """A tool did not do the job, for the reason in the text."""


class Units:
    """The program that is measured."""

    def __init__(self):
        self.process = subprocess.Popen([UNITS], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, bufsize=1)
        self.pid = self.process.pid

    def ask(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise Trouble("the program ended")
        return answer.split()


class Tool:
    """A tool that runs in parallel; its last output has the counts.

    The guest's time jumps ahead while it waits for the host, so nothing here is bounded by it.
    """

    def __init__(self, command, is_ready=None):
        self.file = pathlib.Path(f"/tmp/{command[0]}.out")
        with open(self.file, "w", encoding="utf-8") as out:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out,
                                            stderr=subprocess.STDOUT)
        while not (is_ready() if is_ready else READY in self.said()):
            if self.process.poll() is not None:
                raise Trouble(f"{command[0]} ended: {self.said()[-300:]}")
            time.sleep(0.05)

    def said(self):
        return self.file.read_text(errors="replace")

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        return self.said()


class Fifos:
    """The pipes for starting perf, and for its answer."""

    def __init__(self):
        for path in ("/tmp/control", "/tmp/ack"):
            if not os.path.exists(path):
                os.mkfifo(path)
        self.control = os.open("/tmp/control", os.O_RDWR)
        self.ack = os.open("/tmp/ack", os.O_RDWR | os.O_NONBLOCK)
        os.write(self.control, b"enable\n")

    def is_answered(self):
        try:
            return b"ack" in os.read(self.ack, 64)
        except BlockingIOError:
            return False

    def close(self):
        os.close(self.control)
        os.close(self.ack)


def perf(verb, *options):
    """perf at work."""
    fifos = Fifos()
    try:
        return Tool(["perf", verb, "-D", "-1", "--control", "fifo:/tmp/control,/tmp/ack", *options],
                    fifos.is_answered)
    finally:
        fifos.close()


def functions(kind):
    return [f"{kind}{i}" for i in range(NR_HITS)] if kind != "none" else []


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Trouble(f"{command[0]}: {(done.stderr or done.stdout)[-300:]}")
    return done.stdout


# Each way yields once its tool is at work, then returns (units, hits) or None for what it cannot
# count.

def nothing(units, kind):
    yield
    return None, None


def bare(units, kind):
    """The kernel's own part: empty uprobes, and an empty return probe of the call."""
    offsets = ",".join(units.ask("probes", kind))
    run("insmod", BARE_KO, f"path={UNITS}", "call=__x64_sys_epoll_wait",
        *([f"offset={offsets}"] if offsets else []))
    yield
    run("rmmod", "bare")
    return None, None


def ours(units, kind, flags):
    units.ask("arm", kind, flags)
    yield
    counted, hits, stepped = map(int, units.ask("counts"))
    if stepped:
        raise Trouble(f"{stepped} hits were single-stepped")
    return counted, hits


BPFTRACE = {
    "tracepoint": ("tracepoint:syscalls:sys_exit_epoll_wait",
                   "tracepoint:syscalls:sys_enter_epoll_wait"),
    "kprobe": ("kretprobe:__x64_sys_epoll_wait", "kprobe:__x64_sys_epoll_wait"),
    "fentry": ("kretfunc:__x64_sys_epoll_wait", "kfunc:__x64_sys_epoll_wait"),
}


def bpftrace(units, kind, way):
    begin, end = BPFTRACE[way]
    script = (f"{begin} /pid == {units.pid}/ {{ @start[tid] = nsecs; }}\n"
              f"{end} /@start[tid]/ {{ @units[tid] = stats(nsecs - @start[tid]); }}\n"
              f'interval:s:1 {{ printf("{READY}\\n"); }}\n')
    for i, name in enumerate(functions(kind)):
        script = f"uprobe:{UNITS}:{name} {{ @hits{i} = count(); }}\n" + script
    tool = Tool(["bpftrace", "-B", "line", "-p", str(units.pid), "-e", script])
    yield
    said = tool.end()
    counted = re.search(rf"@units\[{units.pid}\]: count (\d+)", said)
    if not counted:
        raise Trouble(said[-300:])
    return int(counted[1]), sum(map(int, re.findall(r"@hits\d: (\d+)", said)))


def perf_events(kind):
    """Probes by perf probe, as options of perf."""
    names = functions(kind)
    for name in names:
        run("perf", "probe", "-q", "-x", UNITS, "-a", f"bench:{name}={name}")
    return [word for name in names for word in ("-e", f"bench:{name}")]


def perf_stat(units, kind):
    """It counts hits and calls; it does not time units."""
    events = perf_events(kind) + ["-e", "syscalls:sys_enter_epoll_wait"]
    tool = perf("stat", "-x,", *events, "-p", str(units.pid))
    yield
    said = tool.end()
    if kind != "none":
        run("perf", "probe", "-q", "-d", "bench:*")
    counts = {words[2]: int(words[0]) for words in
              (line.split(",") for line in said.splitlines()) if len(words) > 2}
    return (counts["syscalls:sys_enter_epoll_wait"],
            sum(count for name, count in counts.items() if name.startswith("bench:")))


def perf_record(units, kind):
    events = perf_events(kind) + ["-e", "syscalls:sys_enter_epoll_wait",
                                  "-e", "syscalls:sys_exit_epoll_wait"]
    tool = perf("record", "-q", "-m", "2M", "-o", "/tmp/perf.data", *events, "-p",
                str(units.pid))
    yield
    tool.end()
    said = run("perf", "script", "-i", "/tmp/perf.data", "-F", "tid,time,event")
    if kind != "none":
        run("perf", "probe", "-q", "-d", "bench:*")
    os.unlink("/tmp/perf.data")
    counted = hits = 0
    begun = {}
    for line in said.splitlines():
        tid, _, event = line.split(None, 2)
        if "sys_exit_epoll_wait" in event:
            begun[tid] = True
        elif "sys_enter_epoll_wait" in event:
            counted += begun.pop(tid, False)
        else:
            hits += 1
    return counted, hits


def systemtap(units, kind):
    module = pathlib.Path(STAP_DIR) / f"{kind}.ko"
    if not module.exists():
        raise Trouble("there is no module of it for this kernel")
    tool = Tool(["staprun", "-x", str(units.pid), str(module)])
    yield
    said = tool.end()
    counted = re.search(r"units (\d+)", said)
    if not counted:
        raise Trouble(f"it reported nothing: {said[-300:]}")
    return int(counted[1]), sum(map(int, re.findall(r"hits (\d+)", said)))


WAYS = {
    "none": nothing,
    "bare": bare,
    "perfguard": lambda units, kind: ours(units, kind, 0),
    "perfguard-account": lambda units, kind: ours(units, kind, ACCOUNT),
    "bpftrace-tracepoint": lambda units, kind: bpftrace(units, kind, "tracepoint"),
    "bpftrace-kprobe": lambda units, kind: bpftrace(units, kind, "kprobe"),
    "bpftrace-fentry": lambda units, kind: bpftrace(units, kind, "fentry"),
    "perf-stat": perf_stat,
    "perf-record": perf_record,
    "systemtap": systemtap,
}


def finish(way):
    try:
        next(way)
    except StopIteration as end:
        return end.value
    raise Trouble("it goes on")


def measure(units, kind, name):
    way = WAYS[name](units, kind)
    next(way)
    # Some install their probes when the thread runs.
    units.ask("measure", kind)
    mean, least = map(float, units.ask("measure", kind, ROUNDS))
    counted, hits = finish(way)
    # All of the measured units, and of the first ones those that it came to see.
    if counted is not None and counted < UNITS_A_ROUND * int(ROUNDS):
        raise Trouble(f"it counted {counted} units")
    if hits is not None and hits < len(functions(kind)) * UNITS_A_ROUND * int(ROUNDS):
        raise Trouble(f"it counted {hits} hits")
    return {"mean": mean, "least": least, "units": counted, "hits": hits}


def leave_overlay():
    """Have the program in memory, at its place: SystemTap can probe no file of an overlay, and perf
    keeps a link to a program, which is then another file there."""
    program = pathlib.Path(UNITS).read_bytes()
    run("mount", "-t", "tmpfs", "programs", str(pathlib.Path(UNITS).parent))
    pathlib.Path(UNITS).write_bytes(program)
    os.chmod(UNITS, 0o755)


def main():
    leave_overlay()
    units = Units()
    units.ask("measure", "none")
    for kind in KINDS:
        for name in WAYS:
            try:
                result = measure(units, kind, name)
            except (Trouble, OSError, LookupError, ValueError) as error:
                result = {"trouble": f"{type(error).__name__}: {error}"}
            print(json.dumps({"kind": kind, "tool": name, **result}), flush=True)


main()
