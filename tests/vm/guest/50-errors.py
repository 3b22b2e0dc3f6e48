# SPDX-License-Identifier: GPL-2.0
"""Bad input: one clear line, the documented exit code, nothing left armed."""

import json
import os
import pathlib
import shutil
import subprocess

from perfguard import (COLLECT, MODULE, PATIENCE, VICTIM, Audit, Victim, collect, done, note, ok,
                       run)


def armed():
    lines = [json.loads(line) for line in collect("status", "--json").stdout.splitlines()]
    return any(line.get("kind") == "target" or line.get("targets") for line in lines)


def refused(text, code, *command):
    result = run(*command)
    lines = result.stderr.strip().splitlines()
    note(f"{text}: {result.returncode}, {lines}")
    ok(result.returncode == code and len(lines) == 1 and not result.stdout,
       f"{text}: exit {code} and one line")


def as_nobody(*command):
    return ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", *command]


foreign = pathlib.Path("/tmp/foreign")
image = bytearray(pathlib.Path(VICTIM).read_bytes())
image[18:20] = (183).to_bytes(2, "little")      # EM_AARCH64
foreign.write_bytes(image)
cut = pathlib.Path("/tmp/cut")
cut.write_bytes(pathlib.Path(VICTIM).read_bytes()[:40])
gone = subprocess.Popen(["true"])
gone.wait()
shutil.copy(COLLECT, "/tmp/pg-collect")

refused("a missing file", 1, COLLECT, "audit", "-e", "/nowhere/at/all")
refused("another architecture", 1, COLLECT, "audit", "-e", foreign)
refused("a cut file", 1, COLLECT, "audit", "-e", cut)
refused("a directory", 1, COLLECT, "audit", "-e", "/tmp")
refused("a process that is gone", 1, COLLECT, "audit", "-p", gone.pid)
refused("a kernel thread", 1, COLLECT, "audit", "-p", 2)
refused("no permission", 3, *as_nobody("/tmp/pg-collect", "audit", "-p", os.getpid()))
refused("no permission to disarm", 3, *as_nobody("/tmp/pg-collect", "disarm", "--all"))
refused("nothing to disarm", 1, COLLECT, "disarm", "999")
ok(not armed(), "nothing is armed after all that")

victim = Victim()
first = Audit("--duration", 900, "-e", VICTIM)
first.next("ready")
refused("an executable that is watched already", 1, COLLECT, "audit", "-e", VICTIM)
refused("a process that is watched already", 1, COLLECT, "audit", "-p", victim.pid)
ok(run("sysctl", "-w", "kernel.ftrace_enabled=0").returncode != 0,
   "ftrace cannot be switched off meanwhile")
first.finish()
ok(first.code == 0 and first.loops(), "the first one was not disturbed")

audit = Audit("--duration", 900, "-p", victim.pid)
audit.next("ready")
victim.do("nothing")
victim.do("nothing")
victim.end()
audit.next("")
ok(audit.process.wait(PATIENCE) in (0, 1), "an audit ends when its process does")
ok(not armed(), "and leaves nothing armed")

result = run("sysctl", "-w", "kernel.ftrace_enabled=0")
if ok(result.returncode == 0, "ftrace is switched off"):
    victim = Victim()
    refused("a kernel with ftrace off", 3, COLLECT, "audit", "--duration", 2, "-p", victim.pid)
    run("sysctl", "-w", "kernel.ftrace_enabled=1")
    ok(not armed(), "nothing is armed after that")
    victim.end()

run("rmmod", "perfguard")
refused("no module", 3, COLLECT, "audit", "-e", VICTIM)
refused("no module, status", 3, COLLECT, "status")
run("insmod", MODULE)
done()
