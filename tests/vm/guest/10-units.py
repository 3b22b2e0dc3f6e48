# SPDX-License-Identifier: GPL-2.0
"""Unit counts, against what the client knows it asked for."""

import pathlib
import socket
import subprocess
import time

from family import Family
from perfguard import (IS_SLOW, PATIENCE, Audit, MS, collect, done, functions, is_in, note, ok, run,
                       skip, wait_until)

HELD_SECONDS = 4

TMP = pathlib.Path("/tmp")


def listening(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def start(command, port):
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              stdin=subprocess.DEVNULL)
    return server if wait_until(lambda: listening(port)) else None


def stop(server):
    server.terminate()
    try:
        server.wait(20)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def counted():
    """Units of the audited program so far."""
    return sum(target["units"] for target in family.targets())


def has_loop(request):
    """A request is a unit: what came before the loop was known is none."""
    before = counted()
    request()
    return wait_until(lambda: counted() > before, 0.5)


def served(request, number):
    """Units that so many requests make, and the seconds that they take; and how many are good."""
    wait_until(lambda: has_loop(request))
    before, started = counted(), time.monotonic()
    good = sum(request() for _ in range(number))
    return counted() - before, time.monotonic() - started, good


def busiest(audit, comm):
    """The loop of these threads that had the most units."""
    return max(audit.loops(comm), key=lambda loop: loop["units"], default=None)


def redis():
    commands = 800 if IS_SLOW else 4000
    # hz 1: the server's own timer adds a unit a second.
    server = start(["redis-server", "--port", "7001", "--save", "", "--hz", "1"], 7001)
    audit = Audit("--duration", 900, "-p", server.pid)
    audit.next("ready")
    client = socket.create_connection(("127.0.0.1", 7001))

    def command():
        client.sendall(b"INCR counter\r\n")
        return client.recv(64).startswith(b":")

    units, seconds, complete = served(command, commands)
    ticks = int(seconds) + 1
    audit.finish()
    loop = busiest(audit, "redis-server")
    note(f"redis: {complete} of {commands} commands, {units} units in "
         f"{loop['wait']['syscall']}")
    # A tick that is due when a command comes is served in the command's unit.
    ok(complete == commands and 0.99 * commands <= units <= 1.01 * commands + ticks and loop["units"] >= units,
       "redis: a unit for each command, within 1 %")
    named(server, loop["wait"], command)
    client.close()
    stop(server)


def named(server, wait, command):
    """The loop whose wait is named is the only one; a wait that nobody is in makes none."""
    place = f"{wait['syscall']}@{pathlib.Path(wait['module']).name}+{wait['offset']:#x}"
    audit = Audit("--duration", 60, "--loop", place, "-p", server.pid)
    audit.next("ready")
    good = sum(command() for _ in range(100))
    audit.finish()
    found = [(loop["wait"]["offset"], loop["units"]) for loop in audit.loops()]
    note(f"--loop {place}: {found} {audit.errors}")
    ok(good == 100 and len(found) == 1 and audit.loops()[0]["wait"] == wait and found[0][1] >= 99,
       "the loop whose wait is named is the only one")
    result = collect("audit", "--duration", 1, "--loop", f"{wait['syscall']}@server+0x1",
                     "-p", server.pid)
    ok(result.returncode == 1 and "waited in epoll_wait@server+0x1" in result.stderr,
       "where nobody waits is none")


PAGE = "<p>a small page</p>\n"


def answer(client):
    """One that has the page as its end."""
    said = b""
    while not said.endswith(PAGE.encode()) and (part := client.recv(4096)):
        said += part
    return said


