# SPDX-License-Identifier: GPL-2.0
"""The tutorial, followed: each of its commands is typed, succeeds, and prints those of the lines
below it that have no figure in them.  With an argument, print what they printed, for that page."""

import os
import re
import subprocess
import sys

from perfguard import TOP, done, note, ok, skip

PAGE = TOP / "Documentation/tutorial.md"
SHORT = 5  # seconds; what is longer in the page takes no more here
MARK = "=== done"


def steps():
    """Pairs of a command, of several lines perhaps, and what the page says it prints."""
    found = []
    for line in PAGE.read_text().splitlines():
        if not line.startswith("    ") or line.startswith("    $ "):
            continue
        line = line[4:]
        if line.startswith("# "):
            found.append((line[2:], []))
        elif line.startswith("> "):
            found[-1] = (found[-1][0] + "\n" + line[2:], [])
        else:
            found[-1][1].append(line)
    return found


class Shell:
    """One shell for all of them, as somebody who follows the page has."""

    def __init__(self):
        self.process = subprocess.Popen(["bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, cwd=TOP)

    def type(self, command):
        """(exit code, lines it printed)"""
        self.process.stdin.write(f"{command}\necho '{MARK}' $?\n")
        self.process.stdin.flush()
        printed = []
        for line in self.process.stdout:
            if line.startswith(MARK):
                return int(line.split()[-1]), printed
            printed.append(line.rstrip("\n"))
        return None, printed


def shorter(command):
    return re.sub(r"--duration (\d+)", lambda m: f"--duration {min(int(m[1]), SHORT)}", command)


def fixed(lines):
    """Those that are the same in each run."""
    return [line.strip() for line in lines
            if line.strip() and "[...]" not in line and not re.search(r"\d", line)]


def main():
    prints = len(sys.argv) > 1
    if os.environ["PERFGUARD_KERNEL"] != "6.1" and not prints:
        skip("the tutorial", "it is of Linux 6.1")
        done()
    shell = Shell()
    for command, expected in steps():
        code, printed = shell.type(command if prints else shorter(command))
        if prints:
            print(f"    # {command}", *printed, f"--- {code}", sep="\n    ", flush=True)
            continue
        here = {line.strip() for line in printed}
        missing = [line for line in fixed(expected) if line not in here]
        if not ok(code == 0 and not missing, f"tutorial: {command.splitlines()[0][:60]}"):
            note(f"exit {code}; not printed: {missing}; printed: {printed[-20:]}")
    shell.process.stdin.close()
    subprocess.run(["pkill", "-P", str(shell.process.pid)], check=False)
    if not prints:
        done()


main()
