# SPDX-License-Identifier: GPL-2.0
"""geany: an editor whose list of symbols is made anew when a line is added."""

import time

from gui import GuiSubject

from .subject import Bug

FUNCTION = "int f%d(int a)\n{\n\tif (a) {\n\t\treturn a + %d;\n\t}\n}\n"
# The keys that choose a document: the first one is the large one.
BIG, OTHER, SMALL = "alt+1", "alt+2", "alt+3"
WORDS = ("value", "int x;", "return a + 1;", "if (a) {", "}", "/* why */", "f3(a);", "0x10")
# The list is made anew so long after a key.
SYMBOLS_SECONDS = 0.25


class Geany(GuiSubject):
    packages = ("geany", "xvfb", "python3-xlib")
    window_class = "geany"
    bugs = {
        "geany-symbols": Bug(
            "Return in a file of 5,000 functions", "quadratic: each row is looked for in a list",
            ("gtk_tree_store_set", "gtk_tree_store_set_valist"), "newline", after="leave"),
    }

    def prepare(self):
        for name, functions in (("big", 5000), ("other", 7), ("small", 10)):
            (self.dir / f"{name}.c").write_text(
                "".join(FUNCTION % (i, i) for i in range(functions)))

    def command(self):
        return ["geany", "-i", "-c", str(self.dir / "conf"), "big.c", "other.c", "small.c"]

    def ready(self):
        # Each of them was shown once, and its symbols were.
        for document in (BIG, OTHER, SMALL):
            self.do(document)
            self.rest()

    def rest(self):
        """Wait until the list of symbols is as it will be."""
        time.sleep(SYMBOLS_SECONDS * 2)
        self.idle()

    def act(self, chance):
        getattr(self, chance.choices(
            ("write", "go", "select", "edit", "find", "menu", "switch"),
            (40, 20, 8, 10, 6, 6, 4))[0])(chance)

    def write(self, chance):
        text = chance.choice(WORDS)
        # Escape, or a word that is offered would be taken.
        self.type(chance, *(key if key != " " else "space" for key in text), "Escape", "Return")
        if chance.random() < 0.3:
            self.rest()
        if chance.random() < 0.5:
            self.type(chance, *["BackSpace"] * (len(text) + 1))
        else:
            # Some at a time, until nothing is left to be undone.
            self.type(chance, *["ctrl+z"] * 4)

    def go(self, chance):
        self.type(chance, *(chance.choice(("Next", "Prior", "Down", "Up", "Right", "Left", "End",
                                           "Home", "ctrl+Home", "ctrl+End", "ctrl+Right"))
                            for _ in range(chance.randint(3, 12))))

    def select(self, chance):
        """Some lines, or all, moved to the right and back."""
        if chance.random() < 0.5:
            self.type(chance, "ctrl+a")
        else:
            self.type(chance, "ctrl+Home", *["shift+Down"] * chance.randint(2, 9))
        self.type(chance, "Tab", "ctrl+z", "ctrl+Home")

    def edit(self, chance):
        self.type(chance, *chance.choice((("ctrl+d", "ctrl+z"), ("ctrl+k", "ctrl+z"),
                                          ("ctrl+c", "ctrl+v", "ctrl+z"), ("ctrl+s",))))

    def find(self, chance):
        self.type(chance, "ctrl+Home", *["Down"] * chance.randint(1, 9), "ctrl+shift+m")

    def menu(self, chance):
        self.type(chance, "alt+" + chance.choice("fesv"),
                  *["Down"] * chance.randint(1, 6), "Escape", "Escape")

    def switch(self, chance):
        self.type(chance, OTHER, "Next", SMALL)

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

    at_big = False


def make():
    return Geany()
