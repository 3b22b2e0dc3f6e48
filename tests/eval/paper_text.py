# SPDX-License-Identifier: GPL-2.0
"""Words and numbers as the paper's tables have them, and a walk over results."""

NAMES = {"apache": "Apache", "mariadb": "MariaDB", "redis": "Redis", "nginx": "nginx",
         "mariadb-client": "MariaDB's client"}


def percent(share, digits=1):
    return f"{100 * share:.{digits}f} %"


def count(number):
    return f"{number:,.0f}"


def time_text(ns):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"


def of_all(results, prefix):
    """[(kernel, name without the prefix, result)] of all kernels."""
    return [(kernel, name[len(prefix):], result) for kernel in results
            for name, result in results[kernel].items() if name.startswith(prefix)]
