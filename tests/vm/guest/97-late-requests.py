# SPDX-License-Identifier: GPL-2.0
"""Of a program that is guarded, requests beyond a limit are reported, and whom they wait for."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time

from perfguard import (EXACT, IS_SLOW, LONG, MS, PATIENCE, collect, done, in_schema, note,
                       ok, skip, wait_until, watching)
from service import SERVICE, Client, Peer, start

PORT, PEER = 7310, 7311
PROFILE, OUTPUT = "/tmp/97.pgp", pathlib.Path("/tmp/97.watch")
WATCHED = []
LOAD, ASKED = 2000, 200
WAIT_US = 8_000
STARVED_S = 0.8
# Of a profile, by the parts that an alert names.
LIMITS = {"all": "request", "working": "request_working", "peers": "request_peers",
          "held": "request_held"}
LIMIT_MS, SLOW_US = (500, 4_000_000) if IS_SLOW else (200, 700_000)


def ask_usual(client, number):
    """All of them compute; half of them wait, too, for up to WAIT_US."""
    if number % 2:
        client.ask("ask", WAIT_US * (number % 60) // 60, 500 + number % 7)
    else:
        client.ask("compute", 500 + number % 7)


def load():
    """What the server is trained under."""
    clients = [Client(PORT) for _ in range(4)]
    for number in range(LOAD):
        ask_usual(clients[number % 4], number)


def lines(kind):
    whole = OUTPUT.read_text(encoding="utf-8").rpartition("\n")[0].splitlines()
    return [line for line in map(json.loads, whole) if line["kind"] == kind]


@contextlib.contextmanager
def watched():
    with OUTPUT.open("w", encoding="utf-8") as output:
        watch = watching("--json", stdout=output)
    yield
    watch.send_signal(2)
    watch.wait(PATIENCE)
    WATCHED.extend(map(json.loads, OUTPUT.read_text(encoding="utf-8").splitlines()))


def target():
    status = collect("status", "--json").stdout.splitlines()
    return next(line for line in map(json.loads, status) if line["kind"] == "target")


def check_alerts():
    """A request that waits for a peer is reported meanwhile; no unit of it is late."""
    client = Client(PORT)
    for _ in range(10):
        client.ask("ask", 1000)
    took = client.ask("ask", SLOW_US)
    wait_until(lambda: any(line["state"] == "answered" for line in lines("request")))
    late = lines("request")
    for line in late:
        note(f"{line['state']}: {line['cause']}, {line['time_ns']}, usual {line['usual_ns']}")
    ok(late[0]["state"] == "lasts" and late[0]["time_ns"]["elapsed"] < SLOW_US * 1000,
       "it is reported before it has an answer")
    ok(all(line["cause"] == f"waiting for 127.0.0.1:{PEER}" for line in late),
       "with whom it waits for")
    ok(0 < late[0]["usual_ns"] < LIMIT_MS * MS, "and what is usual")
    ok(late[-1]["state"] == "answered" and
       SLOW_US * 1000 <= late[-1]["time_ns"]["elapsed"] <= took,
       "at its end it is said what it took")
    ok(target()["late_requests"] == 1, "it counts once")


def check_where():
    """Of a request that is worked for it is reported where."""
    before = len(lines("request"))
    client = Client(PORT)
    client.ask("compute", SLOW_US)
    wait_until(lambda: any(line["state"] == "answered" for line in lines("request")[before:]))
    late = lines("request")[before:]
    note(f"{[(line['state'], line['cause'], len(line['stacks'])) for line in late]}, "
         f"{late[0]['hot_path']}")
    ok(late[0]["state"] == "lasts" and late[0]["cause"] == "in its own units" and
       late[0]["stacks"] and late[0]["functions"][0]["module"] == SERVICE,
       "one that is worked for is reported with the hot path of that")
    # How far in it was seen is chance; from which function that was is not.
    service = [[step["offset"] for step in line["hot_path"] if step["module"] == SERVICE]
               for line in (late[0], late[-1])]
    ok(late[-1]["state"] == "answered" and len(service[0]) >= 3 and
       service[0][:3] == service[1][:3], "so is its end")


def check_again():
    """Armed without a limit, requests are not followed."""
    ok(collect("arm", PROFILE).returncode == 0, "it is armed without a limit of requests")
    state = target()
    ok(state["request_limit_ns"] is None and "requests" not in state["flags"],
       "and they are not followed any more")
    before = len(lines("request"))
    Client(PORT).ask("ask", SLOW_US)
    time.sleep(1)
    ok(len(lines("request")) == before, "none is reported")


def check_learnt():
    """What requests took in training is their limit, by the type of unit that reads them."""
    shown = json.loads(collect("show", "--json", PROFILE).stdout)
    limits = {one["id"]: one["limits_ns"] for one in shown["types"] if one["requests"]}
    requests = sum(one["requests"] for one in shown["types"])
    note(f"{requests} requests of {LOAD}, limits {limits}")
    ok(LOAD / 2 < requests <= LOAD and all(one["request"] for one in limits.values()),
       "training has seen the requests")
    ok(max(one["request"] for one in limits.values()) < SLOW_US * 1000, "and their limits are below the slow one's time")
    armed = collect("arm", "--requests", "--budget", "none", PROFILE)
    ok(armed.returncode == 0, "it is armed with those limits")
    before = len(lines("request"))
    client = Client(PORT)
    for number in range(ASKED):
        ask_usual(client, number)
    time.sleep(1)
    quick = len({(line["connection"], line["begin"]) for line in lines("request")[before:]})
    note(f"{quick} of {ASKED} usual ones are reported")
    ok(quick < ASKED / 20, "usual requests are hardly ever late")
    return client, limits


def check_late(client, limits):
    """One that takes longer is late by the limit of its type."""
    before = len(lines("request"))
    client.ask("ask", SLOW_US)
    wait_until(lambda: any(line["state"] == "answered" and line["time_ns"]["elapsed"] >
                           SLOW_US * 1000 for line in lines("request")[before:]))
    # Those before it may have been late by what the host did, and end only now.
    late = [line for line in lines("request")[before:] if line["time_ns"]["elapsed"] > 40 * MS]
    note(f"{[(line['state'], line['type'], line['part'], line['threshold_ns']) for line in late]}")
    limit = limits.get(late[0]["type"], {}).get(LIMITS.get(late[0]["part"]), 0)
    ok(late[0]["state"] == "lasts" and late[0]["part"] in ("all", "peers") and
       abs(late[0]["threshold_ns"] - limit) < 1000,
       "one that lasts is reported by a limit of its type")
    ok(late[0]["part_ns"] > limit and 0 < late[0]["usual_ns"] < limits[late[0]["type"]]["request"],
       "with what it took of that, and what is usual for those")


def check_part(client, limits):
    """One that takes no longer than others do, but works where those wait, is late by that part."""
    asks = max(limits.values(), key=lambda one: one["request_peers"] or 0)
    work, whole = asks["request_working"] or asks["request"], asks["request"]
    ok(work < whole / 2, f"what asks others has a limit of its own work: {asks}")
    before = len(lines("request"))
    took = client.ask("ask", 100, (work + whole) // 2000)
    client.ask("compute", 500)
    wait_until(lambda: len(lines("request")) > before, 20)
    late = lines("request")[before:]
    note(f"{took} ns: {[(line['part'], line['part_ns'], line['cause']) for line in late]}")
    ok(late and late[0]["part"] == "working" and late[0]["cause"] == "in its own units" and
       work < late[0]["part_ns"] <= took and abs(late[0]["threshold_ns"] - work) < 1000,
       "one that works for longer is late by that")
    ok(took < whole, "and takes no longer than others")


def burn(cpu):
    """Let no other have the CPU, but who has a higher priority, for as long as it reads."""
    os.sched_setaffinity(0, {cpu})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    print("ready", flush=True)
    begin, end = map(float, input().split())
    time.sleep(max(begin - time.monotonic(), 0))
    while time.monotonic() < end:
        pass


def ask_starved(client):
    """Ask while the server can have no CPU; how long that takes, ns."""
    burning = [subprocess.Popen([sys.executable, __file__, "burn", str(cpu)], text=True, bufsize=1,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
               for cpu in range(os.cpu_count())]
    for one in burning:
        one.stdout.readline()
    begin = time.monotonic() + STARVED_S / 4
    for one in burning:
        one.stdin.write(f"{begin} {begin + STARVED_S}\n")
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(2))
    time.sleep(max(begin - time.monotonic(), 0) + STARVED_S / 10)
    took = client.ask("compute", 500)
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    for one in burning:
        one.communicate()
    return took


def check_starved(client):
    """What a request waits for a CPU is its own by no limit but that of people."""
    for _ in range(5):
        before, starved = len(lines("request")), target()["starved_requests"]
        took = ask_starved(client)
        client.ask("compute", 500)
        time.sleep(1)
        late = lines("request")[before:]
        note(f"{took / MS:.0f} ms, reported {[line['time_ns'] for line in late]}")
        # Whoever waited has the CPUs next, and may make it late by its own time.
        if not late and took > STARVED_S * 500 * MS:
            break
    ok(took > STARVED_S * 500 * MS and not late and
       target()["starved_requests"] == starved + 1, "one that waits for a CPU is starved, not late")

    before = len(lines("request"))
    armed = collect("arm", "--requests", "--request-limit", f"{STARVED_S * 500:.0f}ms",
                    "--budget", "none", PROFILE)
    ok(armed.returncode == 0, "it is armed with both limits")
    ask_starved(client)
    client.ask("compute", 500)
    wait_until(lambda: any(line["state"] == "answered" for line in lines("request")[before:]))
    late = lines("request")[before:]
    note(f"{[(line['state'], line['cause'], line['time_ns']) for line in late]}")
    ok(all(line["type"] is None for line in late) and
       late[-1]["cause"] == "waiting for a CPU" and
       late[-1]["time_ns"]["runqueue"] > STARVED_S * 400 * MS,
       "by people's limit it is late, and what it waited for is named")


def requests_of():
    """How many requests the profile has of each type that has some."""
    shown = json.loads(collect("show", "--json", PROFILE).stdout)
    return {one["id"]: one["requests"] for one in shown["types"] if one["requests"]}


def check_live():
    """Limits of requests are learnt from those of the machine, too."""
    before = requests_of()
    asking = subprocess.Popen([sys.executable, __file__, "load"])
    learnt = collect("learn", "-o", PROFILE, "--live", "--duration", "20s",
                     timeout=LONG)
    asking.kill()
    asking.wait()
    after = requests_of()
    note(f"{before} in training, {after} since; {learnt.stdout}")
    ok(learnt.returncode == 0 and set(after) == set(before) and
       any(after[one] != before[one] for one in before), "requests are learnt in production")


def main():
    peer = Peer(PEER)
    server = start(PORT, PEER)
    trained = collect("train", "-v", "--requests", "-o", PROFILE, "--guard-share", 5, "--workload",
                      f"{sys.executable} {__file__} load", "-e", SERVICE, timeout=LONG)
    if not ok(trained.returncode == 0, "the server is trained"):
        note(trained.stderr[-2500:])
    armed = collect("arm", "--request-limit", f"{LIMIT_MS}ms", PROFILE)
    if ok(armed.returncode == 0, "and armed with a limit of its requests"):
        with watched():
            check_alerts()
        with watched():
            check_where()
            check_again()
        # Those that wait for the same would be folded into the ones before.
        with watched():
            client, limits = check_learnt()
        with watched():
            # By the clock, what it learns of working is what others leave it of the CPUs.
            if EXACT:
                check_part(client, limits)
            else:
                skip("a limit of a part decides", "time is not counted")
            check_late(client, limits)
            check_starved(client)
        if not EXACT:
            check_live()
        in_schema(WATCHED, ("request",), "all that was watched is in the schema")
    else:
        note(armed.stderr)
    ok(collect("disarm", "--all").returncode == 0, "it is disarmed")
    server.kill()
    server.wait()
    peer.shutdown()
    done()


if sys.argv[1:] == ["load"]:
    load()
elif sys.argv[1:2] == ["burn"]:
    burn(int(sys.argv[2]))
else:
    main()
