# SPDX-License-Identifier: GPL-2.0
"""Containers of one image are chosen, learnt from, guarded and reported each by itself."""

import json
import pathlib
import shutil
import signal
import time
import urllib.request

from containers import CGROUPS, SERVER, TMP, Container, begin_engine, end_engine, make_image
from guarded import reload as reload_module
from perfguard import (IS_SLOW, MS, Audit, collect, done, in_schema, note, ok, skip, status,
                       wait_until)
from serving import JOURNAL, Journal, Serve, Socket

A, B, C, D = (begin + (64 - len(begin)) * end for begin, end in
              (("3f2a", "1"), ("3f77", "2"), ("c0de", "3"), ("beef", "4")))
SLOW_MS = 300
PROFILE = pathlib.Path("/tmp/79.pgp")
SERVICE = pathlib.Path("/tmp/serve79")
METRICS = "7198"
ARMED, WAITING, NOT_ARMED, DISARMED, ENDED = (
    "ed0ef48f52e24db09f658de45e10d3b7", "0c1de2e75f1b4c35a7f64d5c7b0e9a38",
    "6b961067e13e4e19b96ac015b23d2122", "fe1a387639014683bb6e99051e19ac7b",
    "a78fade9de234a089c4502da16845d50")


def all_slow(boxes):
    for box in boxes:
        box.slow(SLOW_MS)


def slow_ones(lines, kind="ended"):
    """What was slow on purpose: on a busy host others are late, too."""
    return [line for line in lines if line["kind"] == kind and line["time_ns"] and
            line["time_ns"]["blocked"] >= SLOW_MS * MS / 2]


def containers_of(lines):
    return [line["container"] for line in slow_ones(lines)]


def is_shown_as_inside(lines):
    """Files have the paths that the container has, and functions have names by these files."""
    frames = [frame for line in lines if line["kind"] == "late" for stack in line["stacks"]
              for frame in stack["frames"]]
    modules = {frame["module"] for frame in frames}
    return SERVER in modules and not any(one.startswith(("/proc", str(TMP))) for one in modules) and \
        "/proc/" not in json.dumps(lines) and "main" in {frame["function"] for frame in frames}


def audited(boxes, text, wanted, *options):
    """All are slow; of those that are meant it is reported."""
    audit = Audit("--duration", 600, "--slower-than", "100ms", *options)
    if not ok(audit.next("ready"), f"{text}: an audit begins"):
        note(audit.finish().errors)
        return
    all_slow(boxes)
    wait_until(lambda: audit.next("ended", 1) and len(containers_of(audit.lines)) == len(wanted), 60)
    lines = audit.finish().lines
    found = slow_ones(lines)
    found = [(one["container"], one["pid"], one["ns_pid"], one["exe"]) for one in found]
    if not ok(found == [(box.identifier, box.pid, 1, SERVER) for box in wanted],
              f"{text}: the late unit of {' and '.join(box.name for box in wanted)}, by both process ids"):
        note(f"{found} {audit.errors}")
    ok(is_shown_as_inside(lines), f"{text}: files and functions as the container has them")


def chosen(boxes):
    one, two, three = boxes
    audited(boxes, "by its id", [one], "--container", A)
    audited(boxes, "by how its id begins", [two], "--container", "3f77")
    audited(boxes, "by its cgroup", [two], "--cgroup", f"system.slice/docker-{B}.scope")
    audited(boxes, "by its unit", [three], "--unit", "web")
    audited(boxes, "by a process and its file", [three], "-p", three.pid, "-e", SERVER)
    audited(boxes, "by the file of all", boxes, "-e", SERVER)
    audited(boxes, "by its arguments", [two], "-e", SERVER, "--args", "/log/two")


def refused(text, code, words, *command):
    result = collect(*command)
    ok(result.returncode == code and words in result.stderr and not status("target"),
       f"{text}: exit {result.returncode}, {result.stderr.strip().splitlines()[0]}")
    return result


