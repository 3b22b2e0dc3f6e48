#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Whether the requests of servers take what their clients wait, in the VM.

usage: requests.py [--program NAME] [--kernel KERNEL] [--again]

Without options: all programs on 6.12.  --again judges what an earlier run recorded, without a VM.
The table goes to the standard output and to tests/eval/results/requests.md.

Exit: 0 all requirements were met, 1 not so, 2 usage
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE / "guest"), str(TOP / "tests/vm/guest")]

import measured  # noqa: E402

PAGE = HERE / "results/requests.md"
FILE = "requests.json"
PROGRAMS = ("nginx", "nginx_proxy", "apache", "redis", "memcached", "mariadb", "kind:lighttpd",
            "kind:haproxy", "kind:postgres", "kind:python")
SECONDS = 1800
SHARE, NEAR_NS = 0.02, 500_000  # as near as a request's time is to be to the client's
MOST_HIDDEN = 4     # requests of a connection that its client does not count: it signs on

HOW = f"""\
Sixteen clients, each with a connection of its own, ask 4,000 requests and pause 4 ms between them,
while the server is audited.  The guest's clock counts instructions (`scripts/vm --icount`).

* **asked**: what the clients count. **found**: the module's requests; those by which clients sign
  on come on top, up to {MOST_HIDDEN} a connection.
* **by clients, by the module**: the mean time of a request.
* **queued, in units, peers**: parts of that, of the module's.
* **slowest**: of the eight slowest that the module keeps, those that lie within a request of a client
  whose time is as near as {SHARE:.0%} or {NEAR_NS / 1e6:g} ms.
* Asked is that both are the same: each request is found, and their mean and each of the slowest are
  as near as that.
"""


def is_near(value_ns, wanted_ns):
    return abs(value_ns - wanted_ns) <= max(SHARE * wanted_ns, NEAR_NS)


def pair(slow, asked):
    """(what the module says a request took, what its client waited), ns; None if no client did."""
    begin, end = slow["begin_ns"], slow["begin_ns"] + slow["elapsed_ns"]
    around = [row for row in asked if row[0] <= begin and row[1] >= end]
    if not around:
        return None
    sent, answered = min(around, key=lambda row: begin - row[0])
    return slow["elapsed_ns"], answered - sent


def judge(found):
    """(row of the table, whether it is as asked)"""
    asked, before, after = found["asked"], found["before"], found["after"]
    added = {name: after[name] - before[name] for name in
             ("requests", "elapsed_ns", "queued_ns", "working_ns", "peers_ns")}
    client_ns = sum(answered - sent for sent, answered in asked) / len(asked)
    mean_ns = added["elapsed_ns"] / max(added["requests"], 1)
    first_ns = min(sent for sent, _ in asked)
    slow = [pair(one, asked) for one in found["slow"] if one["begin_ns"] >= first_ns]
    near = sum(one is not None and is_near(*one) for one in slow)
    hidden = added["requests"] - len(asked)
    good = (0 <= hidden <= MOST_HIDDEN * found["connections"] and is_near(mean_ns, client_ns) and
            near == len(slow))
    shares = [f"{100 * added[name] / max(added['elapsed_ns'], 1):.0f} %"
              for name in ("queued_ns", "working_ns", "peers_ns")]
    return [found["program"].removeprefix("kind:"), f"{len(asked):,}", f"{added['requests']:,}",
            f"{client_ns / 1e6:.3f} ms", f"{mean_ns / 1e6:.3f} ms", *shares,
            f"{near} of {len(slow)}", "yes" if good else "no"], good


def main():
    arguments = measured.arguments(PROGRAMS)
    for program in [] if arguments.again else arguments.program or PROGRAMS:
        measured.measure(program, arguments.kernel, FILE, SECONDS,
                         [("--icount", HERE / "guest/requests.py", program)])
    results = measured.founds(PROGRAMS, arguments.kernel, FILE)
    judged = [judge(found) for found in results]
    text = measured.table(["server", "asked", "found", "by clients", "by the module", "queued",
                           "in units", "peers", "slowest", "as asked"],
                          [row for row, _ in judged])
    print(text)
    measured.page(PAGE, "Requests, and what their clients wait",
                  f"Linux {arguments.kernel}, by `make eval-requests`", results, f"{HOW}\n{text}")
    return 0 if len(judged) == len(PROGRAMS) and all(good for _, good in judged) else 1


if __name__ == "__main__":
    sys.exit(main())
