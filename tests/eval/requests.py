#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Whether the requests of servers take what their clients wait, in the VM.

usage: requests.py [--program NAME] [--kernel KERNEL] [--again]

Without options: all programs on 6.12.  --again judges what an earlier run recorded, without a VM.
The table goes to the standard output and to tests/eval/results/requests.md.

Exit: 0 all requirements were met, 1 not so, 2 usage
"""

import bisect
import collections
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE / "guest"), str(TOP / "tests/vm/guest")]

import measured  # noqa: E402

PAGE = HERE / "results/requests.md"
FILE = "requests.json"
PROGRAMS = ("nginx", "nginx_proxy", "apache", "redis", "redis_blocked", "memcached", "mariadb",
            "subject:mariadb_pool", "kind:lighttpd", "kind:haproxy", "kind:postgres", "kind:python",
            "python_threads", "dnsmasq", "subject:geany")
SCRIPTS = {"subject:geany": "keys.py"}
SECONDS = 1800
SHARE, NEAR_NS = 0.02, 500_000  # as near as a request's time is to be to the client's
ENOUGH = 0.99                   # of the requests
MOST_HIDDEN = 4     # requests of a connection that its client does not count: it signs on
CLOCKS_NS = 100_000  # an interrupt may come between the looks at two clocks; the pauses are longer

HOW = f"""\
Sixteen clients (four of Apache, memcached, MariaDB and PostgreSQL), each with a connection of its
own, ask 4,000 requests and pause 4 ms between them, while the server is audited.  The guest's clock
counts instructions (`scripts/vm --icount`).  Each request that the module records (events `request`
of the training stream) is compared with the one of its client: that by the same port within whose
time it began.

* **asked**: what the clients count. **found**: the module's requests. Those by which clients sign
  on, and one before and one after the load, come on top, up to {MOST_HIDDEN} a connection.
* **by clients, by sockets, by the module**: the mean time of a request. A client's is from before it
  sends to when it has read the answer; that has its own waits for the CPU in it, which all clients
  and the server share. The socket's is from the packet that asks to the last one of the answer, as
  the kernel stamps them (`SO_TIMESTAMPING` of the client's socket).
* **queued, in units, peers**: parts of that, of the module's.
* **near**: of all that were asked, those that the module found, once, and whose time is as near to
  the socket's as {SHARE:.0%} or {NEAR_NS / 1e6:g} ms. **furthest**: the largest difference.
* Asked is that {ENOUGH:.0%} are near.

In `redis_blocked` every second client waits for what the one before it pushes (BLPOP). `python` is a
loop over select(), `python_threads` CPython's ThreadingHTTPServer, which has a thread for each
connection, and writes an answer in two parts of which the kernel holds the second one back (Nagle's
algorithm) until the client acknowledges the first, after 40 ms.

`geany` is shown by an X server (Xvfb), and gets 500 keys, 400 to 600 ms apart, each of which it
draws. By sockets a key takes from when the server begins to write it until the program begins to write
the last that it draws, with no pause of 100 ms in between, both by the kernel's trace (raw_syscalls) of
the two processes; by clients from before the key is sent.

`dnsmasq` has one socket for all clients, by UDP, and asks one of two other name servers for most of
them, one of which answers 30 ms late. Since the clients have packets stamped, the kernel stamps what
comes to it, too: without stamps what waits to be read is not in the module's time.
"""


def is_near(value_ns, wanted_ns):
    return abs(value_ns - wanted_ns) <= max(SHARE * wanted_ns, NEAR_NS)


class Recorded:
    """What the module recorded, by port and in order of time."""

    def __init__(self, rows):
        self.of = collections.defaultdict(list)
        for port, begin, elapsed in rows:
            self.of[port].append((begin, elapsed))
        for requests in self.of.values():
            requests.sort()

    def within(self, port, first_ns, last_ns):
        """The times of those that began then."""
        requests = self.of[port]
        return [elapsed for _, elapsed in
                requests[bisect.bisect_left(requests, (first_ns, 0)):
                         bisect.bisect_right(requests, (last_ns, 0))]]


def pairs(found):
    """[(what the module says a request took, what its client's socket does)], ns; None for the
    first of them if it was not found, or not once."""
    recorded = Recorded(found["recorded"])
    for asked in found["asked"]:
        times = recorded.within(asked["port"], asked["sent_ns"] - CLOCKS_NS, asked["answered_ns"])
        yield times[0] if len(times) == 1 else None, asked["came_ns"] - asked["went_ns"]


def judge(found):
    """(row of the table, whether it is as asked)"""
    asked, before, after = found["asked"], found["before"], found["after"]
    added = {name: after[name] - before[name] for name in
             ("requests", "elapsed_ns", "queued_ns", "working_ns", "peers_ns")}
    compared = list(pairs(found))
    near = sum(one is not None and is_near(one, wanted) for one, wanted in compared)
    furthest = max((abs(one - wanted) for one, wanted in compared if one is not None), default=0)
    hidden = added["requests"] - len(asked)
    good = near >= ENOUGH * len(asked) and 0 <= hidden <= MOST_HIDDEN * found["connections"]
    found_ns = [one for one, _ in compared if one is not None]
    means = [sum(one["answered_ns"] - one["sent_ns"] for one in asked) / len(asked),
             sum(wanted for _, wanted in compared) / len(asked),
             sum(found_ns) / max(len(found_ns), 1)]
    shares = [f"{100 * added[name] / max(added['elapsed_ns'], 1):.0f} %"
              for name in ("queued_ns", "working_ns", "peers_ns")]
    return [found["program"].split(":")[-1], f"{len(asked):,}", f"{added['requests']:,}",
            *(f"{mean / 1e6:.3f} ms" for mean in means), *shares,
            f"{100 * near / len(asked):.2f} %", f"{furthest / 1e6:.2f} ms",
            "yes" if good else "no"], good


def main():
    arguments = measured.arguments(PROGRAMS)
    for program in [] if arguments.again else arguments.program or PROGRAMS:
        measured.measure(program, arguments.kernel, FILE, SECONDS,
                         [("--icount", HERE / "guest" / SCRIPTS.get(program, "requests.py"),
                           program)])
    results = measured.founds(PROGRAMS, arguments.kernel, FILE)
    judged = [judge(found) for found in results]
    text = measured.table(["server", "asked", "found", "by clients", "by sockets", "by the module",
                           "queued", "in units", "peers", "near", "furthest", "as asked"],
                          [row for row, _ in judged])
    print(text)
    measured.page(PAGE, "Requests, and what their clients wait",
                  f"Linux {arguments.kernel}, by `make eval-requests`", results, f"{HOW}\n{text}")
    return 0 if len(judged) == len(PROGRAMS) and all(good for _, good in judged) else 1


if __name__ == "__main__":
    sys.exit(main())
