# SPDX-License-Identifier: GPL-2.0
"""SciTE: an editor whose component changes, and notifies, each line of a selection singly."""

from editor import BIG, DOCUMENTS, OTHER, SMALL, WORDS, Editor, keys_of

from .subject import Bug


class Scite(Editor):
    functions = 8000
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
        # Without it each change would also be sent to a screen reader that is not there.
        (self.dir / "home/.SciTEUser.properties").write_text("accessibility=0\n")
        super().prepare()

    def command(self):
        return ["scite", "-check.if.already.open=0", "-save.session=0", "-buffers=5",
                *DOCUMENTS]

    def ready(self):
        # Each of them was shown once.
        self.do(BIG, OTHER, SMALL)

    def write(self, chance):
        text = chance.choice(WORDS)
        self.type(chance, *keys_of(text), "Return")
        self.undo(chance, len(text) + 1)

    def undo(self, chance, number):
        if chance.random() < 0.5:
            self.type(chance, *["BackSpace"] * number)
        else:
            # A word at a time, until nothing is left to be undone.
            self.type(chance, *["ctrl+z"] * 3)

    def select(self, chance):
        """Some lines, or all, moved to the right and back."""
        self.mark(chance)
        self.type(chance, "Tab", *["Tab"] * chance.randint(0, 2))
        self.type(chance, *["ctrl+z"] * 3, "ctrl+Home")

    def edit(self, chance):
        self.type(chance, *chance.choice((("ctrl+d", "ctrl+z"), ("ctrl+l", "ctrl+z"),
                                          ("ctrl+t", "ctrl+z"), ("ctrl+c", "ctrl+v", "ctrl+z"),
                                          ("ctrl+F2", "F2", "ctrl+F2"))))

    def find(self, chance):
        self.type(chance, "ctrl+F3", "F3", "F3", "shift+F3")

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


def make():
    return Scite()
