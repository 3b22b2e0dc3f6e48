# SPDX-License-Identifier: GPL-2.0
"""The figures that the paper reports, with their place in it.

PerfGuard: Kim, Rhee, Zhang et al., "PerfGuard: Binary-Centric Application Performance Monitoring
in Production Environments", FSE 2016.  It was measured on Windows Server 2008 R2, an Intel Core i5
of 3.4 GHz.
"""

# Table 3: (program, bug): (distinct call trees, call paths and functions (means) of the unit type,
# performance guards, threshold in ms, d: calls between the detection and the root cause).
BUGS = {
    ("Apache", "45464"): (8, 17423, 635, 138, 9944, 4),
    ("MySQL Client", "15811"): (24, 255126, 106, 13, 997, 8),
    ("MySQL Server", "49491"): (8, 270454, 980, 303, 2079, 3),
    ("7-Zip FM", "S1"): (3, 30503, 140, 115, 122, 3),
    ("7-Zip FM", "S2"): (2, 27922, 139, 127, 109, 1),
    ("7-Zip FM", "S3"): (3, 4041, 65, 15, 110, 2),
    ("7-Zip FM", "S4"): (6, 26842, 143, 120, 101, 3),
    ("Notepad++", "2909745"): (16, 352831, 711, 370, 6797, 6),
    ("ProcessHacker", "3744"): (1, 47910, 86, 23, 3104, 4),
    ("ProcessHacker", "5424"): (32, 62136, 69, 19, 10, 5),
}
# Table 5: relative deviations of the ten costliest types of unit, of 26 (Apache) and 358 (7-Zip).
DEVIATIONS = {
    "Apache": (1.02, 5.3, 20.4, 2.3, 1.4, 21.0, 27.9, 5.8, 21.9, 8.1),
    "7-Zip": (36.1, 7.5, 4.6, 6.6, 10.9, 3.4, 17.8, 7.4, 3.5, 11.1),
}
# The mean for Apache, by which servers are judged.
DEVIATION = 0.1152
# Section 7.3: share of function calls whose context is identified by function and stack depth.
CONTEXTS = {"apache": 0.9391, "mariadb-client": 0.9906}
# Section 7.3 and figure 7(a): the cost of a stack walk over that of the inference, in us, and the
# mean number of frames at the instrumented functions, 23.6.
WALK_US, INFERENCE_US = 18.11, 0.284
WALK_RATIO = round(WALK_US / INFERENCE_US)
WALK_FRAMES = 24
# Table 6: time in us of 10,000 executions of each guard function.
GUARD_FUNCTIONS = {"onLoopEntry": 3.52, "onUnitStart": 1.31, "onUnitContext": 4.37}
GUARD_EXECUTIONS = 10000
# Section 7.4, figures 7(b) and 7(c): overhead on Apache and on MySQL is below this, with so many
# guarded functions.
OVERHEAD = 0.03
OVERHEAD_GUARDS = (200, 100)
# Section 4.4: memory overhead in bytes, below.
MEMORY = 1 << 20
