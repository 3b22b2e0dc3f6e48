#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Delays that are to be reported, and normal units that are not, in full, in the VM.

usage: guards-delays.py [--kernel KERNEL]

Runs tests/vm/guest/58-delays.py and 59-alarms.py with the guest's time exact, on both
kernels or one.  The results go to the standard output, and to build/eval/KERNEL/delays.txt.

Exit: 0 all was met, 1 not so, 2 usage
"""

import argparse
import pathlib
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
KERNELS = ("6.1", "6.12")
PARTS = ("58-delays.py", "59-alarms.py")


def evaluate(kernel):
    """Run all parts; whether all was met."""
    out = TOP / "build/eval" / kernel / "delays.txt"
    out.parent.mkdir(parents=True, exist_ok=True)
    met, said = True, ""
    for part in PARTS:
        print(f"eval-delays: {part}, Linux {kernel}", file=sys.stderr, flush=True)
        result = subprocess.run([str(TOP / "tests/vm/module"), kernel, "--exact", "--long", part],
                                text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                check=False)
        met = met and result.returncode == 0
        said += result.stdout
        print(result.stdout, end="", flush=True)
    out.write_text(f"Linux {kernel}\n{said}", encoding="utf-8")
    return met


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kernel", action="append", choices=KERNELS)
    verdicts = [evaluate(kernel) for kernel in parser.parse_args().kernel or KERNELS]
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
