#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Whether a profile goes over to another build of its program as it should.

usage: carry.py [--program NAME] [--kernel KERNEL] [--again] [--no-vm]

Functions of two Debian builds each of five servers are matched without names, and judged by the
names that they export.  Then nginx and redis are trained on in a VM, and guarded by the profile once it
was carried to the newer build.  --again judges what an earlier run recorded, without a VM; --no-vm
leaves that part out.  The table goes to the standard output and to tests/eval/results/carry.md.

Exit: 0 all requirements were met, 1 not so, 2 usage
"""

import argparse
import collections
import contextlib
import json
import pathlib
import shutil
import sqlite3
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE / "guest"), str(TOP / "tests/vm/guest")]

import measured  # noqa: E402
import vm  # noqa: E402

PAGE = HERE / "results/carry.md"
BUILDS = TOP / "build/eval/carry"
MATCH = TOP / "build/tests/eval/match-functions"
FILE = "carry.json"
SECONDS = 2400
MIRROR = "http://deb.debian.org"
SOURCES = [("debian", "bookworm"), ("debian-security", "bookworm-security"), ("debian", "trixie")]
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
# Package, file in it, and how it is to be called.
SERVERS = {
    "nginx": ("nginx", "usr/sbin/nginx", "nginx"),
    "redis": ("redis-tools", "usr/bin/redis-check-rdb", "redis-server"),
    "apache": ("apache2-bin", "usr/sbin/apache2", "apache2"),
    "mariadb": ("mariadb-server-core", "usr/sbin/mariadbd", "mariadbd"),
    "memcached": ("memcached", "usr/bin/memcached", "memcached"),
}
UPDATES = [("bookworm", "bookworm-security")]
UPGRADES = [("bookworm-security", "trixie")]
IN_VM = ("nginx", "redis")
SURE = 0.999        # of pairs that are the same function
SAME = 0.9          # of pairs of labels
FOUND = 0.9         # of units that were delayed by far more than they take

HOW = f"""\
Of each server the build of Debian 12 and its security update (same compiler, some changes), and of
that and Debian 13 (another compiler, mostly another upstream version), are matched. **No name is
given to the matching**; the truth is the names that both files export, which a real carrying uses
first. memcached exports none.

* **pairs**: functions that are matched, of those of the old build.
* **named**: old functions with a name that the new build has, too; of these, how many are found
  (recall).
* **wrong**: pairs of which the names differ, though not only by their parameters, where either name
  is in both builds; **right** is the share of the others (precision).
* **used**: the same of the functions that training met in the VM below.
"""

HOW_VM = f"""
## Guarded by a carried profile

The server of Debian 12 is trained on for a minute, under four connections that pause 4 ms between
requests, where an instruction takes 1 ns (`scripts/vm --icount`), and guarded by that. The profile is
carried to the build of the security update, which is guarded by it.

* **labels**: pairs of the client's labels of requests, of those that the old build's types put
  together or keep apart, how many the carried types put likewise.
* **sure**: units of labels that are of the type that most units of their label are of, old and new.
* **delayed**: units that a module of the kernel delayed by 30 to 60 times the mean of a unit, and how
  many of these were reported.
* **confirmed**: types whose limits are carried, before and after a minute of `learn --live`.
"""


def apt_config():
    """An apt of its own: the machine's is left alone."""
    for name in ("state/lists/partial", "cache/archives/partial"):
        (BUILDS / "apt" / name).mkdir(parents=True, exist_ok=True)
    (BUILDS / "apt/sources").write_text("".join(
        f"deb [signed-by={KEYS}] {MIRROR}/{archive} {suite} main\n" for archive, suite in SOURCES))
    config = BUILDS / "apt/config"
    config.write_text(f"""\
Dir::State "{BUILDS}/apt/state";
Dir::State::status "/dev/null";
Dir::Cache "{BUILDS}/apt/cache";
Dir::Etc::SourceList "{BUILDS}/apt/sources";
Dir::Etc::SourceParts "/dev/null";
APT::Sandbox::User "root";
APT::Architectures "amd64";
""")
    return config


