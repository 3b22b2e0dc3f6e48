# SPDX-License-Identifier: GPL-2.0
"""The types that a profile distinguishes with other budgets, by learn's own prediction.

Predicted is from units of training that were held back.  accuracy: the share of units whose type is
inferred at their end; half: half-way; recall: the mean over types of the share of a type's units
that is inferred as it, so that a rare type counts like a frequent one.
"""

import shutil
import subprocess

import collect

BUDGETS = ["0.25", "0.5", "1", "2", "3"]
LEARN_SECONDS = 300
# A type with at least so many units in training has some that were held back.
LEAST_UNITS = 8


def mean(pairs):
    """Of (value, weight); None without any weight."""
    pairs = list(pairs)
    weight = sum(weight for _, weight in pairs)
    return sum(value * weight for value, weight in pairs) / weight if weight else None


def predicted(profile):
    predictions = profile["predictions"]
    types = [one for one in profile["types"] if one["units"] >= LEAST_UNITS]
    return {"guards": len(profile["guards"]),
            "accuracy": mean((one["accuracy_end"], one["units"]) for one in predictions),
            "half": mean((one["accuracy_half"], one["units"]) for one in predictions),
            "recall": mean((one["accuracy"], 1) for one in types),
            "types": len(types)}


def over_budgets(collector, trained, scratch):
    """{budget: predictions}; {} if the profile cannot be derived again."""
    out = {}
    for budget in BUDGETS:
        shutil.copy(trained, scratch)
        done = subprocess.run([collector, "learn", "-o", scratch, "--guard-share", budget],
                              capture_output=True, timeout=LEARN_SECONDS, check=False)
        if done.returncode:
            return {}
        out[budget] = predicted(collect.show(scratch))
    return out
