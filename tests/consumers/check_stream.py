#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Compare a stream with the spools whose alerts were passed on to it.

usage: check_stream.py PORT STREAM SUBJECT DIR

DIR/N/spool is of the machine mN.  Prints what is missing, there twice, or another one, and exits
with 1 then.  The keys of records are made here from the spool's rows by the rule of
Documentation/fleet.md; those of others are the ones in their JSON.
"""

import collections
import json
import pathlib
import sqlite3
import sys

import nats_client


def expected(directory, subject):
    """key -> (subject, JSON) of all alerts in the spools."""
    ret = {}
    for spool in sorted(pathlib.Path(directory).glob("*/spool")):
        machine = f"m{spool.parent.name}"
        db = sqlite3.connect(spool)
        for load, kind, seq, text in db.execute("SELECT load, kind, seq, json FROM alerts"):
            key = f"{load}/{kind}/{seq}" if seq else json.loads(text)["key"]
            ret[key] = (f"{subject}.alerts.{machine}", text)
        db.close()
    return ret


def compare(port, stream, subject, directory):
    """Returns (whether they are the same, a description)."""
    want = expected(directory, subject)
    seen = collections.Counter()
    wrong = 0
    for got_subject, headers, data in nats_client.Client(port).read_all(stream):
        key = headers.get("Nats-Msg-Id")
        seen[key] += 1
        wrong += key in want and want[key] != (got_subject, data.decode())
    keys = {
        "missing": [key for key in want if not seen[key]],
        "twice": [key for key, nr in seen.items() if nr > 1],
        "strange": [key for key in seen if key not in want],
    }
    text = (f"{len(want)} alerts in spools, {sum(seen.values())} messages in the stream: " +
            ", ".join(f"{len(those)} {what}" for what, those in keys.items()) +
            f", {wrong} with another content")
    for what, those in keys.items():
        text += "".join(f"\n  {what}: {key}" for key in those[:5])
    return bool(want) and not wrong and not any(keys.values()), text


def main():
    port, stream, subject, directory = sys.argv[1:]
    is_same, text = compare(int(port), stream, subject, directory)
    print(text)
    return 0 if is_same else 1


if __name__ == "__main__":
    sys.exit(main())
