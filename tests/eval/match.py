# SPDX-License-Identifier: GPL-2.0
"""Which unit served which request.

The rules, in this order:
  by the server's log   where there is one (it names the thread and the time): the request that
                        the server began in the unit, in the unit's thread
  by connection         where the unit's boundary is a call on a connection that was open through
                        the whole run: the request of this connection that had been sent and not
                        yet been answered when the unit began
  by thread             where no unit of the loop has a connection, but its threads have one each:
                        the same, of the connection that the thread serves, see threads_serve()
  by time               with one client, and where no unit of the loop has a connection: the same,
                        without regard to connections
How long they overlap says less: the last unit before a wait also sends the answers of others and
outlives its own.  A request has one unit, the longest.  Units that are left are those of
connections that come or go, of timers and of the server's own business; requests that are left
were served by no unit that was recorded.
"""

import bisect
import collections
import dataclasses


# A thread serves the connection of which it has exactly one unit for this share of the requests,
# if it has less than the other share for any other connection.
SERVES = 0.9
SERVES_NOT = 0.8


@dataclasses.dataclass
class Request:
    """A request of a client; port is its connection's, order its place on the connection."""

    connection: int
    port: int
    order: int
    label: str
    sent_ns: int
    answered_ns: int


@dataclasses.dataclass
class Unit:
    """A line of the units file."""

    start_ns: int
    end_ns: int
    pid: int
    tid: int
    loop: int
    fd: int
    half: int
    tree: str
    type: int
    seen: int
    hits: int


@dataclasses.dataclass
class Span:
    """When a request could be served, as the client or the server's log has it."""

    start_ns: int
    end_ns: int
    request: Request


@dataclasses.dataclass
class Matching:
    """pairs are (unit, request); rule: how they were found."""

    pairs: list
    rule: str
    units_left: int
    requests_left: int


def read_table(path):
    """Rows of a tab separated file with a header, as dictionaries."""
    lines = path.read_text().splitlines()
    names = lines[0].lstrip("# ").split("\t")
    return [dict(zip(names, line.split("\t"))) for line in lines[1:] if line]


def read_units(path):
    """The units, by their start."""
    units = []
    for row in read_table(path):
        numbers = {name: int(row[name]) for name in Unit.__annotations__ if name != "tree"}
        units.append(Unit(tree=row["tree"], **numbers))
    return sorted(units, key=lambda unit: (unit.start_ns, unit.end_ns, unit.tid))


def read_requests(path):
    requests = []
    orders = collections.Counter()
    for row in read_table(path):
        connection = int(row["connection"])
        requests.append(Request(connection, int(row["port"]), orders[connection], row["label"],
                                int(row["sent_ns"]), int(row["answered_ns"])))
        orders[connection] += 1
    return sorted(requests, key=lambda request: request.sent_ns)


def read_log(path, requests, realtime_ns):
    """{server's thread id: spans} of these requests, from a log of the server.

    Its lines: id (connection.number, the first number is 1 and is not in the client's log),
    port, thread, begin and end in us of CLOCK_REALTIME.
    """
    wanted = {(request.connection, request.port, request.order): request for request in requests}
    spans = collections.defaultdict(list)
    for line in path.read_text().splitlines():
        words = line.split("\t")
        connection, _, number = words[0].partition(".")
        if not number:
            continue
        request = wanted.get((int(connection), int(words[1]), int(number) - 2))
        if request:
            spans[words[2]].append(Span(int(words[3]) * 1000 - realtime_ns,
                                        int(words[4]) * 1000 - realtime_ns, request))
    return spans


def begun_in(unit, spans, starts):
    """The first span that begins in the unit, or None; spans are rising."""
    i = bisect.bisect_left(starts, unit.start_ns)
    return spans[i] if i < len(spans) and spans[i].start_ns <= unit.end_ns else None


