# SPDX-License-Identifier: GPL-2.0
"""Run the evaluation's parts in the guest."""

import pathlib
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
# The guest's own start, and the module's build, come on top.
START_SECONDS = 240


def say(text):
    print(text, file=sys.stderr, flush=True)


def run(kernel, out, seconds, options, *command, output=None):
    """A guest's part, with out as /out; returns the error, or ''.

    What it prints goes to output, a file, or to the standard error.
    """
    started = [str(TOP / "scripts/vm"), "-k", kernel, "-t", str(seconds), *options, "--out",
               str(out), "--", *map(str, command)]
    try:
        code = subprocess.run(started, timeout=seconds + START_SECONDS, check=False,
                              stdin=subprocess.DEVNULL, stdout=output or sys.stderr).returncode
    except subprocess.TimeoutExpired:
        return f"the VM did not end {seconds + START_SECONDS} s after its start"
    reasons = {124: f"the guest took more than {seconds} s", 125: "there was no guest",
               126: "the guest's kernel reported an error"}
    return "" if code == 0 else reasons.get(code, f"the guest's part ended with {code}")


def run_script(kernel, out, seconds, options, *words):
    """A Python script with its words, as above."""
    # Where instructions are the clock, the guest is not to lose patience with the host.
    exact = "1" if any(str(option).startswith("--icount") for option in options) else ""
    return run(kernel, out, seconds, options, "env", f"EXACT={exact}", "python3", "-B", *words)


def commit(*paths):
    """The commit that is run; with paths, the last one that changed any of these."""
    done = subprocess.run(["git", "-C", str(TOP), "log", "-1", "--format=%h", "HEAD", "--", *paths],
                          text=True, capture_output=True, check=False)
    return done.stdout.strip()
