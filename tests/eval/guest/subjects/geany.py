# SPDX-License-Identifier: GPL-2.0
"""geany: an editor whose list of symbols is rebuilt when a line is added."""

import time

from editor import BIG, DOCUMENTS, OTHER, SMALL, WORDS, Editor, keys_of

from .subject import Bug

# The list is rebuilt so long after a key.
SYMBOLS_SECONDS = 0.25


class Geany(Editor):
    functions = 20000
    packages = ("geany", "xvfb", "python3-xlib")
    window_class = "geany"
    bugs = {
        "geany-symbols": Bug(
            "Return in a file of 20,000 functions", "quadratic: each row is looked for in a list",
            ("gtk_tree_store_set", "gtk_tree_store_set_valist"), "newline", after="leave"),
    }

    def command(self):
        return ["geany", "-i", "-c", str(self.dir / "conf"), *DOCUMENTS]

    def ready(self):
        # Each of them was shown once, and its symbols were.
        for document in (BIG, OTHER, SMALL):
            self.do(document)
            self.rest()

    def rest(self):
        """Wait until the list of symbols is as it will be."""
        time.sleep(SYMBOLS_SECONDS * 2)
        self.idle()

    def write(self, chance):
        text = chance.choice(WORDS)
        # Escape, or a word that is offered would be taken.
        self.type(chance, *keys_of(text), "Escape", "Return")
        if chance.random() < 0.3:
            self.rest()
        if chance.random() < 0.5:
            self.type(chance, *["BackSpace"] * (len(text) + 1))
        else:
            # Some at a time, until nothing is left to be undone.
            self.type(chance, *["ctrl+z"] * 4)

    def select(self, chance):
        """Some lines, or all, moved to the right and back."""
        self.mark(chance)
        self.type(chance, "Tab", "ctrl+z", "ctrl+Home")

    def edit(self, chance):
        self.type(chance, *chance.choice((("ctrl+d", "ctrl+z"), ("ctrl+k", "ctrl+z"),
                                          ("ctrl+c", "ctrl+v", "ctrl+z"), ("ctrl+s",))))

    def find(self, chance):
        self.type(chance, "ctrl+Home", *["Down"] * chance.randint(1, 9), "ctrl+shift+m")

    def newline(self):
        if not self.at_big:
            self.do(BIG)
            self.rest()
            self.at_big = True
        self.do("Return")
        self.rest()

    def leave(self):
        self.do(SMALL)
        self.rest()
        self.at_big = False


def make():
    return Geany()
