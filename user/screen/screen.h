/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The terminal as a screen of cells.  There is one; only this room uses curses.
 *
 * Text may hold any bytes: what a terminal would not just show, or the locale does not
 * have, is a question mark.
 */
#ifndef _USER_SCREEN_SCREEN_H
#define _USER_SCREEN_SCREEN_H

#include <stdbool.h>

enum screen_style {
	SCREEN_PLAIN,
	SCREEN_BOLD,
	SCREEN_ALARM, /* bold and red; where NO_COLOR is set, the last two are plain */
	SCREEN_REVERSE,
};

/* What screen_key() returns besides characters of ASCII. */
enum screen_key {
	SCREEN_NO_KEY = 0,
	SCREEN_ESCAPE = 27,
	SCREEN_UP = 256,
	SCREEN_DOWN,
	SCREEN_LEFT,
	SCREEN_RIGHT,
	SCREEN_PAGE_UP,
	SCREEN_PAGE_DOWN,
	SCREEN_HOME,
	SCREEN_END,
	SCREEN_ENTER,
	SCREEN_RESIZED, /* draw again */
	SCREEN_OTHER_KEY,
};

/* Return: true if stdin and stdout are a terminal that can place its cursor; a dumb one cannot. */
bool screen_is_there(void);

/*
 * Take over the terminal; messages on stderr are not shown meanwhile, if that is a terminal.
 * Returns 0 or -ENOTTY.
 */
int screen_open(void);
void screen_close(void);

int screen_rows(void);
int screen_columns(void);

/* Draw: begin with an empty screen, put lines, show them at once. */
void screen_begin(void);
/* @text, as much of it as fits the row, and with SCREEN_REVERSE the rest of the row, too. */
void screen_put(int row, enum screen_style style, const char *text);
void screen_show(void);

/* The next key that was pressed, without waiting; poll stdin for it. */
int screen_key(void);

#endif /* _USER_SCREEN_SCREEN_H */
