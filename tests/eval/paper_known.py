# SPDX-License-Identifier: GPL-2.0
"""What the paper reports, as far as it is known here; nothing else is made up.

PerfGuard: Kim, Rhee, Zhang et al., "PerfGuard: Binary-Centric Application Performance Monitoring
in Production Environments", FSE 2016.  Its text was not at hand; these are the figures of it
that are known, with where they stand in it.  None stands for a figure that is not known.
"""

# Table 5: mean of the relative deviations of the ten costliest types of unit.
DEVIATION = 0.115
# Section 7.3: share of contexts that are identified.
CONTEXTS = {"apache": 0.939, "mariadb-client": 0.991}
# Section 7.3 and figure 7(a): a stack walk's cost over that of the inference, and at how many
# frames.
WALK_RATIO = 64
WALK_FRAMES = 24
# Table 6: cost of each guard function.
GUARD_FUNCTIONS = None
# Figure 7: overhead on Apache and on MySQL is below this, with so many guarded functions.
OVERHEAD = 0.03
OVERHEAD_GUARDS = (200, 100)
# Memory of the module, bytes, below; and paths in the path distances, about.
MEMORY = 1 << 20
PATHS = 350000