def refusals():
    audit = ("audit", "--duration", "1")
    refused("an id that is not there", 1, "there is no container 'dead'", *audit, "--container", "dead")
    result = refused("one that is not clear", 1, "container '3f' is not clear: there are 2", *audit,
                     "--container", "3f")
    ok(A in result.stderr and B in result.stderr and C not in result.stderr, "it lists both")
    refused("a cgroup that is not there", 1, "there is no cgroup (version 2) 'nosuch'", *audit,
            "--cgroup", "nosuch")
    refused("a unit that is not there", 1, "there is no unit 'nosuch.service'", *audit, "--unit",
            "nosuch")
    refused("two that are a cgroup", 2, "give one of --unit, --container and --cgroup", *audit,
            "--unit", "web", "--container", A)
    refused("a file that none of them runs", 1, "none of these processes runs /bin/sleep", *audit,
            "--container", A, "-e", "/bin/sleep")
    refused("more of them than there are", 1, "fewer than 4 of these processes run " + SERVER, "train",
            "-o", "/tmp/79.no", "--canary", "4", "-e", SERVER, "--duration", "1")
    refused("a file that only containers have", 1, "has it in its container: use --container ", "arm",
            PROFILE)


def checked():
    result = collect("check", "--container", A, "--duration", "1")
    ok("ok       functions" in result.stdout, "its file is read for a check")


def learnt(box):
    """Of two runs one chooses the container, the other the file, of whose processes by chance one."""
    result = collect("train", "-o", PROFILE, "--workload", box.command(1, 400, "steady"), "--hits", "2",
                     "-e", SERVER, "--container", A)
    if not ok(result.returncode == 0, "a container is learnt from"):
        note(result.stderr[-900:])
        done()
    trained = json.loads(collect("show", "--json", PROFILE).stdout.splitlines()[0])
    ok(SERVER in json.dumps(trained) and "/proc/" not in json.dumps(trained),
       "the profile has the path that the container has")
    result = collect("train", "-v", "-o", "/tmp/79.canary", "--workload",
                     box.command(2, 100, "steady"), "--canary", "3", "-e", SERVER)
    ok(result.returncode == 0 and result.stderr.count(" was chosen") == 3,
       f"the file of all of them, of which some are chosen {result.stderr[-300:]}")


def guarded_alone(boxes):
    one = boxes[0]
    since = len(watched())
    result = collect("arm", "--container", "3f2a", PROFILE)
    ok(result.returncode == 0 and f"only       in cgroup /system.slice/docker-{A}.scope" in
       result.stdout and "1 now" in result.stdout and "/proc/" not in result.stdout,
       "it is guarded")
    all_slow(boxes)
    wait_until(lambda: len(watched()) > since)
    lines = watched()[since:]
    ok(containers_of(lines) == [A] and slow_ones(lines)[0]["pid"] == one.pid and
       slow_ones(lines)[0]["ns_pid"] == 1, "and reported")
    ok(is_shown_as_inside(lines), "with files and functions as the container has them")
    text = collect("status").stdout
    ok(f"process {one.pid} " in text and f"container {A[:12]}, process 1 there" in text,
       "status has the container, and both process ids")
    ok([(row["container"], row["pid"], row["ns_pid"]) for row in status("process")] == [(A, one.pid, 1)],
       "its JSON, too")
    collect("disarm", "--all")


def watched():
    return [json.loads(line) for line in
            collect("watch", "--json", "--all", "--window", "0", "--duration", "1").stdout.splitlines()]


