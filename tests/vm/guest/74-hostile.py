# SPDX-License-Identifier: GPL-2.0
"""A guarded program that does its worst computes what it would without guards."""

import os
import pathlib
import shutil

from family import Family
from hostile import HOSTILE, LIBM, Hostile, at_edges, at_stack, work
from perfguard import IS_SLOW, collect, done, note, ok, run, status, wait_until
from record import HIT, Recorder, file_offset, kinds, sites_of

TMP = pathlib.Path("/tmp/hostile")
FEW = 20 if IS_SLOW else 200
# Where a stack pointer can be: nowhere, in the kernel, in no half, at the ends of both.
ANYWHERE = (0, 1, 8, 0x1000, 0x7ffffffff000, 0x7fffffffeff8, 0x800000000000, 0xffff800000000000,
            0xffffffff81000000, -8, -1)


def is_guarded(program):
    """Its units are judged, and late."""
    targets = [one for one in Family().targets() if one.get("units")]
    before = sum(one["units"] for one in targets)
    program.asked("work 1")
    program.asked("work 1")
    return sum(one["units"] for one in Family().targets() if one.get("units")) > before


def computes(program, text, **lines):
    """It answers each of these lines as it has to; and is guarded after it."""
    wrong = {line: got for line, wanted in lines.items()
             if (got := program.asked(line)) != wanted}
    if wrong:
        note(f"{text}: {wrong}, exit {program.process.poll()}")
    ok(not wrong and is_guarded(program), f"{text}: it computes as ever, and is guarded")


def itself():
    """What a program can do alone."""
    program = Hostile()
    _, _, processes = program.profile().arm(Family(), "hostile")
    ok(processes == 1, "a program is guarded")
    computes(program, "its usual work", **{f"work {FEW}": work(FEW)})
    computes(program, "a stack pointer anywhere",
             **{f"stack {address} {FEW}": at_stack(FEW) for address in ANYWHERE})
    computes(program, "at the edges of mappings", **{f"edge {FEW}": at_edges(FEW)})
    computes(program, "forks", **{f"forks {FEW}": sum(work(i) & 127 for i in range(FEW))})
    computes(program, "execs", **{f"execs {FEW}": sum(work(i) & 127 for i in range(FEW))})
    computes(program, "stepped through by a debugger", **{"traced 50": work(50) & 127})
    computes(program, "a hardware watchpoint", **{"watched 50": 50 * 1000 + (work(50) & 127)})
    computes(program, "a user namespace of its own", userns=0)
    maps = 65000 if not IS_SLOW else 5000
    # The kernel allows one more than that, and the program has some.
    computes(program, f"{maps} mappings", **{f"maps {maps}": maps,
                                             f"work {FEW + 1}": work(FEW + 1)})
    computes(program, "seccomp", seccomp=0, **{f"work {FEW}": work(FEW)})
    program.end()
    collect("disarm", "--all")


def guard_hits():
    """Of each guard, in their order."""
    return [line["hits"] for line in status("guard")]


def replaced_nops():
    """From 6.18 on kernels make calls of breakpoints on some nops."""
    program = Hostile()
    program.profile().arm(Family(), "hostile")
    before = guard_hits()
    computes(program, "nops", **{f"nops {FEW}": work(FEW)})
    hits = [after - one for one, after in zip(before, guard_hits())]
    maps = pathlib.Path(f"/proc/{program.pid}/maps").read_text(encoding="utf-8")
    note(f"{hits} hits, replaced: {'[uprobes-trampoline]' in maps}")
    ok(hits[-1:] == [FEW], "and each one was a hit")
    program.end()
    collect("disarm", "--all")


def foreign():
    """Another's probe at the same place, on before ours and taken off after it."""
    trace = pathlib.Path("/sys/kernel/tracing")
    program = Hostile()
    offset = file_offset(program.pid, program.guards[0])[1]
    (trace / "uprobe_events").write_text(f"p:foreign {HOSTILE}:{offset:#x}\n", encoding="ascii")
    event = trace / "events/uprobes/foreign/enable"
    event.write_text("1", encoding="ascii")
    program.asked(f"work {FEW}")
    program.profile().arm(Family(), "hostile")
    computes(program, "another's probe at the same place", **{f"work {FEW}": work(FEW)})
    seen = sum("foreign:" in line for line in
               (trace / "trace").read_text(encoding="ascii", errors="replace").splitlines())
    ok(seen >= 2 * FEW, f"which sees its hits, {seen}")
    collect("disarm", "--all")
    ok(program.asked(f"work {FEW}") == work(FEW), "and goes on without ours")
    event.write_text("0", encoding="ascii")
    (trace / "uprobe_events").write_text("", encoding="ascii")
    program.end()


