# SPDX-License-Identifier: GPL-2.0
"""Servers for the paper's tables: as for the other evaluations, but quick to start.

Where instructions are counted a second of the guest takes many of the host's, so what a
database needs before its first start is made on the host, by make_data(), and copied.
"""

import os
import pathlib
import shutil
import subprocess
import threading
import time

import programs

# So many, each as likely, that clients seldom wait for each other's.
SYSBENCH_ROWS = 10000


def sysbench(*words):
    return ["sysbench", "oltp_read_write", "--db-driver=mysql", "--mysql-user=eval",
            "--mysql-db=d", "--tables=1", f"--table-size={SYSBENCH_ROWS}",
            "--rand-type=uniform", *words]


def make_data(target):
    """On the host: MariaDB's files, with the mix's tables and sysbench's."""
    server = programs.load("mariadb")
    server.dir = target.with_name(target.name + ".new")
    shutil.rmtree(server.dir, ignore_errors=True)
    server.dir.mkdir(parents=True)
    server.configure()
    socket = server.dir / "socket"
    process = subprocess.Popen([server.exe, *server.options(), "--skip-networking"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 60
        while not socket.exists():
            if process.poll() is not None or time.monotonic() > end:
                raise SystemExit("mariadbd does not start")
            time.sleep(0.1)
        server.prepare()
        subprocess.run(sysbench(f"--mysql-socket={socket}", "prepare"), check=True,
                       stdout=subprocess.DEVNULL)
    finally:
        process.terminate()
        process.wait(60)
    (server.dir / "data").rename(target)
    shutil.rmtree(server.dir)


class Terminal:
    """MariaDB's command-line client, which a user types statements into."""

    exe = "/usr/bin/mariadb"
    statements = [
        "select c from t0 where id={n};", "select sum(k) from t0 where id between {n} and {n}+9;",
        "update t0 set k=k+1 where id={n};", "select * from t0 where id between {n} and {n}+20;",
        "select a.c, b.c from t0 a join s b on b.id=a.k%20+1 where a.id={n};", "show tables;",
        "select nothing from t0;", "describe t0;", "use d", "select 1.5, null, 'text';",
    ]

    def __init__(self, data):
        self.server = start("mariadb", data)
        self.dir = self.server.dir
        self.process = subprocess.Popen(
            [self.exe, "--no-defaults", f"--socket={self.dir}/socket", "--user=eval", "--force",
             "--unbuffered", "--table", "d"], text=True, bufsize=1, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.pid = self.process.pid
        self.is_wanted = True
        self.pause = 0
        self.thread = threading.Thread(target=self.type)
        self.type_one("select 'ready';", 1)

    def type_one(self, statement, turn):
        """A statement, and one whose answer marks the end of the first one's."""
        self.process.stdin.write(statement.format(n=1 + turn * 37 % 900) + "\n")
        self.process.stdin.write(f"select 'end of {turn}';\n")
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit("the client ended")
            if line.startswith(f"| end of {turn} |"):
                break
        # The line above was a title's, or the value's: read up to the other one.
        while not self.process.stdout.readline().startswith("+--"):
            pass

    def type(self):
        turn = 0
        while self.is_wanted:
            turn += 1
            # The first ones are the most frequent.
            place = (turn * 7919 % 1009 / 1009) ** 2 * len(self.statements)
            self.type_one(self.statements[int(place)], turn)
            time.sleep(self.pause)

    def stop(self):
        self.process.stdin.close()
        self.process.wait(20)
        self.server.stop()


def start(name, data):
    """The program, up; MariaDB with a copy of DATA."""
    # Without it local time looks at /etc/localtime each time, which is a file of the host here:
    # while it answers nothing runs in the guest, and time leaps ahead.
    os.environ["TZ"] = "UTC0"
    if name == "mariadb-client":
        return Terminal(data)
    program = programs.load(name)
    if name == "mariadb":
        program.configure = lambda: shutil.copytree(data, program.dir / "data")
        program.prepare = lambda: None
    program.start()
    return program


def give_processor(pid):
    """Let nothing but the kernel interrupt the process's threads, and those to come."""
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        os.sched_setscheduler(int(task.name), os.SCHED_FIFO, os.sched_param(1))


class ProcessTime:
    """CPU time of a process, of all threads that it has and had."""

    def __init__(self, program, _):
        self.pid = program.pid

    def ns(self):
        return time.clock_gettime_ns(~self.pid << 3 | 2)


class ConnectionTime:
    """CPU time of MariaDB's threads for connections alone: others purge and flush at any time.

    It keeps threads for later connections, and takes any of them: with as many connections at
    once as there ever were, all of them are counted.
    """

    def __init__(self, program, most):
        connections = [program.connect() for _ in range(most + 1)]
        listed = subprocess.run(
            ["mariadb", "--no-defaults", f"--socket={program.dir}/socket", "--user=eval",
             "--skip-column-names",
             "--execute=select tid from information_schema.processlist where user='eval'"],
            check=True, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        for connection in connections:
            connection.close()
        tasks = pathlib.Path(f"/proc/{program.pid}/task")
        self.files = [tasks / tid / "schedstat" for tid in listed.stdout.split()]
        if len(self.files) <= most:
            raise SystemExit(f"{len(self.files)} threads of more than {most} connections")
        # Their ends are no part of what is measured.
        time.sleep(0.1)

    def ns(self):
        return sum(int(path.read_text().split()[0]) for path in self.files)


CPU_TIMES = {"apache": ProcessTime, "mariadb": ConnectionTime}
