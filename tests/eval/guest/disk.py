# SPDX-License-Identifier: GPL-2.0
"""A disk that can be made slow while it is in use: a delaying device over a RAM disk."""

import os
import pathlib
import subprocess

KIB = 96 * 1024
NAME = "slow"
# There is no udev in the guest.
ENVIRONMENT = {**os.environ, "DM_DISABLE_UDEV": "1"}


def run(*words):
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL, env=ENVIRONMENT, timeout=120)


class Disk:
    """A file system on it; mount() puts it below a directory."""

    def __init__(self, kib=KIB):
        self.kib = kib
        self.table = f"0 {kib * 2} delay /dev/ram0 0 {{1}} /dev/ram0 0 {{0}} /dev/ram0 0 {{0}}"

    def mount(self, directory):
        run("modprobe", "brd", f"rd_size={self.kib}", "rd_nr=1")
        run("modprobe", "-a", "dm-delay", "ext4")
        run("dmsetup", "create", NAME, "--table", self.table.format(0, 0))
        run("mkfs.ext4", "-q", "-E", "nodiscard,lazy_itable_init=0", f"/dev/mapper/{NAME}")
        pathlib.Path(directory).mkdir(parents=True, exist_ok=True)
        run("mount", f"/dev/mapper/{NAME}", str(directory))

    def delay(self, milliseconds, reading=0):
        """From now on each write and each flush takes so much longer, and each read."""
        run("dmsetup", "suspend", "--noflush", "--nolockfs", NAME)
        run("dmsetup", "reload", NAME, "--table", self.table.format(milliseconds, reading))
        run("dmsetup", "resume", NAME)
