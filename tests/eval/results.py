# SPDX-License-Identifier: GPL-2.0
"""Results of this and earlier runs, in tests/eval/results: {key: {name: result}}, a result a line."""

import json
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parent / "results"


def read(path, kernels=()):
    results = json.loads(path.read_text()) if path.exists() else {}
    return {kernel: results.get(kernel, {}) for kernel in kernels} if kernels else results


def lines(entries):
    return ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in entries)


def write(path, results):
    """Replace the file at once, so that a run that is cut off leaves the old one."""
    text = ",\n".join(
        f" {json.dumps(key)}: {{\n{lines(value.items())}\n }}" if isinstance(value, dict)
        else f" {json.dumps(key)}: [\n" + ",\n".join(map(json.dumps, value)) + "\n ]"
        for key, value in results.items())
    new = path.with_suffix(".new")
    new.write_text(f"{{\n{text}\n}}\n")
    new.replace(path)


def keep(path, kernel, name, result):
    """Put a result in the place of an earlier one; another run may have kept its own meanwhile."""
    results = read(path)
    results[kernel] = dict(sorted({**results.get(kernel, {}), name: result}.items()))
    write(path, dict(sorted(results.items())))
