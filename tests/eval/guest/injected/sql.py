# SPDX-License-Identifier: GPL-2.0
"""Statements."""

import struct

from kinds.postgres import message, read_until_ready
from programs.mariadb import COM_QUERY, packet, read_result

from . import Injection


class Mariadb(Injection):
    def query(self, connection, text):
        connection.sendall(packet(0, bytes([COM_QUERY]) + text.encode()))
        read_result(connection)


class Postgres(Injection):
    def query(self, connection, text):
        connection.sendall(message(b"Q", text.encode() + b"\0"))
        read_until_ready(connection)

    def value(self, connection, text):
        """The only field of the only row."""
        connection.sendall(message(b"Q", text.encode() + b"\0"))
        data = b""
        while not data.endswith(b"Z\0\0\0\5I"):
            data += connection.recv(65536)
        at = 0
        while data[at:at + 1] != b"D":
            at += 1 + struct.unpack_from("!I", data, at + 1)[0]
        size, = struct.unpack_from("!I", data, at + 7)
        return data[at + 11:at + 11 + size].decode()
