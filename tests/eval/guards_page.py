# SPDX-License-Identifier: GPL-2.0
"""tests/eval/results/guards.md"""

import report

HOW = """Each program is Debian's own, with a small configuration, in the VM, and was trained by
`pg-collect train` under the labelled mix of requests of [training](training.md),
sent by four clients. Then its profile is armed, and the same mix is sent again, in another order.

While the guards are on, every function in the profile has another probe, whose hits give each
unit's whole call tree; so the type that the module infers can be compared with the true type. This
makes units many times longer, so these runs count types only.

* **Inference**: a reference that shares no code with the module infers each guard hit and each unit
again from the profile's tables: all weights of all contexts met, for all types.
* **Units**: units found by their call trees, and how many of them the module reported.
* **Guards**: the share of these units whose type the module inferred right at their end. The true
type of a unit is the type of its call tree; for a tree that training never saw, the type of the
tree that is nearest to it by energy distance. Required is the share that the profile predicts for
units that training held back; and, at 1, 2 and 4 hits a unit, the share required of training.
* **Compared with the paper**: its rule, which counts hits, applied to the same hits; a unit without
a hit has no type by it.
* **Budgets**: the same for guards chosen again for that share of the time, or that many hits a unit,
offline, from the recorded calls. Types that the guards cannot distinguish are merged into one, so
the table has the number of types and what training predicts for the types before merging.
* **False alarms**: a normal run with only the guards on. A unit that is late in it is a false alarm;
required is no more than the declared rate makes likely (two-sided, 95 %). Disturbances of the
emulated machine from outside (it shares two processors) count against the product here. Units
that fit no type, and hits, must be about as many as the profile predicts.

"As predicted" requires the value that the profile predicts, shown after the slash: shares may be 2
points worse, hits 1.2 times as many. Lines without a requirement are for information."""


def page(results, kernels):
    counts = report.tally(results)
    out = ["# Guards on real servers: required and measured", "",
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
