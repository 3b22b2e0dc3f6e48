# SPDX-License-Identifier: GPL-2.0
"""An editor with a window, three documents of C and a user who writes, goes about and undoes."""

from gui import GuiSubject

FUNCTION = "int f%d(int a)\n{\n\tif (a) {\n\t\treturn a + %d;\n\t}\n}\n"
# The keys that choose a document: the first one is the large one.
BIG, OTHER, SMALL = "alt+1", "alt+2", "alt+3"
DOCUMENTS = ("big.c", "other.c", "small.c")
WORDS = ("value", "int x;", "return a + 1;", "if (a) {", "}", "/* why */", "f3(a);", "0x10")


class Editor(GuiSubject):
    # In the large document.
    functions = 0
    # It is the one that is shown.
    at_big = False

    def prepare(self):
        for name, functions in zip(DOCUMENTS, (self.functions, 7, 10)):
            (self.dir / name).write_text("".join(FUNCTION % (i, i) for i in range(functions)))

    def act(self, chance):
        getattr(self, chance.choices(
            ("write", "go", "select", "edit", "find", "menu", "switch"),
            (40, 20, 8, 10, 6, 6, 4))[0])(chance)

    def go(self, chance):
        self.type(chance, *(chance.choice(("Next", "Prior", "Down", "Up", "Right", "Left", "End",
                                           "Home", "ctrl+Home", "ctrl+End", "ctrl+Right"))
                            for _ in range(chance.randint(3, 12))))

    def mark(self, chance):
        """Some lines, or all."""
        if chance.random() < 0.5:
            self.type(chance, "ctrl+a")
        else:
            self.type(chance, "ctrl+Home", *["shift+Down"] * chance.randint(2, 9))

    def menu(self, chance):
        self.type(chance, "alt+" + chance.choice("fesv"),
                  *["Down"] * chance.randint(1, 6), "Escape", "Escape")

    def switch(self, chance):
        self.type(chance, OTHER, "Next", SMALL)


def keys_of(text):
    return (key if key != " " else "space" for key in text)