def guarded_together(boxes):
    since = len(watched())
    result = collect("arm", "--root-of", boxes[0].pid, PROFILE)
    ok(result.returncode == 0 and "3 now" in result.stdout, "all of the image are guarded")
    all_slow(boxes)
    wait_until(lambda: len(containers_of(watched()[since:])) == 3)
    lines = watched()[since:]
    ok([(one["container"], one["pid"]) for one in slow_ones(lines)] ==
       [(box.identifier, box.pid) for box in boxes], "an alert says which of them it is")
    in_schema(lines, ("late", "ended"), "all are in the schema")
    text = collect("watch", "--all", "--duration", "1").stdout
    ok(all(f"in        container {box.identifier[:12]}, process 1 there" in text for box in boxes) and
       "/proc/" not in text, "for people, too")
    text = collect("top", "--once").stdout
    ok(all(f"container {box.identifier[:12]}: 1 process" in text for box in boxes), "top has each")
    text = collect("export", "--format", "folded", "-o", "/tmp/79.folded", write_alerts(lines))
    folded = pathlib.Path("/tmp/79.folded").read_text(encoding="utf-8")
    ok(text.returncode == 0 and folded and "/proc/" not in folded, "what is exported has no path of ours")
    collect("disarm", "--all")


def write_alerts(lines):
    path = pathlib.Path("/tmp/79.json")
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def configure(*lines):
    (SERVICE / "perfguard.conf").write_text("\n".join(
        (f"profiles = {SERVICE}/profiles.d", f"spool = {SERVICE}/spool", "window = none",
         "budget = none", *lines)) + "\n", encoding="utf-8")


def armed(journal, name):
    return sum(one["PERFGUARD_PROFILE"].endswith(f"/{name}.pgp") for one in journal.ids(ARMED))


def reported(journal, box):
    """How many of its late units."""
    found = [json.loads(one["PERFGUARD_JSON"]) for one in journal.ids(ENDED)]
    return containers_of(found).count(box.identifier)


def is_guarded(journal, box):
    before = reported(journal, box)
    box.slow(SLOW_MS)
    return wait_until(lambda: reported(journal, box) > before, 10)


