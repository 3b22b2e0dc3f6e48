// SPDX-License-Identifier: GPL-2.0

#define NCURSES_NOMACROS

#include "screen/screen.h"

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <unistd.h>
#include <wchar.h>

#include "base/utf8.h"

/* How long an escape sequence may take to arrive. */
enum { ESCAPE_MS = 25, ALARM_PAIR = 1, MAX_COLUMNS = 1024 };

static SCREEN *terminal;
static bool has_emphasis, is_utf8;
static int saved_stderr = -1;

bool screen_is_there(void)
{
	const char *move;
	int error;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return false;
	if (setupterm(NULL, STDOUT_FILENO, &error) != OK)
		return false;
	move = tigetstr("cup");
	return move && move != (char *)-1;
}

static void hide_stderr(void)
{
	int null = isatty(STDERR_FILENO) ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;

	if (null < 0)
		return;
	saved_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (saved_stderr >= 0)
		dup2(null, STDERR_FILENO);
	close(null);
}

static void set_colours(void)
{
	const char *no_colour = getenv("NO_COLOR");

	has_emphasis = !(no_colour && *no_colour);
	if (!has_emphasis || !has_colors())
		return;
	start_color();
	use_default_colors();
	init_pair(ALARM_PAIR, COLOR_RED, -1);
}

int screen_open(void)
{
	if (!screen_is_there())
		return -ENOTTY;
	setlocale(LC_CTYPE, "");
	is_utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	terminal = newterm(NULL, stdout, stdin);
	if (!terminal)
		return -ENOTTY;
	hide_stderr();
	set_escdelay(ESCAPE_MS);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	set_colours();
	return 0;
}

void screen_close(void)
{
	if (!terminal)
		return;
	endwin();
	delscreen(terminal);
	terminal = NULL;
	if (saved_stderr < 0)
		return;
	dup2(saved_stderr, STDERR_FILENO);
	close(saved_stderr);
	saved_stderr = -1;
}

int screen_rows(void)
{
	return LINES;
}

int screen_columns(void)
{
	return COLS < MAX_COLUMNS ? COLS : MAX_COLUMNS;
}

void screen_begin(void)
{
	erase();
}

static attr_t attribute_of(enum screen_style style)
{
	if (style == SCREEN_REVERSE)
		return A_REVERSE;
	if (!has_emphasis || style == SCREEN_PLAIN)
		return A_NORMAL;
	if (style == SCREEN_ALARM && has_colors())
		return A_BOLD | COLOR_PAIR(ALARM_PAIR);
	return A_BOLD;
}

/* As characters of the locale; @ret_columns: so many it takes.  Returns how many there are. */
static int convert(const char *text, int room, wchar_t ret[MAX_COLUMNS], int *ret_columns)
{
	size_t left = strlen(text), size;
	int nr = 0, taken = 0, width;
	uint32_t c;

	for (; left && nr < MAX_COLUMNS; text += size, left -= size) {
		size = utf8_decode(text, left, &c);
		width = utf8_is_plain(c) && (is_utf8 || c < 0x80) ? wcwidth((wchar_t)c) : -1;
		if (width < 0) {
			c = '?';
			width = 1;
		}
		if (taken + width > room)
			break;
		ret[nr++] = (wchar_t)c;
		taken += width;
	}
	*ret_columns = taken;
	return nr;
}

void screen_put(int row, enum screen_style style, const char *text)
{
	wchar_t line[MAX_COLUMNS];
	int nr, taken;

	if (row < 0 || row >= LINES)
		return;
	nr = convert(text, screen_columns(), line, &taken);
	attrset((int)attribute_of(style));
	mvaddnwstr(row, 0, line, nr);
	for (; style == SCREEN_REVERSE && taken < COLS; taken++)
		mvaddch(row, taken, ' ');
	attrset(A_NORMAL);
}

void screen_show(void)
{
	refresh();
}

int screen_key(void)
{
	static const struct {
		int curses, key;
	} keys[] = {
		{ KEY_UP, SCREEN_UP }, { KEY_DOWN, SCREEN_DOWN }, { KEY_LEFT, SCREEN_LEFT },
		{ KEY_RIGHT, SCREEN_RIGHT }, { KEY_PPAGE, SCREEN_PAGE_UP },
		{ KEY_NPAGE, SCREEN_PAGE_DOWN }, { KEY_HOME, SCREEN_HOME }, { KEY_END, SCREEN_END },
		{ KEY_ENTER, SCREEN_ENTER }, { '\n', SCREEN_ENTER }, { '\r', SCREEN_ENTER },
		{ KEY_RESIZE, SCREEN_RESIZED },
	};
	int key = getch();

	if (key == ERR)
		return SCREEN_NO_KEY;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].curses == key)
			return keys[i].key;
	return key > 0 && key < 128 ? key : SCREEN_OTHER_KEY;
}
