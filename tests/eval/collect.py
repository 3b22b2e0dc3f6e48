# SPDX-License-Identifier: GPL-2.0
"""Output of pg-collect on the host."""

import json
import pathlib
import subprocess

COLLECT = str(pathlib.Path(__file__).resolve().parents[2] / "pg-collect")
SHOW_SECONDS = 120


def show(profile):
    """The output of pg-collect show for a profile."""
    done = subprocess.run([COLLECT, "show", "--json", str(profile)], check=True, text=True,
                          capture_output=True, timeout=SHOW_SECONDS)
    return json.loads(done.stdout)
