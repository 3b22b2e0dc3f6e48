# SPDX-License-Identifier: GPL-2.0
"""Commands that the evaluation's parts in the guest run, bounded in time and logged."""

import json
import os
import pathlib
import signal
import subprocess

TOP = pathlib.Path(__file__).resolve().parents[3]
COLLECT = str(TOP / "pg-collect")
PROGRAMS = TOP / "build/tests/eval"


class Failed(Exception):
    """A command failed; the text says which and how."""


def run(log, seconds, *command):
    """A command to its end, ended by SIGINT after so long; its output, which log grows by."""
    words = [str(word) for word in command]
    with open(log, "a", encoding="utf-8") as file:
        begin = file.tell()
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=file,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = f"none after {seconds} s"
            process.send_signal(signal.SIGINT)
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    with open(log, encoding="utf-8", errors="replace") as file:
        file.seek(begin)
        said = file.read()
    if code != 0:
        tail = " | ".join(said.strip().splitlines()[-3:])
        name = " ".join([pathlib.Path(words[0]).name, *words[1:2]])
        raise Failed(f"{name}: exit {code}: {tail}")
    return said


def count(pid, log):
    """The module's counters of the profile that guards a process: a list of dictionaries."""
    return [json.loads(line) for line in run(log, 60, PROGRAMS / "count-guards", pid).splitlines()]
