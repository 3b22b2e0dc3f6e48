# SPDX-License-Identifier: GPL-2.0
"""Containers of one image: overlays of one directory, in namespaces and cgroups of their own."""

import ctypes
import os
import pathlib
import re
import shutil
import signal

import guarded
from guarded import MIDDLE, SLEEP, Guarded, Request
from perfguard import MS, run, wait_until

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, CLONE_NEWPID = 0x20000, 0x20000000
MS_REC, MS_PRIVATE = 0x4000, 1 << 18
MNT_DETACH = 2
PIVOT_ROOT = 155            # its number; libc has no function for it
CGROUPS = pathlib.Path("/sys/fs/cgroup")
TMP = pathlib.Path("/tmp/containers")
IMAGE = TMP / "image"
SERVER = "/srv/app/server"  # in a container


def call(function, *arguments):
    if getattr(LIBC, function)(*arguments):
        error = ctypes.get_errno()
        raise OSError(error, f"{function}: {os.strerror(error)}")


def make_image(image=IMAGE):
    """The server and what it needs."""
    libraries = re.findall(r"(/\S+) \(", run("ldd", guarded.GUARDED).stdout)
    for source, path in [(guarded.GUARDED, SERVER)] + [(one, one) for one in libraries]:
        file = pathlib.Path(f"{image}{path}")
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, file)


def begin_engine():
    """Images and what containers write are in a file system of their own."""
    TMP.mkdir()
    run("mount", "-t", "tmpfs", "containers", TMP)
    make_image()


def end_engine():
    run("umount", "-l", TMP)
    TMP.rmdir()


def enter(root):
    """Of the process that will be the container's first."""
    call("mount", None, b"/", None, MS_REC | MS_PRIVATE, None)
    os.chdir(root)
    call("syscall", PIVOT_ROOT, b".", b".")
    call("umount2", b".", MNT_DETACH)
    os.chdir("/")


def begin(root, cgroup, command):
    """Return: the process, by its id outside."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            (cgroup / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")
            call("unshare", CLONE_NEWNS | CLONE_NEWPID)
            first = os.fork()
            if not first:
                enter(root)
                os.execv(command[0], command)
            os.write(writer, str(first).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        pid = int(answer.read())
    os.waitpid(child, 0)
    return pid


class Container(Guarded):
    """A server in a container, whose id is in the path of its cgroup."""

    def __init__(self, name, cgroup, port):  # pylint: disable=super-init-not-called
        self.name, self.port, self.image = name, port, IMAGE
        self.cgroup = CGROUPS / cgroup
        self.place = TMP / name
        self.root = self.place / "root"
        self.log = self.root / "log" / name
        self.start()

    def start(self):
        self.cgroup.mkdir(parents=True, exist_ok=True)
        for one in ("root", "upper/log", "work"):
            (self.place / one).mkdir(parents=True)
        result = run("mount", "-t", "overlay", "-o", f"lowerdir={self.image},upperdir={self.place}/upper,"
                     f"workdir={self.place}/work", "overlay", self.root)
        if result.returncode:
            raise RuntimeError(result.stderr)
        self.pid = begin(self.root, self.cgroup, [SERVER, "serve", str(self.port),
                                                  f"/log/{self.name}"])
        wait_until(lambda: self.log.exists() and self.log.stat().st_size > 0)

    def slow(self, ms):
        """A request that takes so long."""
        self.play([Request(2, SLEEP, MIDDLE, ms * MS)])

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        wait_until(lambda: not pathlib.Path(f"/proc/{self.pid}").exists())

    def remove(self):
        """As an engine does: of its cgroup and of what it has written nothing stays."""
        self.end()
        run("umount", "-l", self.root)
        shutil.rmtree(self.place)
        wait_until(self.remove_cgroup)

    def remove_cgroup(self):
        try:
            self.cgroup.rmdir()
        except OSError:
            return False
        return True
