# SPDX-License-Identifier: GPL-2.0
"""A program on a terminal of a given size: its keys, and what is on its screen."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

from perfguard import PATIENCE

SEQUENCE = re.compile(r"\x1b(?:\[([?>]?)([0-9;]*)([@-~])|[()](.)|([=>78M])|\](.*?)(?:\x07|\x1b\\))",
                      re.DOTALL)
KEYS = {"up": "\x1bOA", "down": "\x1bOB", "right": "\x1bOC", "left": "\x1bOD", "enter": "\r",
        "escape": "\x1b"}


class Unknown(Exception):
    """A sequence that this terminal does not have."""


class Screen:
    """The cells of a vt100, and which of them are reverse."""

    def __init__(self, rows, columns):
        self.rest = ""
        self.titles = []        # that a program has set: none may
        self.is_reverse = False
        self.resize(rows, columns)

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.row = self.column = 0
        self.top, self.bottom = 0, rows - 1
        self.cells = [[" "] * columns for _ in range(rows)]
        self.reverse = [[False] * columns for _ in range(rows)]

    def lines(self):
        return ["".join(cells).rstrip() for cells in self.cells]

    def selected(self):
        """The line below the heading that is reverse, or None."""
        for line, reverse in list(zip(self.lines(), self.reverse))[2:]:
            if all(reverse):
                return line
        return None

    def feed(self, text):
        text = self.rest + text
        self.rest = ""
        at = 0
        while at < len(text):
            if text[at] != "\x1b":
                self.put(text[at])
                at += 1
                continue
            match = SEQUENCE.match(text, at)
            if not match:
                if len(text) - at > 200:
                    raise Unknown(repr(text[at:at + 20]))
                self.rest = text[at:]
                return
            self.do(match)
            at = match.end()

    def put(self, char):
        if char == "\r":
            self.column = 0
        elif char == "\n":
            self.down()
        elif char == "\b":
            self.column = max(self.column - 1, 0)
        elif char == "\t":
            self.column = min(self.column // 8 * 8 + 8, self.columns - 1)
        elif char >= " ":
            self.column = min(self.column, self.columns - 1)
            self.cells[self.row][self.column] = char
            self.reverse[self.row][self.column] = self.is_reverse
            self.column += 1
        elif char not in "\0\x0e\x0f\a":
            raise Unknown(repr(char))

    def scroll(self, begin, end, by):
        """Lines [begin, end] up by so many."""
        for lines, empty in ((self.cells, " "), (self.reverse, False)):
            for _ in range(abs(by)):
                del lines[begin if by > 0 else end]
                lines.insert(end if by > 0 else begin, [empty] * self.columns)

    def down(self):
        if self.row == self.bottom:
            self.scroll(self.top, self.bottom, 1)
        else:
            self.row = min(self.row + 1, self.rows - 1)

    def erase(self, row, begin, end):
        for column in range(begin, end):
            self.cells[row][column] = " "
            self.reverse[row][column] = False

    def do(self, match):
        private, numbers, final, _, single, title = match.groups()
        numbers = [int(number or 0) for number in (numbers or "").split(";")]
        many = max(numbers[0], 1)
        if title is not None:
            self.titles.append(title)
        elif single == "M":
            if self.row == self.top:
                self.scroll(self.top, self.bottom, -1)
            else:
                self.row = max(self.row - 1, 0)
        elif final is None or private or final in "hlt":
            pass
        elif final == "m":
            for number in numbers:
                self.is_reverse = number == 7 or (self.is_reverse and number not in (0, 27))
        elif final == "H":
            self.row = min(many, self.rows) - 1
            self.column = min(max(numbers[1] if len(numbers) > 1 else 1, 1), self.columns) - 1
        elif final == "A":
            self.row = max(self.row - many, 0)
        elif final == "B":
            self.row = min(self.row + many, self.rows - 1)
        elif final == "C":
            self.column = min(self.column + many, self.columns - 1)
        elif final == "D":
            self.column = max(min(self.column, self.columns - 1) - many, 0)
        elif final == "K":
            begin = 0 if numbers[0] else min(self.column, self.columns)
            self.erase(self.row, begin, min(self.column + 1, self.columns) if numbers[0] == 1
                       else self.columns)
        elif final == "J":
            self.erase(self.row, 0 if numbers[0] else self.column, self.columns)
            for row in range(0 if numbers[0] else self.row + 1, self.rows):
                self.erase(row, 0, self.columns)
        elif final == "r":
            self.top = many - 1
            self.bottom = (numbers[1] if len(numbers) > 1 and numbers[1] else self.rows) - 1
            self.row = self.column = 0
        else:
            raise Unknown(repr(match[0]))


class Terminal:
    """A program that has one."""

    def __init__(self, *command, rows=24, columns=80, **environment):
        self.master, slave = pty.openpty()
        self.screen = Screen(rows, columns)
        self.bytes = b""
        self.set_size(rows, columns)
        self.process = subprocess.Popen(
            [str(word) for word in command], stdin=slave, stdout=slave, stderr=slave,
            start_new_session=True,
            env=dict(os.environ, **{"TERM": "vt100", "LC_ALL": "C.UTF-8", **environment}))
        os.close(slave)

    def set_size(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, rows, columns):
        self.read()
        self.screen.resize(rows, columns)
        self.set_size(rows, columns)
        self.process.send_signal(signal.SIGWINCH)

    def read(self, seconds=0.05):
        """Whatever it writes within this time; False once it has ended."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.master], [], [], left)[0]:
                return True
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return False
            self.bytes += data
            self.screen.feed(data.decode("utf-8", "replace"))
        return True

    def press(self, *keys):
        for key in keys:
            os.write(self.master, KEYS.get(key, key).encode())
            # Else an escape would begin what comes next.
            self.read(0.2)

    def wait(self, condition, seconds=PATIENCE):
        """Until this holds of the lines of the screen."""
        end = time.monotonic() + seconds
        while not (found := condition(self.screen.lines())) and time.monotonic() < end:
            if not self.read(0.1):
                break
        return found

    def end(self):
        """Its exit code; it was ended before."""
        while self.read(0.2) and self.process.poll() is None:
            pass
        return self.process.wait(PATIENCE)
