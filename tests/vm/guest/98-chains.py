# SPDX-License-Identifier: GPL-2.0
"""A late request is followed from process to process, by TCP and by sockets of this machine."""

import json
import pathlib
import threading
import time

from perfguard import IS_SLOW, LONG, PATIENCE, Audit, done, note, ok, wait_until, watching
from service import Client, Peer, start

FRONT, BACK, PEER = 7320, 7321, 7322
PATH, ABSTRACT = "/tmp/98\x1b[31m.socket", "@98-back"
OUTPUT = pathlib.Path("/tmp/98.watch")
LIMIT_MS, SLOW_US = (500, 4_000_000) if IS_SLOW else (200, 1_500_000)


def lines():
    """The requests that were reported late."""
    whole = OUTPUT.read_text(encoding="utf-8").rpartition("\n")[0].splitlines()
    return [line for line in map(json.loads, whole) if line["kind"] == "request"]


def of(pid):
    """Of the requests of a process that are meant to be slow: on a busy machine others are, too."""
    slow, open_ = [], {}
    for line in lines():
        if line["pid"] != pid:
            continue
        open_.setdefault(line["connection"], []).append(line)
        if line["state"] != "lasts":
            request = open_.pop(line["connection"])
            slow += request if line["time_ns"]["elapsed"] > SLOW_US * 1000 / 2 else []
    return slow + sum(open_.values(), [])


def have_ended(pid):
    """Late requests of that process, and all others that it had to do with."""
    last = {(line["pid"], line["connection"]): line["state"] for line in lines()}
    return of(pid) and "lasts" not in last.values()


def ask_slowly(client, what):
    for us in [1000] * 5 + [SLOW_US]:
        client.ask(what, us)


def ask_two(client, what):
    """The second one's is sent on while the first one's is worked at."""
    second = Client(FRONT)
    client.ask(what, 1)
    second.ask(what, 1)
    busy = threading.Thread(target=client.ask, args=(what, SLOW_US))
    busy.start()
    time.sleep(SLOW_US / 4e6)
    second.ask(what, 1)
    busy.join()
    second.end()


def followed(places, nr_watched, what, ask=ask_slowly):
    """What is printed of a slow request to the first of servers, each of which asks the next one
    and the last one the peer, while so many of them are watched; and their process ids."""
    asked = places[1:] + [PEER]
    servers = [start(*pair) for pair in reversed(list(zip(places, asked)))][::-1]
    client = Client(places[0])
    audits = [Audit("--duration", LONG, "--slower-than", f"{LIMIT_MS}ms", "-p", server.pid)
              for server in servers[:nr_watched]]
    ready = [audit.next("ready") for audit in audits]
    with OUTPUT.open("w", encoding="utf-8") as output:
        watch = watching("--json", "--window", "0", stdout=output)
    ask(client, what)
    wait_until(lambda: have_ended(servers[0].pid))
    time.sleep(0.5)
    for line in lines():
        note(f"{line['pid']}: {line['state']}, {line['cause']}, of {line['client']}, "
             f"there {line.get('there')}")
    watch.send_signal(2)
    watch.wait(PATIENCE)
    for audit in audits:
        audit.finish()
    for server in servers:
        server.kill()
        server.wait()
    client.end()
    return of(servers[0].pid) if all(ready) else [], [server.pid for server in servers]


def check_tcp():
    late, pids = followed([FRONT, BACK], 2, "ask")
    there = [line["there"] for line in late if "there" in line]
    ok(there and all(line["cause"] == f"waiting for 127.0.0.1:{BACK}" for line in late) and all(
        one["pid"] == pids[1] and one["cause"] == "in its own units" for one in there),
       "by TCP a request is followed to the process that works for it")


def check_local():
    """Each end has the name of its socket."""
    late, pids = followed([FRONT, PATH, ABSTRACT], 3, "relay")
    plain = f"unix:{PATH}".replace("\x1b", "?")
    ok(late and all(line["cause"] == f"waiting for {plain}" for line in late),
       "a local socket that is asked has its path as a name, made plain, to the end")
    chains = [line["there"] for line in late if "there" in line.get("there", {})]
    ok(chains and all(
        one["pid"] == pids[1] and one["cause"] == f"waiting for unix:{ABSTRACT}" and
        one["there"]["pid"] == pids[2] and one["there"]["cause"] == "in its own units" and
        "there" not in one["there"] for one in chains),
       "a request is followed by local sockets to the last process")
    middle = of(pids[1])
    ok(middle and all(line["client"] == f"a local socket of process {pids[0]}" for line in middle),
       "who asks by one is named by its process")


def check_end():
    late, pids = followed([FRONT, PATH, ABSTRACT], 2, "relay")
    there = [line["there"] for line in late if "there" in line]
    ok(there and all("there" not in one and one["pid"] == pids[1] and
                     one["cause"] == f"waiting for unix:{ABSTRACT}" for one in there),
       "it ends at the name of a socket whose process is not watched")


def check_queued():
    """By a local socket it is known when a message was sent if who sent it is watched."""
    _, pids = followed([FRONT, PATH], 2, "ask", ask_two)
    queued = [line for line in of(pids[1]) if line["cause"] == "queued"]
    for line in queued:
        note(f"{line['state']}: {line['time_ns']}")
    ok([line["state"] for line in queued].count("answered") == 1 and queued[0]["state"] == "lasts"
       and queued[-1]["time_ns"]["queued"] > SLOW_US * 1000 / 2,
       "what nobody reads there is reported, and is a part of the request")


def main():
    peer = Peer(PEER)
    for check in check_tcp, check_local, check_end, check_queued:
        check()
        pathlib.Path(PATH).unlink(missing_ok=True)
    peer.shutdown()
    done()


main()
