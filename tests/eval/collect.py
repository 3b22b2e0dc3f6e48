# SPDX-License-Identifier: GPL-2.0
"""What pg-collect tells on the host."""

import json
import pathlib
import subprocess

COLLECT = str(pathlib.Path(__file__).resolve().parents[2] / "pg-collect")
SHOW_SECONDS = 120


def show(profile):
    """What pg-collect show tells of a profile."""
    done = subprocess.run([COLLECT, "show", "--json", str(profile)], check=True, text=True,
                          capture_output=True, timeout=SHOW_SECONDS)
    return json.loads(done.stdout)
