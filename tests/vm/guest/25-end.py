# SPDX-License-Identifier: GPL-2.0
"""What goes on unseen is no long unit: when an audit ends, and when a loop turns out to be none."""

import json
import subprocess
import threading
import time

from family import NUMBER, Family, u32
from perfguard import COLLECT, IS_SLOW, LONG, PATIENCE, Audit, Victim, done, note, ok

ROUNDS = 6
THRESHOLD = "400ms" if IS_SLOW else "40ms"
SLEEP_MS = 1000

victim = Victim()
watch = subprocess.Popen([COLLECT, "watch", "--json", "--duration", str(LONG)], text=True,
                         stdout=subprocess.PIPE)
ended = threading.Event()
longest = 0     # ns, from asking to the answer


def load():
    global longest
    while not ended.is_set():
        asked = time.monotonic_ns()
        victim.do("nothing")
        longest = max(longest, time.monotonic_ns() - asked)


threading.Thread(target=load, daemon=True).start()
units = 0
for _ in range(ROUNDS):
    audit = Audit("--duration", LONG, "--slower-than", THRESHOLD, "-p", victim.pid)
    audit.next("ready")
    audit.next("", 1)
    audit.finish()
    units += sum(loop["units"] for loop in audit.loops())
ended.set()
watch.send_signal(2)
lines = [json.loads(line) for line in watch.communicate(timeout=PATIENCE)[0].splitlines()]
late = [line for line in lines if line["kind"] == "late"]
note(f"{units} units in {ROUNDS} audits, {[line['elapsed_ns'] for line in late]}; the longest "
     f"answer took {longest} ns")
ok(units > 100, "the units of the short audits are counted")
# A busy host makes a unit late; it ends in the time of this answer or of the next one.
ok(all(line["elapsed_ns"] <= 2 * longest for line in late), "none was reported late that was not")

# The loop gets no wait of its own any more while a unit of it runs.
audit = Audit("--duration", LONG, "--slower-than", THRESHOLD, "-p", victim.pid)
audit.next("ready")
for _ in range(10):
    victim.do("nothing")
victim.send(f"sleep {SLEEP_MS}")
late = audit.next("late")
family = Family()
for loop in family.table("LOOP_GET", "LOOP"):
    family.do("LOOP_SET", u32(NUMBER["A_LOOP_IMAGE_ID"], loop["image_id"]))
victim.answer()
end = audit.next("ended", 30)
ok(late and end and end["unit"] == late["unit"],
   "a unit ends where its loop waited, also if no loop waits there any more")
audit.finish()
family.close()
victim.end()
done()
