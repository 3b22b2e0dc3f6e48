# SPDX-License-Identifier: GPL-2.0
"""xterm: text that programs write to it, scrolled line by line.

It scrolls smoothly, as its option +j asks for: each line feed at the bottom copies the window's
contents, and before the next one it waits until the X server says that this is done.
"""

import os
import signal
import time

from gui import ACTION_SECONDS, GuiSubject

from .subject import Bug

BURST = 1500
STALL_SECONDS = 1.5
WORDS = ("ash", "birch", "cedar", "elm", "fir", "hazel", "larch", "maple", "oak", "pine", "rowan",
         "willow")


class Xterm(GuiSubject):
    packages = ("xterm", "xvfb", "python3-xlib")
    window_class = "xterm"
    # It does little for each text.
    stage_seconds = 30
    # Output counts, and keys.
    cost_requests = 300
    bugs = {
        "xterm-burst": Bug(f"{BURST:,} lines written at once", "a round trip for each line",
                           ("XWindowEvent",), "burst"),
        "xterm-stall": Bug("a line while the X server hangs", "waiting for another process",
                           ("XWindowEvent",), "stall"),
    }

    def __init__(self):
        super().__init__()
        self.written = -1
        self.marks = 0

    def prepare(self):
        os.mkfifo(self.dir / "written")
        # Also for reading, so that it never ends.
        self.written = os.open(self.dir / "written", os.O_RDWR)

    def command(self):
        return ["xterm", "+j", "-sl", "1000", "-e", "sh", "-c",
                f"stty raw -echo; exec cat < {self.dir / 'written'}"]

    def write(self, text):
        os.write(self.written, text.encode())
        self.hand.keys += 1

    def ready(self):
        self.write("\r\n" * 60)
        self.idle()

    def line(self, chance):
        return " ".join(chance.choices(WORDS, k=chance.randint(1, 9))) + "\r\n"

    def text(self, chance):
        """The output of one program at once."""
        kind = chance.choice(("lines", "lines", "line", "line", "numbers", "colours", "screen",
                              "edit", "title", "bar"))
        if kind == "lines":
            return "".join(self.line(chance) for _ in range(chance.randint(2, 12)))
        if kind == "line":
            return self.line(chance)
        if kind == "numbers":
            return "".join(f"{i}\r\n" for i in range(chance.randint(8, 16)))
        if kind == "colours":
            return "".join(f"\33[{chance.randint(31, 37)};{chance.randint(0, 1)}m"
                           f"{self.line(chance)}" for _ in range(4)) + "\33[0m"
        if kind == "screen":
            return "\33[H\33[2J" + "".join(self.line(chance) for _ in range(22))
        if kind == "edit":
            return (f"\33[{chance.randint(2, 20)};{chance.randint(2, 40)}H\33[L\33[3@x\33[K\33[M"
                    "\33[24;1H")
        if kind == "title":
            return f"\33]0;{chance.choice(WORDS)}\7"
        return "".join(f"\r{i}%" for i in range(0, 100, 5)) + "\r\n"

    def act(self, chance):
        # One by one: output that comes while it scrolls would be read together.
        self.write(self.text(chance))
        self.idle()
        if chance.random() < 0.05:
            self.do(chance.choice(("a", "Return", "Up")))

    def finish(self, text):
        """Write it, and wait until xterm is through with it."""
        self.marks += 1
        mark = f"mark {self.marks}"
        self.write(f"{text}\33]0;{mark}\7")
        self.wait_until(lambda: mark in self.titles(), ACTION_SECONDS, "the text is not written")

    def titles(self):
        return [window.get_wm_name() for window in self.hand.windows(self.window_class)]

    def burst(self):
        self.finish("\n" * BURST)

    def stall(self):
        self.screen.process.send_signal(signal.SIGSTOP)
        try:
            self.write("\n" * 3)
            time.sleep(STALL_SECONDS)
        finally:
            self.screen.process.send_signal(signal.SIGCONT)
        self.finish("")


def make():
    return Xterm()
