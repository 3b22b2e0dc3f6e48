# SPDX-License-Identifier: GPL-2.0
"""The kernel's own trace of some system calls of some processes."""

import pathlib
import re
import subprocess

TRACING = pathlib.Path("/sys/kernel/tracing")
LINE = re.compile(r"-(\d+)\s+\[\d+\]\s+\S+\s+([\d.]+): sys_(enter|exit)(?:: NR|\() ?(\d+)"
                  r"(?: \((\w+)| = (-?\d+))")


class Calls:
    """These calls, of all threads that the processes have or make from now on."""

    def __init__(self, pids, numbers):
        if not (TRACING / "trace").exists():
            subprocess.run(["mount", "-t", "tracefs", "tracefs", str(TRACING)], check=True)
        wanted = "||".join(f"id=={number}" for number in numbers)
        tasks = " ".join(path.name for pid in pids
                         for path in pathlib.Path(f"/proc/{pid}/task").iterdir())
        for file, text in (("buffer_size_kb", "65536"), ("trace_clock", "mono"),
                           ("set_event_pid", tasks), ("options/event-fork", "1"),
                           ("events/raw_syscalls/sys_enter/filter", wanted),
                           ("events/raw_syscalls/sys_exit/filter", wanted),
                           ("events/raw_syscalls/enable", "1")):
            (TRACING / file).write_text(text, encoding="ascii")

    @staticmethod
    def done():
        """[(when it began, when it had returned, both in ns; thread; descriptor)] of those that
        read or wrote something, by their returns."""
        (TRACING / "tracing_on").write_text("0", encoding="ascii")
        inside, found = {}, []
        with open(TRACING / "trace", encoding="utf-8", errors="replace") as lines:
            for match in filter(None, map(LINE.search, lines)):
                # Of microseconds, and not to be rounded.
                tid, when = int(match[1]), int(match[2].replace(".", "")) * 1000
                if match[3] == "enter":
                    inside[tid] = when, int(match[5], 16)
                elif tid in inside and int(match[6]) > 0:
                    found.append((inside[tid][0], when, tid, inside[tid][1]))
        return found
