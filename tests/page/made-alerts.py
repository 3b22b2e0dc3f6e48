#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Lines of JSON as watch writes them, of a made-up program: usage: made-alerts.py N"""

import datetime
import json
import random
import sys

EXE = "/usr/sbin/made"
LIBC = "/usr/lib/x86_64-linux-gnu/libc.so.6"
BEGIN = datetime.datetime(2026, 1, 2, 3, 4, 5)
MS = 1000 * 1000
RANDOM = random.Random(7)


def time(seconds):
    return (BEGIN + datetime.timedelta(seconds=seconds)).isoformat(timespec="microseconds") + "Z"


def frame(module, function):
    offset = sum(map(ord, function)) * 64
    return {"module": module, "build_id": "5f1c06f1", "offset": offset, "function": function,
            "function_offset": 4}


def stack(at_ns, place, is_blocked):
    calls = [(EXE, "_start"), (LIBC, "__libc_start_main"), (EXE, "main"), (EXE, "run_loop"),
             (EXE, "dispatch"), (EXE, f"serve_{place % 5}"), (EXE, f"step_{place}"),
             (EXE, f"leaf_{RANDOM.randrange(3)}_of_{place}_with_a_rather_long_name")]
    calls += [(LIBC, "pread64")] if is_blocked else []
    return {"at_ns": at_ns, "into_ns": at_ns, "state": "blocked" if is_blocked else "running",
            "end": None, "frames": [frame(*call) for call in reversed(calls)],
            **({"syscall": "pread64"} if is_blocked else {})}


def unit(number):
    place = min(int(RANDOM.expovariate(0.1)), 60)
    elapsed = int(RANDOM.lognormvariate(4, 1.2) * MS)
    blocked = RANDOM.randrange(elapsed)
    return {"kind": "ended", "seq": number, "time": time(number * 0.9), "pid": 41, "tid": 41,
            "comm": "made", "unit": number, "exe": EXE, "build_id": "5f1c06f1", "cgroup": "/made.service",
            "type": place % 5 + 1, "type_name": f"serve_{place % 5}", "confidence": 0.98, "part": "own",
            "threshold_ns": 2 * MS, "elapsed_ns": elapsed,
            "time_ns": {"cpu": elapsed - blocked, "runqueue": 0, "blocked": blocked, "block_io": None,
                        "stopped": 0},
            "stacks": [stack((1 + i) * elapsed // 12, place, RANDOM.random() < blocked / elapsed)
                       for i in range(10)],
            "reason": {"text": f"blocked {blocked / MS:.1f} ms in pread64, where this type hardly blocks",
                       "usual_ns": MS, "parts": [{"part": "io", "ns": blocked, "usual_ns": 5000,
                                                  "excess_ns": blocked, "factor": blocked / 5000,
                                                  "syscall": "pread64"}]},
            "contexts": [{"module": EXE, "offset": 64, "function": "rarely_called", "depth": 8, "hits": 3,
                          "usual": 0.001, "unusual": True}],
            "lock": {"address": 140737488347136, "holder": {"tid": 44, "comm": "made"}}}


def request(number):
    peers = int(RANDOM.lognormvariate(4, 1) * MS)
    return {"kind": "request", "seq": number, "time": time(number * 0.9 + 1), "state": "answered",
            "exe": EXE, "comm": "made", "pid": 41, "tid": 41, "threshold_ns": 9 * MS, "part": "peers",
            "part_ns": peers, "begin": time(number * 0.9), "client": f"192.0.2.1:{number}",
            "peer": "192.0.2.9:3306", "cause": "waiting for 192.0.2.9:3306",
            "time_ns": {"elapsed": peers + 3 * MS, "queued": MS, "units": 2 * MS, "handed": 0,
                        "peers": peers, "between": 0, "runqueue": 0},
            "average_ns": {"elapsed": 9 * MS, "queued": MS, "units": 3 * MS, "handed": 0, "peers": 5 * MS,
                           "between": 0},
            "there": {"comm": "database", "pid": 50, "tid": 51, "cause": "in its own units",
                      "function": "scan_table"}}


def main():
    number = int(sys.argv[1])
    lines = [request(i) if i % 7 == 3 else unit(i) for i in range(1, number + 1)]
    lines += [{"kind": "level", "time": time(number * 0.4), "since": time(number * 0.35), "slow": True,
               "exe": EXE, "profile": 1, "type": 2, "type_name": "serve_1", "part": "cpu",
               "level_ns": 4 * MS, "before_ns": MS, "units": 900, "late": 300},
              {"kind": "level", "time": time(number * 0.5), "since": time(number * 0.5), "slow": False,
               "exe": EXE, "profile": 1, "type": 2, "type_name": "serve_1", "part": "cpu",
               "level_ns": MS, "before_ns": 4 * MS, "units": 900, "late": 300},
              {"kind": "starved", "time": time(number * 0.7), "since": time(number * 0.68),
               "starved": True, "units": 900, "starved_units": 80,
               "cpu": [{"pid": 99, "comm": "backup", "share": 0.93}]},
              {"kind": "starved", "time": time(number * 0.75), "since": time(number * 0.75),
               "starved": False, "units": 900, "starved_units": 80, "cpu": []},
              {"kind": "repeated", "time": time(number * 0.2), "seq": 1, "count": 12, "window_ns": 10**10,
               "elapsed_ns": {"min": 3 * MS, "max": 40 * MS, "running": 0}}]
    for line in lines:
        print(json.dumps(line))


if __name__ == "__main__":
    main()
