# SPDX-License-Identifier: GPL-2.0
"""How many false alarms a declared rate allows."""

import math


def most(units, rate, confidence):
    """How many a binomial variable stays at or below with this confidence."""
    log_term = units * math.log1p(-rate)
    total = math.exp(log_term)
    count = 0
    while total < confidence and count < units:
        log_term += math.log((units - count) / (count + 1)) + math.log(rate / (1 - rate))
        total += math.exp(log_term)
        count += 1
    return count
