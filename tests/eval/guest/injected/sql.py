# SPDX-License-Identifier: GPL-2.0
"""Statements."""

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