def replaced():
    """The file is replaced, as a package's upgrade does it, while the program runs."""
    path = TMP / "program"
    shutil.copy(HOSTILE, path)
    program = Hostile(path)
    program.profile(str(path)).arm(Family(), "hostile")
    shutil.copy(HOSTILE, TMP / "new")
    with open(TMP / "new", "ab") as file:
        file.write(b"another build")
    os.rename(TMP / "new", path)
    computes(program, "its file replaced", **{f"work {FEW}": work(FEW)})
    other = Hostile(path)
    ok(other.asked(f"work {FEW}") == work(FEW) and not breakpoints(other),
       "another build has no breakpoints")
    program.end()
    other.end()
    collect("disarm", "--all")


def breakpoints(program):
    """Those of its guards where there is one now."""
    with open(f"/proc/{program.pid}/mem", "rb", buffering=0) as memory:
        found = []
        for address in program.guards:
            memory.seek(address)
            if memory.read(1) == b"\xcc":
                found.append(address)
        return found


def contained():
    """In a container: an overlay, and namespaces of its own."""
    box = TMP / "box"
    box.mkdir()
    run("mount", "-t", "tmpfs", "box", box)
    for name in ("lower", "upper", "work", "merged"):
        (box / name).mkdir()
    shutil.copy(HOSTILE, box / "lower/program")
    result = run("mount", "-t", "overlay", "-o", f"lowerdir={box}/lower,upperdir={box}/upper,"
                 f"workdir={box}/work", "overlay", box / "merged")
    ok(result.returncode == 0, f"an overlay {result.stderr.strip()}")
    program = Hostile("unshare", "--pid", "--mount", "--uts", "--ipc", "--net", "--fork",
                      "--kill-child", box / "merged/program")
    inner = int(run("pgrep", "-P", program.pid).stdout.split()[0])
    program.pid = inner
    program.profile(str(box / "merged/program")).arm(Family(), "hostile")
    computes(program, "in a container", **{f"work {FEW}": work(FEW)})
    ok(breakpoints(program), "with breakpoints")
    program.process.kill()
    program.end()
    wait_until(lambda: not pathlib.Path(f"/proc/{inner}").exists())
    collect("disarm", "--all")
    run("umount", box / "merged")
    run("umount", box)


def library():
    """A library with a probe in its functions comes and goes, and is replaced while mapped."""
    path = TMP / "library.so"
    shutil.copy(os.path.realpath(LIBM), path)
    sites = [(offset, i, delta) for i, (offset, delta) in enumerate(sites_of(path))]
    program, recorder = Hostile(), Recorder()
    target = recorder.watch("exe", HOSTILE)
    recorder.ask("open")
    answer = recorder.sites(target, path, sites)
    note(f"{len(sites)} sites in the library, {answer}")
    wanted = sum(range(FEW))
    ok(program.asked(f"reload {path} {FEW}") == wanted, "a library that comes and goes, probed")
    hits = len(kinds(recorder.read(), HIT))
    ok(hits > 0, f"and was hit, {hits} times")
    shutil.copy(path, TMP / "new.so")
    os.rename(TMP / "new.so", path)
    ok(program.asked(f"reload {path} {FEW}") == wanted, "replaced by another file")
    recorder.off(target)
    recorder.end()
    program.end()


def main():
    shutil.rmtree(TMP, ignore_errors=True)
    TMP.mkdir()
    itself()
    replaced_nops()
    foreign()
    replaced()
    contained()
    library()
    ok(wait_until(lambda: run("rmmod", "perfguard").returncode == 0) and
       run("insmod", os.environ["PERFGUARD_KO"]).returncode == 0, "the module goes and comes back")
    done()


main()
