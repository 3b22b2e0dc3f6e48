# SPDX-License-Identifier: GPL-2.0
"""A program of each of ten kinds, which no other evaluation uses: how to start it, what to ask."""

import importlib

NAMES = {"web": "lighttpd", "cache": "varnish", "broker": "mosquitto", "proxy": "haproxy",
         "database": "postgres", "directory": "slapd", "name server": "unbound",
         "chat": "ngircd", "file transfer": "vsftpd", "interpreter": "python"}


def load(name):
    """The Program of this name, with its directory not made yet."""
    return importlib.import_module(f"kinds.{name}").Server()