def fetch(name):
    """Its builds, into build/eval/carry/NAME/SUITE/."""
    package, member, called = SERVERS[name]
    config = None
    for _, suite in SOURCES:
        out = BUILDS / name / suite
        if (out / called).exists():
            continue
        if not config:
            config = apt_config()
            subprocess.run(["apt-get", "-qq", "-c", config, "update"], check=True)
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        subprocess.run(["apt-get", "-qq", "-c", config, "download", f"{package}/{suite}"], cwd=out,
                       check=True)
        deb = next(out.glob("*.deb"))
        subprocess.run(["dpkg-deb", "-x", deb, out / "files"], check=True)
        shutil.copy(out / "files" / member, out / called)
        (out / "version").write_text(subprocess.run(
            ["dpkg-deb", "-f", deb, "Version"], capture_output=True, text=True, check=True).stdout)


def path_of(name, suite):
    return BUILDS / name / suite / SERVERS[name][2]


def version(name, suite):
    return (BUILDS / name / suite / "version").read_text().strip()


def used_offsets(name, kernel):
    """Where the functions are that training met, and those that carry guards."""
    profile = measured.BUILD / kernel / name / "carry-old.pgp"
    if not profile.exists():
        return [], []
    with contextlib.closing(sqlite3.connect(f"file:{profile}?mode=ro", uri=True)) as db:
        met = db.execute("SELECT offset FROM function WHERE object = 0").fetchall()
        guards = db.execute("SELECT offset FROM function JOIN guard ON guard.function = "
                            "function.id WHERE object = 0").fetchall()
    return [offset for offset, in met], [offset for offset, in guards]


def qualified(names):
    """{name: its readable form without parameters}; constructors and destructors stay apart."""
    done = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True,
                          check=True).stdout.splitlines()
    return {name: name if readable.count("~") or name == readable else readable.split("(")[0]
            for name, readable in zip(names, done)}


Row = collections.namedtuple("Row", "functions pairs named found wrong judged differ bytes seconds")


def match(old, new, offsets=None):
    """What the matching found; of some functions alone with their offsets."""
    done = subprocess.run([MATCH, old, new], capture_output=True, text=True, check=True)
    totals, *lines = map(json.loads, done.stdout.splitlines())
    before = {line["old"] for line in lines}
    if offsets is not None:
        lines = [line for line in lines if line["offset"] in set(offsets)]
    plain = qualified({name for line in lines for name in (line["old"], line["new"]) if name})
    found = wrong = named = judged = pairs = 0
    differ = []
    for line in lines:
        pairs += line["is_matched"]
        named += line["is_there"]
        if not line["is_matched"] or not (line["is_there"] or line["new"] in before - {None}):
            continue    # there is no truth
        judged += 1
        if line["old"] == line["new"]:
            found += 1
        elif line["old"] and line["new"] and plain[line["old"]] == plain[line["new"]]:
            judged -= 1     # its parameters changed: no truth
        else:
            wrong += 1
            differ.append((plain.get(line["old"], "-"), plain.get(line["new"], "-")))
    return Row(len(lines), pairs, named, found, wrong, judged, differ, totals["bytes"][0],
               totals["match_s"])


