# SPDX-License-Identifier: GPL-2.0
"""After all of the tests before: no memory is left behind (debug kernel)."""

from perfguard import MODULE, VICTIM, Audit, Victim, collect, done, no_leaks, ok, run

audit = Audit("--duration", 900, "--slower-than", "5ms", "-e", VICTIM)
victim = Victim("storm", "6")
victim.answer()
victim.end()
audit.finish()
ok(collect("disarm", "--all").returncode == 0, "nothing is armed")
ok(run("rmmod", "perfguard").returncode == 0, "the module goes")
no_leaks("kmemleak finds nothing of ours")
run("insmod", MODULE)
done()
