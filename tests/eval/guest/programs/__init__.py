# SPDX-License-Identifier: GPL-2.0
"""The programs that training is tried on: how to start each, and what to ask of it."""

import importlib

NAMES = ["redis", "nginx", "memcached", "apache", "mariadb"]
# More of them, for a part of the evaluation.
OTHERS = ["nginx_proxy", "redis_blocked", "python_threads", "dnsmasq", "php"]


def load(name):
    """The Program of this name, with its directory not made yet; "subject:NAME" is a
    subject's, or a subject without one, "kind:NAME" one of the kinds."""
    if name.startswith("subject:"):
        subject = importlib.import_module("subjects").load(name.removeprefix("subject:"))
        return getattr(subject, "server", subject)
    if name.startswith("kind:"):
        return importlib.import_module("kinds").load(name.removeprefix("kind:"))
    if name not in NAMES + OTHERS:
        raise SystemExit(f"unknown program {name}; there are {', '.join(NAMES)}")
    return importlib.import_module(f"programs.{name}").Server()
