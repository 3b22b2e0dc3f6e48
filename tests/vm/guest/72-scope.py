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
    is_reported = wait_until(lambda: alerts_of(family, program, since), 1)
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


def again(family, profile):
    """A cgroup that is removed and made again, as systemd does when a unit is started again."""
    service = OURS / "again.service"
    service.mkdir()
    first = start(cgroup=service)
    with all_of(first):
        _, target, _ = profile.arm(family, "service", cgroup=service)
        judge(family, [first], [True], "a service's process")
        first.end()
        wait_until(lambda: remove(service))
        service.mkdir()
        later, beside = start(cgroup=service), start(cgroup=OURS)
        judge(family, [later, beside], [True, False], "the service started again, and a process beside it")
        answer = profile.arm(family, "again", cgroup=service)
        ok(answer[1:] == (target, 1), "armed again for it: the same target")
        later.end()
        beside.end()
    service.rmdir()


def remove(cgroup):
    try:
        cgroup.rmdir()
    except OSError:
        return False
    return True


def processes(family, profile):
    """Processes by their ids."""
    one, two, other = start(), start(), start()
    with all_of(one, two, other):
        _, target, count = profile.arm(family, pids=[one.pid])
        state = next(row for row in family.targets() if row["id"] == target)
        ok(count == 1 and state["scope_pids"] == one.pid, "armed for a process: that alone")
        judge(family, [one, two], [True, False], "of two processes")
        since = family.stats()["next_alert"]
        one.fork(LATE)
        ok(watched(family) == {one.pid}, "a child that it forks is not guarded")
        ok(not wait_until(lambda: family.alerts(since), 1), "and its late unit is not reported")
        refused(profile, family, "all processes while one is guarded", "another scope")
        _, _, count = profile.arm(family, "two", pids=[two.pid, other.pid])
        ok(count == 2, "two others by a profile of their own")
        for text, pids in (("no process", []), ("a process that is not there", [4194303])):
            refused(profile, family, text, "process", pids=pids)
    one, two = start(), start()
    with all_of(two):
        profile.arm(family, pids=[one.pid])
        one.end()
        ok(wait_until(lambda: profile.arm(family, "all")[2] == 1, 5),
           "a target whose process has gone is in nobody's way")


def arguments(family, profile):
    """Processes by their command line, for which one file runs several programs."""
    first, second, long = (start(args=(one,)) for one in ("--app=one", "--app=two", "x" * 30000 + "--app=one"))
    with all_of(first, second, long):
        _, target, count = profile.arm(family, args="--app=one")
        state = next(row for row in family.targets() if row["id"] == target)
        ok(count == 2 and state["scope_args"] == "--app=one" and not state["untracked"],
           "armed for arguments: the processes that have them")
        judge(family, [first, second, long], [True, False, True], "of three command lines")
        with contextlib.ExitStack() as later:
            programs = [start(args=one) for one in (("--app=one",), ("--app=two",), (), ("-v", "--app=one", "z"))]
            for program in programs:
                later.callback(program.end)
            judge(family, programs, [True, False, False, True], "of four that start later")
            since = family.stats()["next_alert"]
            programs[0].fork(LATE)
            ok(wait_until(lambda: family.alerts(since), 3), "a child that one forks is guarded")
        _, other, count = profile.arm(family, "two", args="--app=two")
        ok(other != target and count == 1, "another profile for other arguments")
        _, _, count = profile.arm(family, "user", args="--app", uid=ALICE)
        with contextlib.ExitStack() as later:
            programs = [start(ALICE, args=("--app=three",)), start(BOB, args=("--app=three",))]
            for program in programs:
                later.callback(program.end)
            judge(family, programs, [True, False], "with arguments and of a user")
        refused(profile, family, "no text", "every process", args="")
        racing(family, target)


def racing(family, target):
    """Processes that begin while profiles come and go: who runs is watched, or not, from the start."""
    wrong = []
    for _ in range(20):
        programs = [start(args=(one,)) for one in ("--app=one", "--other")]
        found = [(row["pid"], row["target_id"]) for row in family.table("PROCESS_GET", "PROCESS")]
        if (programs[0].pid, target) not in found or programs[1].pid in dict(found):
            wrong.append(found)
        for program in programs:
            program.end()
    ok(not wrong, f"each of 20 is known before it does anything: {wrong[:1]}")


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
    again(family, profile)
    processes(family, profile)
    arguments(family, profile)
    if IS_SLOW:
        skip("pg-collect arm", "with all of the kernel's checks on it takes too long to train")
    else:
        by_command()
    for cgroup in (BELOW, OURS, THEIRS):
        cgroup.rmdir()
    done()


main()
