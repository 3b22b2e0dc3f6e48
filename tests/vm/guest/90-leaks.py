# SPDX-License-Identifier: GPL-2.0
"""After all of the tests before: no memory is left behind (debug kernel)."""

import pathlib
import time

from perfguard import MODULE, VICTIM, Audit, Victim, collect, done, note, ok, run, skip

KMEMLEAK = pathlib.Path("/sys/kernel/debug/kmemleak")


def scan():
    """What kmemleak holds for lost; twice, for it takes a while to be sure."""
    for _ in range(2):
        KMEMLEAK.write_text("scan\n", encoding="ascii")
        time.sleep(6)
    return KMEMLEAK.read_text(encoding="ascii", errors="replace")


audit = Audit("--duration", 900, "--slower-than", "5ms", "-e", VICTIM)
victim = Victim("storm", "6")
victim.answer()
victim.end()
audit.finish()
ok(collect("disarm", "--all").returncode == 0, "nothing is armed")
ok(run("rmmod", "perfguard").returncode == 0, "the module goes")
if KMEMLEAK.exists():
    reports = [report for report in scan().split("unreferenced object")
               if "perfguard" in report or "pguard" in report]
    for report in reports[:3]:
        note(report.replace("\n", " | ")[:900])
    ok(not reports, "kmemleak finds nothing of ours")
else:
    skip("kmemleak finds nothing of ours", "not in this kernel")
run("insmod", MODULE)
done()