def share(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else "-"


def functions(names, kernel):
    """The rows of the table, what differs, and whether updates are as asked."""
    rows, used, differ, good = [], [], [], True
    for name in names:
        for old, new in UPDATES + UPGRADES:
            row = match(path_of(name, old), path_of(name, new))
            sure = 1 - row.wrong / max(row.judged, 1)
            good &= sure >= SURE or (old, new) not in UPDATES
            rows.append((name, f"{version(name, old)} to {version(name, new)}", f"{row.functions:,}",
                         share(row.pairs, row.functions), f"{row.named:,}",
                         share(row.found, row.named), f"{row.wrong}",
                         share(row.judged - row.wrong, row.judged),
                         f"{row.bytes / 1024:.0f} KiB", f"{row.seconds:.2f} s"))
            if (old, new) in UPDATES:
                differ += [(name, *pair) for pair in row.differ]
        for what, offsets in zip(("met", "guards"), used_offsets(name, kernel)):
            if offsets:
                row = match(path_of(name, "bookworm"), path_of(name, "bookworm-security"), offsets)
                used.append((name, what, f"{row.functions}", share(row.pairs, row.functions),
                             f"{row.named}", share(row.found, row.named), f"{row.wrong}"))
    return rows, used, differ, good


def dominant(labels):
    """{label: (type that most of its units are of, how many, all)}"""
    found = {}
    for label, kinds in labels.items():
        units = sum(kinds.values())
        if units:
            kind = max(kinds, key=kinds.get)
            found[label] = (kind, kinds[kind], units)
    return found


def judge(found):
    """A row of what the VM found, and whether it is as asked."""
    old, new = dominant(found["old"]["labels"]), dominant(found["new"]["labels"])
    labels = sorted(set(old) & set(new))
    pairs = [(a, b) for i, a in enumerate(labels) for b in labels[:i]]
    same = sum((old[a][0] == old[b][0]) == (new[a][0] == new[b][0]) for a, b in pairs)
    sure = [f"{100 * sum(row[1] for row in side.values()) / sum(row[2] for row in side.values()):.1f} %"
            for side in (old, new)]
    delayed = found["new"]["delayed"]
    reported = sum(row["part"] is not None for row in delayed)
    said = {line.split()[0]: " ".join(line.split()[1:4]) for line in found["new"]["said"].splitlines()
            if line.startswith("  ") and line.split()[0] in ("functions", "guards", "types", "loops")}
    good = pairs and same >= SAME * len(pairs) and delayed and reported >= FOUND * len(delayed)
    return (found["program"], said["functions"], said["guards"], said["types"],
            f"{same} of {len(pairs)}", f"{sure[0]}, {sure[1]}", f"{reported} of {len(delayed)}",
            f"{len(found['new']['carried'])}, {len(found['new']['carried after'])}",
            "yes" if good else "no")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", action="append", choices=SERVERS)
    parser.add_argument("--kernel", default="6.12")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--no-vm", action="store_true")
    arguments = parser.parse_args()
    names = arguments.program or list(SERVERS)
    for name in names:
        fetch(name)
    for name in [] if arguments.again or arguments.no_vm else [one for one in IN_VM if one in names]:
        measured.measure(name, arguments.kernel, FILE, SECONDS,
                         [("--icount", HERE / "guest/carry.py", name, path_of(name, "bookworm"),
                           path_of(name, "bookworm-security"))])
    rows, used, differ, good = functions(names, arguments.kernel)
    text = HOW + "\n" + measured.table(
        ["server", "builds", "functions", "pairs", "named", "found", "wrong", "right", "kept",
         "matching"], rows)
    if used:
        text += "\nOf the functions that training met, and of those that carry guards:\n\n" + \
            measured.table(["server", "used", "functions", "pairs", "named", "found", "wrong"], used)
    if differ:
        text += "\nPairs of the updates that count as wrong:\n\n" + \
            measured.table(["server", "old", "new"],
                           [(name, f"`{old}`", f"`{new}`") for name, old, new in differ])
    founds = [one for one in measured.founds(IN_VM, arguments.kernel, FILE) if "new" in one]
    judged = [judge(found) for found in founds]
    if judged:
        text += HOW_VM + "\n" + measured.table(
            ["server", "functions", "guards", "types", "labels", "sure", "delayed", "confirmed",
             "as asked"], judged)
    print(text)
    measured.page(PAGE, "Profiles of another build", f"Linux {arguments.kernel}, by `make eval-carry`",
                  founds or [{"commit": vm.commit("user")}], text)
    return 0 if good and all(row[-1] == "yes" for row in judged) else 1


if __name__ == "__main__":
    sys.exit(main())