def nginx():
    requests = 800 if IS_SLOW else 3000
    root = TMP / "nginx"
    (root / "www").mkdir(parents=True)
    (root / "www/index.html").write_text(PAGE)
    (root / "conf").write_text(f"""
daemon off; worker_processes 1; pid {root}/pid; error_log {root}/error.log;
events {{ worker_connections 64; }}
http {{ access_log off; keepalive_requests 100000;
  client_body_temp_path {root}/b; proxy_temp_path {root}/p; fastcgi_temp_path {root}/f;
  uwsgi_temp_path {root}/u; scgi_temp_path {root}/s;
  server {{ listen 127.0.0.1:7002; root {root}/www; }} }}
""")
    run("chmod", "-R", "a+rwX", root)
    server = start(["nginx", "-c", str(root / "conf"), "-e", str(root / "error.log")], 7002)
    time.sleep(0.5)
    audit = Audit("--duration", 900, "-e", "/usr/sbin/nginx")
    audit.next("ready")
    worker = int(run("pgrep", "-P", server.pid).stdout)
    client = socket.create_connection(("127.0.0.1", 7002))

    def request():
        client.sendall(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
        is_good = answer(client).startswith(b"HTTP/1.1 200 ")
        # A request that is there before the worker waits again is served without a wait.
        while not is_in(worker, "S"):
            time.sleep(0)
        return is_good

    units, _, complete = served(request, requests)
    client.close()
    audit.finish()
    loop = busiest(audit, "nginx")
    note(f"nginx: {complete} of {requests} requests, {units} units in {loop['wait']['syscall']}")
    ok(complete == requests and 0.99 * requests <= units <= 1.01 * requests and
       loop["units"] >= units, "nginx: a unit for each request, within 1 %")
    stop(server)


MARIADB = ["mariadb", "--socket=/tmp/mariadb/socket"]


def sql(*statements):
    return subprocess.run(MARIADB, input="".join(line + ";\n" for line in statements),
                          text=True, capture_output=True, timeout=PATIENCE, check=False)


def mariadb_start():
    base = TMP / "mariadb"
    base.mkdir()
    options = ["--no-defaults", f"--datadir={base}/data", f"--socket={base}/socket",
               "--user=root", "--innodb-flush-log-at-trx-commit=0",
               "--innodb-buffer-pool-size=16M", "--innodb-log-file-size=8M"]
    run("mariadb-install-db", *options, "--auth-root-authentication-method=normal",
        "--skip-test-db")
    # A thread that is kept for the next client waits in a place that an audit takes for one in
    # mid-unit at first: a limit, see README.md.
    server = subprocess.Popen(["mariadbd", *options, "--skip-networking", "--thread-cache-size=0"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: sql("select 1").returncode == 0)
    sql("create database d", "create table d.t (a int primary key, b int) engine=innodb",
        "insert into d.t values (1, 0)")
    return server


def hold_row(seconds):
    """One connection holds a row, another one waits for it so long; ns, at most."""
    holder = subprocess.Popen(MARIADB + ["--unbuffered"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    holder.stdin.write("begin;\nupdate d.t set b = 0 where a = 1;\nselect 'held';\n")
    holder.stdin.flush()
    holder.stdout.readline()
    started = time.monotonic_ns()
    waiter = subprocess.Popen(MARIADB + ["-e", "update d.t set b = b + 1 where a = 1"])
    wait_until(lambda: "LOCK WAIT" in
               sql("select trx_state from information_schema.innodb_trx").stdout)
    time.sleep(seconds)
    holder.stdin.write("commit;\n")
    holder.stdin.close()
    waiter.wait(PATIENCE)
    holder.wait(PATIENCE)
    return time.monotonic_ns() - started


def mariadb():
    server = mariadb_start()
    # Work that a busy host stretches stays far below that.
    audit = Audit("--duration", 900, "--slower-than", "1500ms", "-p", server.pid)
    audit.next("ready")
    # What the connection threads do otherwise, so that their loop is known.
    sql(*["update d.t set b = b + 1 where a = 1"] * 30)
    waited = hold_row(HELD_SECONDS)
    audit.finish()
    slow = audit.kind("slow")
    for line in slow:
        names = functions(line["stacks"][0]) if line["stacks"] else []
        note(f"mariadb: {line['elapsed_ns'] / MS:.0f} ms, blocked "
             f"{line['time_ns']['blocked'] / MS:.0f}, in {[n for n in names if n][:6]}")
    note(f"mariadb: the client waited {waited / MS:.0f} ms, its own start included")
    ok(len(slow) == 1, "mariadb: a wait for a row lock is one late unit, and the only one")
    if slow:
        blocked, queued = (slow[0]["time_ns"][part] for part in ("blocked", "runqueue"))
        # When the lock is free, the thread may have to wait for a CPU.
        ok(blocked >= 0.9 * (slow[0]["elapsed_ns"] - queued) and
           1000 * MS <= blocked + queued and blocked <= waited,
           "mariadb: its time is blocked time, for as long as the lock was held")
        ok(any("ha_index_read_map" in (name or "") for stack in slow[0]["stacks"]
               for name in functions(stack)), "mariadb: the stack names the index read")
    stop(server)


family = Family()
for test in (redis, nginx, mariadb):
    if test is mariadb and IS_SLOW:
        skip("mariadb", "too slow there to distinguish a lock from the rest by time")
        continue
    try:
        test()
    except FileNotFoundError as missing:
        skip(test.__name__, f"{missing.filename} is not installed")
done()
