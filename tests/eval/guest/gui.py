# SPDX-License-Identifier: GPL-2.0
"""Programs with windows as subjects, on an X server without a screen.

The CPU time of a program shows when it has handled an action of the user (hand.py), so that the
program needs no change.
"""

import os
import pathlib
import random
import signal
import subprocess
import time

from programs.program import Unexpected
from subjects.subject import Subject

# A program that waits, and took less of the CPU than this share, is idle: carets blink.
IDLE_SHARE = 0.15
IDLE_SECONDS = 0.08
# Between two keys.
KEY_SECONDS = (0.01, 0.05)
ASK_SEED = 1000
# No action takes longer.
ACTION_SECONDS = 120
# Actions before it is trained, as programs read in libraries when something is used first.
WARM_UP_ACTIONS = 20
WARM_UP_SEED = 2000
# Nothing moves by itself.
SETTINGS = {
    ".config/gtk-3.0/settings.ini":
        "[Settings]\ngtk-cursor-blink=0\ngtk-enable-animations=0\n",
    ".gtkrc-2.0": "gtk-cursor-blink = 0\ngtk-enable-animations = 0\n",
}


class Screen:
    """A private X server, in memory."""

    size = "1024x768x24"

    def __init__(self, log):
        # Without GLX, as the libraries that draw by it have three times as many functions as
        # all others together, and are not used.
        reader, writer = os.pipe()
        with open(log, "ab") as output:
            self.process = subprocess.Popen(
                ["Xvfb", "-displayfd", str(writer), "-screen", "0", self.size, "-noreset",
                 "-nolisten", "tcp", "-extension", "GLX"],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, pass_fds=[writer])
        os.close(writer)
        with open(reader, encoding="ascii") as numbers:
            number = numbers.readline().strip()
        if not number:
            raise SystemExit(f"Xvfb did not start; see {log}")
        self.name = f":{number}"

    def environment(self, home):
        """Of a program that shows itself here, and keeps what it writes below home."""
        run = pathlib.Path(home) / "run"
        run.mkdir(parents=True, exist_ok=True)
        run.chmod(0o700)
        return {"PATH": os.environ["PATH"], "DISPLAY": self.name, "HOME": str(home),
                "XDG_RUNTIME_DIR": str(run), "GDK_BACKEND": "x11", "NO_AT_BRIDGE": "1",
                "GSETTINGS_BACKEND": "memory", "GTK_CSD": "0", "LC_ALL": "C.UTF-8"}

    def stop(self):
        end(self.process)


def end(process):
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def look(pid):
    """CPU time of all threads of a process, in ns, and whether any of them is runnable."""
    total, wants = 0, False
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            total += int((task / "schedstat").read_text().split()[0])
            wants |= (task / "stat").read_text().rpartition(")")[2].split()[0] in "RD"
        except OSError:
            pass
    return total, wants


class GuiSubject(Subject):
    """A program with a window.  Keys count as requests."""

    # It waits for its user most of the time, but not while its call trees are recorded: a key is
    # 30,000 calls and more.
    stage_seconds = 12
    normal_seconds = 12

    # Of its WM_CLASS.
    window_class = ""
    cost_requests = 100

    def __init__(self):
        super().__init__()
        self.screen = None
        self.process = None
        self.hand = None

    def command(self):
        """The program and its arguments; self.dir is there."""
        raise NotImplementedError

    def prepare(self):
        """Write the documents and settings below self.dir; self.dir/home is its home."""

    def ready(self):
        """Bring the running program into the state that the load starts from."""

    def environment(self):
        return self.screen.environment(self.dir / "home")

    def guarded_pid(self):
        """The process to guard; 0 while it is not there."""
        return self.process.pid

    def start(self):
        for name, text in SETTINGS.items():
            path = self.dir / "home" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.prepare()
        self.screen = Screen(self.dir / "screen.log")
        with open(self.dir / "output", "ab") as output:
            self.process = subprocess.Popen(
                self.command(), stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                env=self.environment(), cwd=self.dir)
        self.take()
        self.wait_until(lambda: self.hand.windows(self.window_class), 90, "no window")
        self.wait_until(self.guarded_pid, 30, "no process to guard")
        self.pid = self.guarded_pid()
        self.idle()
        self.look_at_window()
        self.ready()
        self.warm_up()

    def warm_up(self):
        chance = random.Random(WARM_UP_SEED)
        for _ in range(WARM_UP_ACTIONS):
            self.act(chance)

    def take(self):
        """A hand of this very process; those of others are of no use after a fork."""
        # Only here, as the host has no need of the library that it takes.
        from hand import Hand  # pylint: disable=import-outside-toplevel
        self.hand = Hand(self.screen.name)
        return self.hand

    def look_at_window(self):
        windows = self.hand.windows(self.window_class)
        if not windows:
            raise Unexpected("the window is gone")
        self.hand.focus(windows[0])

    def idle(self, seconds=ACTION_SECONDS):
        """Wait until the program does no more."""
        over = time.monotonic() + seconds
        pid = self.pid or self.process.pid
        since, spent = time.monotonic(), look(pid)[0]
        while time.monotonic() < over:
            time.sleep(IDLE_SECONDS / 4)
            now, (took, wants) = time.monotonic(), look(pid)
            if wants or took - spent > IDLE_SHARE * IDLE_SECONDS * 1e9:
                since, spent = now, took
            elif now - since >= IDLE_SECONDS:
                return
        raise Unexpected(f"not idle within {seconds} s")

    def do(self, *names):
        """Press keys, each when the program is done with the one before."""
        for name in names:
            self.hand.press(name)
            self.idle()

    def type(self, chance, *names):
        """Press keys as fast as a user does; wait for the program after the last one."""
        for name in names:
            self.hand.press(name)
            time.sleep(chance.uniform(*KEY_SECONDS))
        self.idle()

    def act(self, chance):
        """One action of the normal load, chosen by random.Random chance.

        Leaves the program as it found it, as near as that can be.
        """
        raise NotImplementedError

    def load(self, seed):
        # An action is not to be left half done.
        ended = []
        signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
        self.take()
        self.look_at_window()
        chance = random.Random(seed)
        while not ended:
            self.act(chance)
        os._exit(0)

    def ask(self, number, seed):
        """The same actions each time, as they use nothing up; others would not be comparable."""
        self.take()
        self.look_at_window()
        chance = random.Random(ASK_SEED)
        while self.hand.keys < number:
            self.act(chance)

    def stop(self):
        for process in (self.process, self.screen and self.screen.process):
            if process:
                end(process)
