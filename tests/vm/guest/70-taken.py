# SPDX-License-Identifier: GPL-2.0
"""Where somebody else has the direct call, a kretprobe serves."""

import json
import os
import time

from perfguard import (TOP, Audit, Victim, collect, done, functions, near, note, ok, run, status,
                       wait_until)

TAKER = TOP / "build" / os.environ["PERFGUARD_KERNEL"] / "taker/taker.ko"


def hooks():
    return {line["name"]: line for line in status("hook")}


victim = Victim()
result = run("insmod", TAKER)
note(result.stderr.strip())
ok(result.returncode == 0, "another module takes the direct call of epoll_wait")
audit = Audit("--duration", 900, "--slower-than", "50ms", "-p", victim.pid)
ok(audit.next("ready"), "the audit works all the same")
note(json.dumps(hooks().get("epoll_wait")))
ok("kretprobe" in collect("status").stdout or
   not hooks().get("epoll_wait", {}).get("direct", True), "status reports the kretprobe")
UNITS = 50
for _ in range(UNITS):
    victim.do("nothing")
asked = time.monotonic_ns()
victim.do("sleep 1000")
most = time.monotonic_ns() - asked
ended = audit.next_long("ended", 1000)
late = [line for line in audit.kind("late") if line["unit"] == ended["unit"]]
ok(late and "sleep_here" in functions(late[0]["stacks"][0]), "a late unit is found, with its stack")
ok(ended in audit.slept("ended", 1000) and ended["time_ns"]["blocked"] <= most,
   "and its time accounted")
start = time.monotonic()
audit.finish()
note(f"ended in {time.monotonic() - start:.2f} s, {audit.loops()[0]['units']} units")
# The thread slept when we came: its first unit was not seen.
ok(near(audit.loops()[0]["units"], UNITS, 0.05), "the units are counted")
ok(victim.do("nothing") == "ok", "the program goes on after it")
victim.end()

victim = Victim()
audit = Audit("--duration", 900, "-p", victim.pid)
audit.next("ready")
victim.do("nothing")
ok(collect("disarm", "--all").returncode == 0, "disarmed while a thread sleeps there")
# The audit's last question holds it.
ok(wait_until(lambda: run("rmmod", "perfguard").returncode == 0), "and the module goes")
ok(victim.do("nothing") == "ok", "the sleeper wakes as if nothing had been")
audit.finish()
victim.end()
run("rmmod", "taker")
run("insmod", os.environ["PERFGUARD_KO"])
done()
