# SPDX-License-Identifier: GPL-2.0
"""Of the processes that execute a file only those in the target's scope are guarded."""

import contextlib

from family import Family, Refused
from guarded import GUARDED, Guarded
from perfguard import IS_SLOW, collect, done, note, ok, skip, status, wait_until
from record import BREAKPOINT, byte_at
from tenants import (ALICE, BELOW, BOB, GUARD, LATE, OURS, THEIRS, alerts_of, all_of, join,
                     make_profile, start, watched)


def has_breakpoint(program):
    return byte_at(program.pid, program.addresses[GUARD]) == BREAKPOINT


def is_guarded(family, program):
    """Whether its late unit is reported; the other ways to see it must say the same."""
    since = family.stats()["next_alert"]
    program.run(LATE)
    is_reported = wait_until(lambda: alerts_of(family, program, since), 3)
    signs = {bool(is_reported), program.pid in watched(family), has_breakpoint(program)}
    if len(signs) != 1:
        note(f"reported {is_reported}, watched {program.pid in watched(family)}, "
             f"breakpoint {has_breakpoint(program)}")
        return None
    return bool(is_reported)


def judge(family, programs, wanted, text):
    found = [is_guarded(family, program) for program in programs]
    ok(found == wanted, f"{text}: guarded are {found}, wanted {wanted}")


def users(family, profile):
    with all_of(start(ALICE), start(BOB)) as before:
        _, target, processes = profile.arm(family, uid=ALICE)
        ok(processes == 1, "armed for a user: that user's process is guarded")
        state = next(one for one in family.targets() if one["id"] == target)
        ok(state["uid"] == ALICE and "cgroup" not in state, "the target reports the user")
        judge(family, before, [True, False], "of two users' processes that run")
        with contextlib.ExitStack() as later:
            programs = [start(ALICE), start(BOB)]
            for program in programs:
                later.callback(program.end)
            judge(family, programs, [True, False], "of two that start later")
        again = profile.arm(family, "again", uid=ALICE)
        ok(again[1] == target and again[2] == 1, "armed again for that user: the same target")
        judge(family, before, [True, False], "and then")


def refused(profile, family, text, words, **scope):
    try:
        profile.arm(family, **scope)
        ok(False, f"{text} is refused")
    except Refused as refusal:
        ok(words in refusal.strerror, f"{text} is refused: {refusal.strerror}")


def cgroups(family, profile):
    inside, beside, below = start(cgroup=OURS), start(cgroup=THEIRS), start(cgroup=BELOW)
    programs = (inside, beside, below)
    with all_of(*programs):
        _, target, processes = profile.arm(family, cgroup=OURS)
        state = next(one for one in family.targets() if one["id"] == target)
        ok(processes == 2 and state["cgroup"] == "/pg-ours" and "uid" not in state,
           "armed for a cgroup: the processes in it and below it")
        judge(family, programs, [True, False, True], "in it, beside it and below it")
        join(THEIRS, inside.pid)
        join(OURS, beside.pid)
        judge(family, programs, [True, False, True], "moved between them, each stays as it was")
        later = start(cgroup=OURS)
        judge(family, [later], [True], "started in it later")
        later.end()
        refused(profile, family, "the executable without a scope", "another scope")
        refused(profile, family, "what is no cgroup", "no cgroup", cgroup=OURS / "cgroup.procs")


def both(family, profile):
    """Two scopes of a file at once, which have some processes in common."""
    programs = (start(ALICE, THEIRS), start(BOB, OURS), start(ALICE, OURS), start(BOB, THEIRS))
    with all_of(*programs):
        first = profile.arm(family, "user", uid=ALICE)
        second = profile.arm(family, "cgroup", cgroup=OURS)
        ok(first[1] != second[1] and (first[2], second[2]) == (2, 1),
           "two scopes: two targets; what is in both stays with the older one")
        judge(family, programs, [True, True, True, False], "of four processes")
        late = [one["late"] for one in family.targets()]
        ok(late == [2, 1], f"each target has its own late units: {late}")
    programs = (start(ALICE, OURS), start(ALICE, THEIRS), start(BOB, OURS))
    with all_of(*programs):
        profile.arm(family, uid=ALICE, cgroup=OURS)
        judge(family, programs, [True, False, False], "armed for a user in a cgroup")


def by_command():
    """pg-collect arm, and what status makes of it."""
    path, program = "/tmp/scope.pgp", Guarded()
    result = program.train(path, 400, "steady", "--hits", "2")
    program.end()
    if not ok(result.returncode == 0, "a server is trained"):
        note(result.stderr[-600:])
        return
    result = collect("arm", "--uid", "nobody", "--cgroup", "/pg-ours", path)
    note(result.stdout)
    ok(result.returncode == 0 and "only       in cgroup /pg-ours, of user 65534" in
       result.stdout, "arm --cgroup --uid reports the scope")
    target = status("target")[0]
    ok((target["exe"], target["uid"], target["cgroup"]) == (GUARDED, 65534, "/pg-ours"),
       "status --json has it")
    ok("only of user 65534 in cgroup /pg-ours" in collect("status").stdout, "status shows it")
    for text, code, words, *options in (
            ("a user that is not there", 2, "there is no user", "--uid", "nosuch"),
            ("a directory that is no cgroup", 1, "no cgroup", "--cgroup", "/tmp"),
            ("another scope", 1, "another scope", "--budget", "none")):
        result = collect("arm", *options, path)
        ok(result.returncode == code and words in result.stderr,
           f"{text}: exit {result.returncode}, {result.stderr.strip()}")
    collect("disarm", "--all")


def main():
    for cgroup in (OURS, BELOW, THEIRS):
        cgroup.mkdir(exist_ok=True)
    family, profile = Family(), make_profile()
    users(family, profile)
    cgroups(family, profile)
    both(family, profile)
    if IS_SLOW:
        skip("pg-collect arm", "with all of the kernel's checks on it takes too long to train")
    else:
        by_command()
    for cgroup in (BELOW, OURS, THEIRS):
        cgroup.rmdir()
    done()


main()
