# SPDX-License-Identifier: GPL-2.0
"""The loads of figure 7."""

import re
import subprocess
import sys
import threading
import time

import paper_server


def run(*command):
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{command[0]}: exit {done.returncode}: {(done.stdout + done.stderr)[-600:]}")
    return done.stdout


def ab(program, clients, requests):
    """Returns the requests that were answered."""
    said = run("ab", "-q", "-c", clients, "-n", requests,
               f"http://127.0.0.1:{program.port}/small/1.html")
    failed = int(re.search(r"Failed requests: +(\d+)", said)[1])
    done = int(re.search(r"Complete requests: +(\d+)", said)[1])
    if failed or done != requests:
        sys.exit(f"ab: {done} of {requests} requests, {failed} failed")
    return done


def sysbench(program, threads, requests):
    """Transactions of 20 statements.  Returns the statements that were answered."""
    said = run(*paper_server.sysbench(
        "--mysql-host=127.0.0.1", f"--mysql-port={program.port}", "--db-ps-mode=disable",
        f"--threads={threads}", f"--events={requests}", "--time=0", "--rand-seed=1", "run"))
    return int(re.search(r"queries: +(\d+)", said)[1])


LOADS = {"apache": ab, "mariadb": sysbench}
# So many requests at once while it is recorded, or transactions.
PORTIONS = {"apache": 40, "mariadb": 4}
CLIENTS = 4


class Portions:
    """One of them in portions, with a pause after each, until it is stopped."""

    def __init__(self, program, name, pause):
        self.program = program
        self.name = name
        self.pause = pause
        self.is_wanted = True
        self.thread = threading.Thread(target=self.go_on)
        self.thread.start()

    def go_on(self):
        while self.is_wanted:
            LOADS[self.name](self.program, CLIENTS, PORTIONS[self.name])
            time.sleep(self.pause)

    def stop(self):
        self.is_wanted = False
        self.thread.join()
