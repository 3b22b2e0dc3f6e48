# SPDX-License-Identifier: GPL-2.0
"""SciTE: an editor whose component changes, and tells of, each line of a selection singly."""

from gui import GuiSubject

from .subject import Bug

FUNCTION = "int f%d(int a)\n{\n\tif (a) {\n\t\treturn a + %d;\n\t}\n}\n"
# The keys that choose a document: the first one is the large one.
BIG, OTHER, SMALL = "alt+1", "alt+2", "alt+3"
WORDS = ("value", "int x;", "return a + 1;", "if (a) {", "}", "/* why */", "f3(a);", "0x10")


class Scite(GuiSubject):
    packages = ("scite", "xvfb", "python3-xlib")
    window_class = "scite"
    bugs = {
        "scite-indent": Bug(
            "Tab with 48,000 lines selected", "notification of changes, one a line",
            ("Scintilla::Internal::Document::SetLineIndentation",
             "Scintilla::Internal::Document::Indent"),
            "indent", paper="Notepad++ 2909745", after="leave"),
        "scite-undo": Bug(
            "Undo of a Tab with 48,000 lines selected", "notification of changes, one a line",
            ("Scintilla::Internal::Document::Undo", "Scintilla::Internal::Editor::Undo"),
            "undo_all", before="indent_all", after="leave"),
    }

    def prepare(self):
        # Without it each change would also be told to a screen reader that is not there.
        (self.dir / "home/.SciTEUser.properties").write_text("accessibility=0\n")
        for name, functions in (("big", 8000), ("other", 7), ("small", 10)):
            (self.dir / f"{name}.c").write_text(
                "".join(FUNCTION % (i, i) for i in range(functions)))

    def command(self):
        return ["scite", "-check.if.already.open=0", "-save.session=0", "-buffers=5",
                "big.c", "other.c", "small.c"]

    def ready(self):
        # Each of them was shown once.
        self.do(BIG, OTHER, SMALL)

    def act(self, chance):
        getattr(self, chance.choices(
            ("write", "go", "select", "edit", "find", "menu", "switch"),
            (40, 20, 8, 10, 6, 6, 4))[0])(chance)

    def write(self, chance):
        text = chance.choice(WORDS)
        self.type(chance, *(key if key != " " else "space" for key in text), "Return")
        self.undo(chance, len(text) + 1)

    def undo(self, chance, number):
        if chance.random() < 0.5:
            self.type(chance, *["BackSpace"] * number)
        else:
            # A word at a time, until nothing is left to be undone.
            self.type(chance, *["ctrl+z"] * 3)

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
        self.type(chance, "Tab", *["Tab"] * chance.randint(0, 2))
        self.type(chance, *["ctrl+z"] * 3, "ctrl+Home")

    def edit(self, chance):
        self.type(chance, *chance.choice((("ctrl+d", "ctrl+z"), ("ctrl+l", "ctrl+z"),
                                          ("ctrl+t", "ctrl+z"), ("ctrl+c", "ctrl+v", "ctrl+z"),
                                          ("ctrl+F2", "F2", "ctrl+F2"))))

    def find(self, chance):
        self.type(chance, "ctrl+F3", "F3", "F3", "shift+F3")

    def menu(self, chance):
        self.type(chance, "alt+" + chance.choice("fesv"),
                  *["Down"] * chance.randint(1, 6), "Escape", "Escape")

    def switch(self, chance):
        self.type(chance, OTHER, "Next", SMALL)

    def select_big(self):
        if not self.at_big:
            self.do(BIG, "ctrl+a")
            self.at_big = True

    def indent(self):
        self.select_big()
        self.do("Tab")

    def indent_all(self):
        self.select_big()
        self.do("ctrl+a", "Tab")

    def undo_all(self):
        self.do("ctrl+z")

    def leave(self):
        self.do("ctrl+Home", SMALL)
        self.at_big = False

    at_big = False


def make():
    return Scite()
