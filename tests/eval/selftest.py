# SPDX-License-Identifier: GPL-2.0
"""That what judges the product judges right: run before each evaluation."""

import match
import rand_index


def unit(start, end, tid=1, fd=-1):
    return match.Unit(start, end, 7, tid, 1, fd, 0, "0", 1, 1, 0)


def request(order, sent, answered, port=1, connection=0):
    return match.Request(connection, port, order, f"label {order}", sent, answered)


def orders(matching):
    return [(both[0].start_ns, both[1].order) for both in matching.pairs]


def check_index():
    index = rand_index.adjusted_rand_index
    assert index(zip("aabb", "xxyy")) == 1
    assert abs(index(zip("aabb", "xxyz")) - 4 / 7) < 1e-12
    assert index(zip("aaaa", "wxyz")) == 0
    assert abs(index(zip("abab", "xxyy")) + 0.5) < 1e-12
    assert rand_index.confusions(zip("aabb", "xxyz"))[0] == (1, "b split: 1 in type y, 1 in type z")


def check_time():
    requests = [request(0, 100, 200), request(1, 210, 300)]
    # The first unit still runs at the client's next request; the last one has no request.
    units = [unit(110, 295), unit(220, 290), unit(400, 500)]
    found = match.match(units, requests, {})
    assert orders(found) == [(110, 0), (220, 1)] and found.rule == "time"
    assert (found.units_left, found.requests_left) == (1, 0)


def check_connections():
    requests = [request(0, 100, 300), request(0, 110, 310, port=2, connection=1)]
    units = [unit(120, 150, fd=5), unit(160, 300, fd=4), unit(301, 400, fd=-1)]
    found = match.match(units, requests, {(7, 4): 1, (7, 5): 2})
    assert found.rule == "connection" and len(found.pairs) == 2
    assert {(both[0].fd, both[1].port) for both in found.pairs} == {(4, 1), (5, 2)}
    assert not match.match([unit(120, 150), unit(160, 300)], requests, {}).pairs


def check_threads():
    requests = [request(i, 100 * i, 100 * i + 90) for i in range(20)]
    requests += [request(i, 40 * i, 40 * i + 30, port=2, connection=1) for i in range(50)]
    units = [unit(one.sent_ns + 5, one.answered_ns, tid=8 + one.port) for one in requests]
    found = match.match(units, requests, {})
    assert found.rule == "thread" and len(found.pairs) == 70
    assert all(both[0].tid == 8 + both[1].port for both in found.pairs)


def check_log():
    requests = [request(0, 100, 300), request(0, 110, 310, port=2, connection=1)]
    log = {"a": [match.Span(125, 140, requests[1])], "b": [match.Span(170, 290, requests[0])]}
    units = [unit(120, 150, tid=8), unit(160, 300, tid=9)]
    found = match.match(units, requests, {}, log)
    assert {(both[0].tid, both[1].port) for both in found.pairs} == {(8, 2), (9, 1)}


def run():
    check_index()
    check_time()
    check_connections()
    check_threads()
    check_log()
