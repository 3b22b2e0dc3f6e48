# SPDX-License-Identifier: GPL-2.0
"""The real slow programs of the evaluation; a file each."""

import importlib
import pathlib

NAMES = sorted(path.stem for path in pathlib.Path(__file__).parent.glob("[a-z]*.py")
               if path.stem != "subject")


def load(name):
    """The Subject of this name; nothing is started yet."""
    if name not in NAMES:
        raise SystemExit(f"unknown subject {name}; there are {', '.join(NAMES)}")
    return importlib.import_module(f"subjects.{name}").make()


def find(bug):
    """The name of the subject that has the bug."""
    for name in NAMES:
        if bug in load(name).bugs:
            return name
    known = sorted(bug for name in NAMES for bug in load(name).bugs)
    raise SystemExit(f"unknown bug {bug}; there are {', '.join(known)}")
