# SPDX-License-Identifier: GPL-2.0
"""Who is not the administrator of the machine is refused, whatever it asks."""

import ast
import ctypes
import errno
import os
import pathlib
import socket

from family import (NETLINK_GENERIC, NLM_F_ACK, NLM_F_DUMP, NUMBER, SOL_NETLINK, Family,
                    Refused)
from perfguard import done, note, ok

NOBODY = 65534
CLONE_NEWUSER = 0x10000000
ADD_MEMBERSHIP = 1
COMMANDS = {name: value for name, value in NUMBER.items() if name.startswith("CMD_")}
DEVICE = "/dev/perfguard"


def verdicts(family):
    """What each command is answered, as an order and as a dump: {error: [command]}."""
    found = {}
    for name, command in COMMANDS.items():
        for kind, flags in (("do", NLM_F_ACK), ("dump", NLM_F_DUMP)):
            error = 0
            try:
                family.receive(family.send(command, flags, b""))
            except Refused as refusal:
                error = refusal.errno
            found.setdefault(error, []).append(f"{name.removeprefix('CMD_').lower()} {kind}")
    return found


def fails(action, *arguments):
    """The error that it ends with; 0 if it does not."""
    try:
        action(*arguments)
    except OSError as error:
        return error.errno
    return 0


def join(family):
    """The group that has the alerts."""
    family.socket.setsockopt(SOL_NETLINK, ADD_MEMBERSHIP, family.group)


def read_device():
    os.close(os.open(DEVICE, os.O_RDONLY))


def become_nobody():
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def become_root_of_namespace():
    """As in a container that shares the network: user 0 with every capability, but not here."""
    assert ctypes.CDLL(None).unshare(CLONE_NEWUSER) == 0
    pathlib.Path("/proc/self/uid_map").write_text("0 0 1", encoding="ascii")
    assert os.getuid() == 0 and "CapEff:\t000001ff" in pathlib.Path(
        "/proc/self/status").read_text(encoding="ascii")


def in_child(become, action, *arguments):
    """repr() of what the action returns to a process that has become another."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            become()
            os.write(writer, repr(action(*arguments)).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return text


def asked(family=None):
    """What was not refused, and the errors of joining the group and of opening the device."""
    family = family or Family()
    passed = {error: names for error, names in verdicts(family).items() if error != errno.EPERM}
    # Of an order that is a dump alone, and the reverse, the kernel says that there is none.
    passed.pop(errno.EOPNOTSUPP, None)
    return passed, fails(join, family), fails(read_device)


def send_socket(way):
    opened = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
    return socket.send_fds(way, [b"x"], [opened.fileno()])


def lent(family):
    """A socket that another user opened gives nothing to whoever is made to write to it."""
    ours, theirs = socket.socketpair()
    in_child(become_nobody, send_socket, theirs)
    theirs.close()
    _, files, _, _ = socket.recv_fds(ours, 1, 1)
    family.socket = socket.socket(fileno=files[0])
    passed, _, _ = asked(family)
    ok(passed == {}, f"root with a socket of another user is refused: {passed}")


def main():
    own = verdicts(Family())
    note(own)
    ok(errno.EPERM not in own and fails(join, Family()) == 0 and fails(read_device) == 0,
       "the administrator is not: orders are empty, no more")
    for who, become in (("another user", become_nobody),
                        ("root of a user namespace", become_root_of_namespace)):
        for how, family in (("", None), (" with a socket of root", Family())):
            answer = in_child(become, asked, family)
            note(answer)
            passed, joined, opened = ast.literal_eval(answer) if answer else (None, None, None)
            ok(passed == {}, f"{who}{how}: each order and each dump is refused")
            ok(joined == errno.EPERM, f"{who}{how}: so is the group of the alerts")
            ok(opened in (errno.EPERM, errno.EACCES), f"{who}{how}: so is the device")
    lent(Family())
    done()


main()