def metric(name, *labels):
    with urllib.request.urlopen(f"http://127.0.0.1:{METRICS}/metrics", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    return [float(line.rsplit(" ", 1)[1]) for line in lines
            if line.startswith(name + "{") and all(one in line for one in labels)]


def begin_service(notify, journal):
    """One waits for its unit; the container of the next is there; that of the third is known by its
    arguments."""
    (SERVICE / "profiles.d").mkdir(parents=True)
    for name in ("late", "two", "three"):
        shutil.copy(PROFILE, SERVICE / f"profiles.d/{name}.pgp")
    configure("[profile late.pgp]", "unit = later", "[profile two.pgp]", "container = 3f77",
              "[profile three.pgp]", "args = /log/three", "uid = root")
    serve = Serve(notify, SERVICE / "perfguard.conf", METRICS)
    line = serve.status()[0]
    ok("guarding by 2 of 3 profiles" in line and
       "; not armed yet: late.pgp (there is no unit 'later.service' that has processes;" in line,
       f"the service arms for those who are there: {line}")
    ok((armed(journal, "two"), armed(journal, "three"), armed(journal, "late")) == (1, 1, 0),
       "the journal has which")
    ok(not journal.ids(NOT_ARMED), f"and no refusal: {[one['MESSAGE'] for one in journal.ids(NOT_ARMED)]}")
    ok(sorted(metric("perfguard_profiles")) == [0, 1, 2] and
       metric("perfguard_profiles", 'state="waiting"') == [1], "so do its metrics")
    return serve


def later(serve, journal, boxes):
    time.sleep(8)
    ok([one["PRIORITY"] for one in journal.ids(WAITING)] == ["5"],
       "that one waits is said once, however often it is tried")
    box = Container("later", f"system.slice/later.service/docker-{D}.scope", 7194)
    box.identifier = D
    ok(wait_until(lambda: armed(journal, "late") == 1, 40), "it is armed when its unit begins")
    ok(is_guarded(journal, box), "and guarded")
    ok(serve.wait_status("guarding by 3 of 3 profiles") and "not armed" not in serve.status()[0],
       "the status says so")
    ok(all(is_guarded(journal, one) for one in boxes[1:]) and reported(journal, boxes[0]) == 0,
       "so are the others, and not one that nobody chose")
    ok(wait_until(lambda: all(metric("perfguard_container_units_total", f'container="{one.identifier}"')
                              for one in (*boxes[1:], box)), 20) and
       metric("perfguard_container_processes", f'container="{B}"') == [1] and
       not metric("perfguard_container_processes", f'container="{A}"'),
       "metrics have each container")
    return box


def again(journal, box, three):
    """A unit that begins again, and a container of another image, and of another id."""
    before = armed(journal, "late")
    box.remove()
    time.sleep(2)
    box.start()
    ok(is_guarded(journal, box), "the unit begins again: it is guarded at once")
    ok(armed(journal, "late") == before, "without being armed again")
    box.remove()
    box.image = TMP / "new-image"
    make_image(box.image)
    box.start()
    ok(wait_until(lambda: armed(journal, "late") == before + 1, 40) and is_guarded(journal, box),
       "from a new image, with another file: it is armed again")
    ok(wait_until(lambda: len([one for one in status("profile") if one["name"].endswith("late.pgp")]) == 1,
                  20), "and what was guarded before is not any more")
    three.remove()
    three.identifier = "f00d" + 60 * "5"
    three.cgroup = CGROUPS / f"system.slice/web.service/libpod-payload-{three.identifier}"
    three.start()
    ok(is_guarded(journal, three) and armed(journal, "three") == 1,
       "another container with the arguments: it is guarded at once")


def reloaded(serve, journal, boxes):
    configure("[profile late.pgp]", "container = 3f2a", "[profile two.pgp]", "arm = no",
              "[profile three.pgp]", "unit = nosuch")
    serve.signal(signal.SIGHUP)
    ok(serve.wait("READY=1", 2) and serve.wait_status("guarding by 1 of 2 profiles"), "reloaded")
    ok([(one["exe"], one["cgroup"]) for one in status("target")] ==
       [(SERVER, f"/system.slice/docker-{A}.scope")],
       "what is guarded is as it is configured now, and nothing else is")
    ok(is_guarded(journal, boxes[0]), "and reported")
    ok(len(journal.ids(WAITING)) == 2, "and what waits now is said")
    spool = [json.loads(line) for line in
             collect("watch", "--spool", SERVICE / "spool", "--json").stdout.splitlines()]
    ok({A, B, C, D} <= set(containers_of(spool)) and "/proc/" not in json.dumps(spool),
       "the spool has the container of each alert")


def service(boxes):
    reload_module(512)      # the service reads what is there, too
    SERVICE.mkdir()
    notify, journal = Socket(SERVICE / "notify"), Journal(JOURNAL)
    serve = begin_service(notify, journal)
    box = later(serve, journal, boxes)
    again(journal, box, boxes[2])
    reloaded(serve, journal, boxes)
    ok(serve.end() == 0 and not status("target"), "it ends, with nothing guarded")
    note((SERVICE / "err").read_text(encoding="utf-8")[-600:])
    box.remove()
    journal.end()


def main():
    if IS_SLOW:
        skip("containers", "with all of the kernel's checks on it takes too long to train")
        done()
    reload_module(512)      # what others left in its ring is not read
    begin_engine()
    boxes = [Container("one", f"system.slice/docker-{A}.scope", 7191),
             Container("two", f"system.slice/docker-{B}.scope", 7192),
             Container("three", f"system.slice/web.service/libpod-payload-{C}", 7193)]
    for box, identifier in zip(boxes, (A, B, C)):
        box.identifier = identifier
    checked()
    chosen(boxes)
    learnt(boxes[0])
    refusals()
    guarded_alone(boxes)
    guarded_together(boxes)
    service(boxes)
    for box in boxes:
        box.remove()
    end_engine()
    done()


main()