def open_at(unit, spans, starts):
    """The span in which the unit begins, or None; spans are disjoint and rising."""
    i = bisect.bisect_right(starts, unit.start_ns) - 1
    return spans[i] if i >= 0 and unit.start_ns <= spans[i].end_ns else None


def pair(groups, choose):
    """Pairs out of [(units, spans)]; each request has the longest of its units."""
    taken = {}
    for units, spans in groups:
        spans = sorted(spans, key=lambda span: span.start_ns)
        starts = [span.start_ns for span in spans]
        for unit in units:
            span = choose(unit, spans, starts)
            if not span:
                continue
            best = taken.get(id(span.request))
            if not best or unit.end_ns - unit.start_ns > best[0].end_ns - best[0].start_ns:
                taken[id(span.request)] = (unit, span.request)
    return sorted(taken.values(), key=lambda both: both[0].start_ns)


def threads_of_log(units, log):
    """{thread of the log: tid}: the tid whose units hold most of the thread's requests."""
    by_tid = collections.defaultdict(list)
    for unit in units:
        by_tid[unit.tid].append(unit)
    answer = {}
    for thread, spans in log.items():
        def held(tid):
            starts = [unit.start_ns for unit in by_tid[tid]]
            count = 0
            for span in spans:
                i = bisect.bisect_right(starts, span.start_ns) - 1
                count += i >= 0 and by_tid[tid][i].end_ns >= span.start_ns
            return count
        if by_tid:
            answer[thread] = max(sorted(by_tid), key=held)
    return answer


def threads_serve(units, spans_of):
    """{tid: port}, of the threads that serve one connection only.

    While they have one unit for each request of their own connection, they have none or several
    for many a request of another one.
    """
    answer = {}
    for tid in sorted({unit.tid for unit in units}):
        mine = [unit for unit in units if unit.tid == tid]
        scores = []
        for port, spans in spans_of.items():
            starts = [span.start_ns for span in spans]
            counts = collections.Counter(
                id(span) for span in (open_at(unit, spans, starts) for unit in mine) if span)
            exactly = sum(count == 1 for count in counts.values())
            scores.append((exactly / max(len(spans), len(mine)), port))
        scores.sort(reverse=True)
        if scores[0][0] >= SERVES and (len(scores) == 1 or scores[1][0] < SERVES_NOT):
            answer[tid] = scores[0][1]
    return answer


def match(units, requests, sockets, log=None):
    """A Matching of the units of one loop; sockets is {(pid, fd): port}."""
    whole = [Span(request.sent_ns, request.answered_ns, request) for request in requests]
    ports = {request.port for request in requests}

    def port_of(unit):
        port = sockets.get((unit.pid, unit.fd))
        return port if port in ports else None

    if log:
        rule = "server's log"
        by_tid = collections.defaultdict(list)
        for thread, tid in threads_of_log(units, log).items():
            by_tid[tid] += log[thread]
        groups = [([unit for unit in units if unit.tid == tid], spans)
                  for tid, spans in by_tid.items()]
    elif any(port_of(unit) for unit in units):
        rule = "connection"
        groups = [([unit for unit in units if port_of(unit) == port],
                   [span for span in whole if span.request.port == port]) for port in ports]
    elif len(ports) == 1:
        rule = "time"
        groups = [(units, whole)]
    else:
        rule = "thread"
        spans_of = {port: [span for span in whole if span.request.port == port]
                    for port in sorted(ports)}
        groups = [([unit for unit in units if unit.tid == tid], spans_of[port])
                  for tid, port in threads_serve(units, spans_of).items()]
    pairs = pair(groups, begun_in if log else open_at)
    return Matching(pairs, rule, len(units) - len(pairs), len(requests) - len(pairs))


def window(units, requests):
    """The requests that were served while units were recorded."""
    if not units:
        return []
    first = min(unit.start_ns for unit in units)
    last = max(unit.end_ns for unit in units)
    return [request for request in requests
            if request.sent_ns >= first and request.answered_ns <= last]
