# SPDX-License-Identifier: GPL-2.0
"""pcmanfm, a file manager: folders with many files, shown as a list and as icons."""

import pathlib
import time

from gui import GuiSubject

from .subject import Bug

FOLDERS = ("ash", "birch", "cedar", "elm")
FILES = (12, 20, 28, 36)
BIG = {"long": 30000, "big": 10000}
# So long its user looks: its threads that read folders wait elsewhere from half a second on.
LOOK_SECONDS = 1.2
KINDS = ("txt", "csv", "c", "log")


class Pcmanfm(GuiSubject):
    packages = ("pcmanfm", "dbus-daemon", "xvfb", "python3-xlib")
    window_class = "pcmanfm"
    stage_seconds = 16
    bugs = {
        # Most of the time is the measuring of rows, but in portions of 30 ms. The list itself is
        # made in one go; with fewer files most of that is over when it is late.
        "pcmanfm-list": Bug("F5 in a list of 30,000 files", "list rebuilt row by row",
                            ("fm_folder_model_set_folder", "g_sequence_insert_sorted",
                             "gtk_tree_view_column_cell_get_size"), "list",
                            paper="7-Zip S1 to S4", after="leave"),
        "pcmanfm-icons": Bug("F5 with 10,000 icons", "layout of all that is not to be seen, too",
                             ("libfm-gtk:",), "icons", paper="7-Zip S1 to S4", after="leave"),
    }

    def prepare(self):
        for name, number in [*zip(FOLDERS, FILES), *BIG.items()]:
            folder = self.dir / name
            folder.mkdir(exist_ok=True)
            for i in range(number):
                # Not in order, as files come.
                (folder / f"file{i * 7919 % number}.{KINDS[i % 4]}").touch()

    def command(self):
        return ["dbus-run-session", "--", "pcmanfm", str(self.dir / FOLDERS[0])]

    def guarded_pid(self):
        mine = self.process.pid
        for pid in pathlib.Path(f"/proc/{mine}/task/{mine}/children").read_text().split():
            if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == "pcmanfm":
                return int(pid)
        return 0

    def go(self, folder):
        """By the location bar; its text is selected when it gets the focus."""
        names = {"/": "slash", ".": "period", "-": "minus", "_": "underscore"}
        self.do("ctrl+l")
        self.hand.press(*(names.get(letter, letter) for letter in str(self.dir / folder)))
        self.idle()
        self.do("Return")

    def act(self, chance):
        action = chance.choice(("again", "again", "select", "move", "tab", "view", "go", "go",
                                "hidden", "look"))
        if action == "again":
            self.do("F5")
        elif action == "select":
            self.do("ctrl+a", "Down")
        elif action == "move":
            self.type(chance, *(chance.choice(("Down", "Up", "Home", "End", "Right"))
                                for _ in range(6)))
        elif action == "tab":
            self.do("ctrl+t", "ctrl+w")
        elif action == "view":
            self.do(chance.choice(("ctrl+1", "ctrl+4")))
        elif action == "go":
            self.go(chance.choice(FOLDERS))
        elif action == "look":
            time.sleep(LOOK_SECONDS)
        else:
            self.do("ctrl+h", "ctrl+h")

    def again(self, folder, view):
        """All that is done here before F5 is slow by the same."""
        if self.hand.windows(self.window_class)[0].get_wm_name() != folder:
            self.do(view)
            self.go(folder)
        self.do("F5")

    def list(self):
        self.again("long", "ctrl+4")

    def icons(self):
        self.again("big", "ctrl+1")

    def leave(self):
        self.go(FOLDERS[0])


def make():
    return Pcmanfm()
