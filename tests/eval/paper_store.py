# SPDX-License-Identifier: GPL-2.0
"""The results of the paper's tables, of this and earlier runs: {kernel: {name: result}}."""

import json


def read(path, kernels):
    results = json.loads(path.read_text()) if path.exists() else {}
    return {kernel: results.get(kernel, {}) for kernel in kernels}


def keep(path, kernel, name, result):
    """Put a result in the place of an earlier one; another run may have kept its own meanwhile."""
    results = json.loads(path.read_text()) if path.exists() else {}
    results[kernel] = dict(sorted({**results.get(kernel, {}), name: result}.items()))
    new = path.with_suffix(".new")
    new.write_text(json.dumps(dict(sorted(results.items())), indent=1) + "\n")
    new.replace(path)
