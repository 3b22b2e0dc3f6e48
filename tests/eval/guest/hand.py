# SPDX-License-Identifier: GPL-2.0
"""Actions of a user: keys and clicks, sent through the XTEST extension by a connection that stays."""

import sys

from programs.program import Unexpected

# Debian's package of Xlib, whichever Python runs.
sys.path.append("/usr/lib/python3/dist-packages")
# pylint: disable=wrong-import-position
from Xlib import XK, X, display  # noqa: E402
from Xlib.error import XError  # noqa: E402
from Xlib.ext import xtest  # noqa: E402

MODIFIERS = {"ctrl": "Control_L", "shift": "Shift_L", "alt": "Alt_L"}


class Hand:
    """A user's keyboard and mouse; keys that another one left pressed are released."""

    def __init__(self, name):
        self.display = display.Display(name)
        self.root = self.display.screen().root
        self.keys = 0
        # A slow program would see a key again before it saw its release.
        self.display.change_keyboard_control(auto_repeat_mode=X.AutoRepeatModeOff)
        for place, byte in enumerate(self.display.query_keymap()):
            for bit in range(8):
                if byte >> bit & 1:
                    xtest.fake_input(self.display, X.KeyRelease, place * 8 + bit)
        self.display.sync()

    def windows(self, klass=""):
        """Those that are to be seen and have this WM_CLASS; the largest first."""
        found = []
        for window in self.root.query_tree().children:
            try:
                names = window.get_wm_class()
                shown = window.get_attributes().map_state == X.IsViewable
                size = window.get_geometry()
            except XError:
                continue
            if shown and names and klass.lower() in (name.lower() for name in names):
                found.append((-size.width * size.height, window.id, window))
        return [window for _, _, window in sorted(found, key=lambda entry: entry[:2])]

    def focus(self, window):
        """Keys go to this window from now on, and it is in front."""
        window.configure(stack_mode=X.Above)
        window.set_input_focus(X.RevertToParent, X.CurrentTime)
        self.display.sync()

    def key_codes(self, name):
        """The keys to press for "a", "Return" or "ctrl+shift+m", in this order."""
        *modifiers, key = [name] if len(name) == 1 else name.split("+")
        symbol = XK.string_to_keysym(key) or ord(key)
        codes = sorted(self.display.keysym_to_keycodes(symbol), key=lambda pair: pair[1])
        if not codes:
            raise Unexpected(f"no key for {name}")
        code, place = codes[0]
        if place & 1 and "shift" not in modifiers:
            modifiers.append("shift")
        return [self.display.keysym_to_keycode(XK.string_to_keysym(MODIFIERS[modifier]))
                for modifier in modifiers] + [code]

    def press(self, *names):
        """Keys, one after the other: "ctrl+a", "Tab", "x"; does not wait for the program."""
        for name in names:
            codes = self.key_codes(name)
            for code in codes:
                xtest.fake_input(self.display, X.KeyPress, code)
            for code in reversed(codes):
                xtest.fake_input(self.display, X.KeyRelease, code)
            self.keys += 1
        self.display.sync()

    def click(self, x, y, button=1):
        """Buttons 4 and 5 turn the wheel up and down."""
        xtest.fake_input(self.display, X.MotionNotify, x=x, y=y)
        xtest.fake_input(self.display, X.ButtonPress, button)
        xtest.fake_input(self.display, X.ButtonRelease, button)
        self.keys += 1
        self.display.sync()

    def close(self):
        self.display.close()
