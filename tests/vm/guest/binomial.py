# SPDX-License-Identifier: GPL-2.0
"""Shares of a count, and how sure they are."""

import math


def tail(count, number, rate):
    """P(Binomial(number, rate) >= count)"""
    if count <= 0:
        return 1.0
    if rate <= 0:
        return 0.0
    below = sum(math.exp(math.lgamma(number + 1) - math.lgamma(k + 1) -
                         math.lgamma(number - k + 1) + k * math.log(rate) +
                         (number - k) * math.log1p(-rate)) for k in range(count))
    return max(0.0, 1 - below)


def interval(count, number, risk=0.05):
    """Clopper and Pearson's interval of a share."""
    def solve(wanted, low, high, of):
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if of(middle) < wanted else (low, middle)
        return (low + high) / 2

    lower = solve(risk / 2, 0.0, 1.0, lambda rate: tail(count, number, rate)) if count else 0.0
    upper = solve(1 - risk / 2, 0.0, 1.0, lambda rate: tail(count + 1, number, rate)) \
        if count < number else 1.0
    return lower, upper
