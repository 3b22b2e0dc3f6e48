# SPDX-License-Identifier: GPL-2.0
"""tests/eval/results/guards.md"""

import report

HOW = """Each program is Debian's own, with a small configuration, in the VM, and was trained by
`pg-collect train` under the labelled mix of requests of [training](training.md),
sent by four clients. Then its profile is armed, and the same mix comes again, in another order.

While the guards are on, every function that the profile knows carries another probe, whose hits
tell each unit's whole call tree; so the module's verdict on a unit stands beside what the unit
was. This makes units many times longer, so in these runs only types count.

* **Inference**: each guard hit and each unit is inferred again by a reference that shares no code
with the module, from the profile's tables: all weights of all contexts met, for all types.
* **Units**: those that the call trees tell of, and those of them that the module told of, too.
* **Guards**: how many of these the module had right at their end. What a unit was is the type of
its call tree; of a tree that training never saw, the type of the tree that is nearest to it by energy
distance. Asked is what the profile predicts for units that training held back; and, at 1, 2 and 4
hits a unit, what was asked of training.
* **Beside the paper**: its rule, which counts hits, applied to the same hits; a unit without a hit
has no type by it.
* **Budgets**: the same by guards chosen anew for that share of the time, or that many hits a unit,
offline, by the calls that were recorded. Types that the guards cannot tell apart become one, so the
number of types stands beside it, and what training predicts for the types as they were.
* **False alarms**: a normal run with nothing but the guards on. A unit that is late in it is a false
alarm; asked is no more than the declared rate makes likely (two-sided, 95 %). What disturbs the
emulated machine from outside (it shares two processors) counts against the product here. Units
that fit no type, and hits, are to be about as many as the profile predicts.

"As told" asks for what the profile predicts, which stands behind the stroke: shares may be 2 points
worse, hits 1.2 times as many. Lines without anything asked are for information."""


def page(results, kernels):
    counts = report.tally(results)
    out = ["# Guards on real servers: asked and got", "",
           "Written by `make eval-guards`; not to be edited.", "", HOW, "",
           f"{counts['met']} met, {counts['missed']} missed, {counts['failed']} failed."]
    for program, per_kernel in report.by_program(results):
        head = next(iter(per_kernel.values()))
        runs = ", ".join(f"Linux {kernel} ({result['release'] or 'no answer'}) on {result['date']}"
                         f" at {result['commit']}" for kernel, result in per_kernel.items())
        out += ["", f"## {program}", "", f"{head['version']}.  Run on {runs}.", ""]
        out += report.page_table(per_kernel, kernels)
        notes = list(report.page_notes(per_kernel, kernels))
        out += ["", *notes] if notes else []
    return "\n".join(out) + "\n"
