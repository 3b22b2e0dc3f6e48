# SPDX-License-Identifier: GPL-2.0
"""The adjusted Rand index of two ways to sort the same things."""

import collections


def pairs(number):
    return number * (number - 1) / 2


def adjusted_rand_index(items):
    """Of [(label, type)]: 1 if both sort alike, about 0 if by chance."""
    items = list(items)
    together = sum(pairs(n) for n in collections.Counter(items).values())
    by_label = sum(pairs(n) for n in collections.Counter(label for label, _ in items).values())
    by_type = sum(pairs(n) for n in collections.Counter(kind for _, kind in items).values())
    everything = pairs(len(items))
    if not everything:
        return 1.0
    expected = by_label * by_type / everything
    most = (by_label + by_type) / 2
    return 1.0 if most == expected else (together - expected) / (most - expected)


def confusions(items, count=6):
    """The costliest confusions: [(pairs of units, text)], the largest first.

    Pairs of one label in two types are split, pairs of two labels in one type are merged.
    """
    found = []
    by_label = collections.defaultdict(collections.Counter)
    by_type = collections.defaultdict(collections.Counter)
    for label, kind in items:
        by_label[label][kind] += 1
        by_type[kind][label] += 1
    for label, kinds in by_label.items():
        split = pairs(sum(kinds.values())) - sum(pairs(n) for n in kinds.values())
        shares = ", ".join(f"{n} in type {kind}" for kind, n in kinds.most_common(4))
        found.append((split, f"{label} split: {shares}"))
    for kind, labels in by_type.items():
        merged = pairs(sum(labels.values())) - sum(pairs(n) for n in labels.values())
        shares = ", ".join(f"{n} {label}" for label, n in labels.most_common(4))
        found.append((merged, f"type {kind} merges: {shares}"))
    found.sort(key=lambda entry: -entry[0])
    return [(int(cost), text) for cost, text in found[:count] if cost > 0]
