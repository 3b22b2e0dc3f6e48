// SPDX-License-Identifier: GPL-2.0

#include "app/top/top-view.h"

#include <inttypes.h>
#include <stdio.h>

#include "app/top/top-head.h"
#include "base/duration.h"
#include "base/time.h"
#include "out/text.h"
#include "out/top/top-cells.h"
#include "screen/screen.h"

enum { NR_HEAD = 2, NR_FOOT = 1 };

static const char *const help[] = {
	"A row is an armed program, the requests to it, one of its loops or a type of",
	"their units.  SLOW: a type that has become slow as a whole, STARVED: units",
	"wait for a CPU.",
	"",
	"  up, down      select a row; also page up and down, home, end",
	"  Enter         a type's latest alert and call tree, or the slowest requests",
	"  p, space      pause, and go on",
	"  <, >          sort by the column to the left or right; also the arrow keys",
	"  q, Esc        back; end",
	"",
	"Keys of columns, to sort by them:",
};

enum { NR_HELP = sizeof(help) / sizeof(help[0]) };

int top_view_room(void)
{
	int room = screen_rows() - NR_HEAD - NR_FOOT;

	return room > 0 ? room : 0;
}

/* Lines below that of a row: of a program its note, and its containers. */
static uint32_t nr_notes(const struct top_view *view, const struct top_row *row)
{
	if (row->kind != TOP_PROGRAM)
		return 0;
	return 1 + view->reader.now.programs[row->program].nr_containers;
}

uint32_t top_view_lines(const struct top_view *view)
{
	uint32_t nr = view->table.nr;

	switch (view->page) {
	case TOP_PAGE_HELP:
		return NR_HELP + TOP_NR_COLUMNS;
	case TOP_PAGE_DETAIL:
		return view->detail.nr_lines;
	default:
		for (uint32_t i = 0; i < view->table.nr; i++)
			nr += nr_notes(view, &view->table.rows[i]);
		return nr;
	}
}

static uint32_t line_of(const struct top_view *view, uint32_t row)
{
	uint32_t line = row;

	for (uint32_t i = 0; i < row; i++)
		line += nr_notes(view, &view->table.rows[i]);
	return line;
}

/* The selected row, with the note of a program. */
static void show_selected(struct top_view *view)
{
	uint32_t line = line_of(view, view->selected), room = (uint32_t)top_view_room();

	if (line < view->first)
		view->first = line;
	else if (room > 1 && line + 1 >= view->first + room)
		view->first = line + 2 - room;
	if (!view->selected)
		view->first = 0;
}

/* In line @line of the table, if that is on the screen. */
static void put(const struct top_view *view, uint32_t line, enum screen_style style, const char *text)
{
	if (line >= view->first && line - view->first < (uint32_t)top_view_room())
		screen_put(NR_HEAD + (int)(line - view->first), style, text);
}

static void draw_row(const struct top_view *view, uint32_t index, uint32_t line)
{
	const struct top_row *row = &view->table.rows[index];
	enum screen_style style = row->kind == TOP_PROGRAM ? SCREEN_BOLD : SCREEN_PLAIN;
	const struct top_program *program;
	int width = screen_columns();
	char text[TOP_LINE_MAX];

	if (row->is_slow || row->is_starved || row->late_rate > 0)
		style = SCREEN_ALARM;
	put(view, line, index == view->selected ? SCREEN_REVERSE : style,
	    top_line(row, width, text));
	if (row->kind != TOP_PROGRAM)
		return;
	program = &view->reader.now.programs[row->program];
	put(view, line + 1, SCREEN_PLAIN, top_note(program, row, width, text));
	for (uint32_t i = 0; i < program->nr_containers; i++)
		put(view, line + 2 + i, SCREEN_PLAIN,
		    top_container_line(&program->containers[i], width, text));
}

static void draw_table(struct top_view *view)
{
	char text[TOP_LINE_MAX];
	uint32_t line = 0;

	screen_put(1, SCREEN_REVERSE, top_heading(view->sort, screen_columns(), text));
	if (top_nothing(&view->reader)) {
		screen_put(NR_HEAD + 1, SCREEN_PLAIN, top_nothing(&view->reader));
		return;
	}
	show_selected(view);
	for (uint32_t i = 0; i < view->table.nr; i++) {
		draw_row(view, i, line);
		line += 1 + nr_notes(view, &view->table.rows[i]);
	}
}

static void draw_detail(const struct top_view *view)
{
	const struct top_detail *detail = &view->detail;
	uint32_t index = top_table_find(&view->table, &detail->row);
	char text[TOP_LINE_MAX];

	screen_put(0, SCREEN_BOLD, top_heading(view->sort, screen_columns(), text));
	screen_put(1, SCREEN_REVERSE,
		   top_line(index < view->table.nr ? &view->table.rows[index] : &detail->row,
			    screen_columns(), text));
	for (uint32_t i = 0; i < detail->nr_lines; i++)
		put(view, i, SCREEN_PLAIN, detail->lines[i]);
}

static void draw_help(const struct top_view *view)
{
	char text[TOP_LINE_MAX];

	for (uint32_t i = 0; i < NR_HELP; i++)
		put(view, i, SCREEN_PLAIN, help[i]);
	for (int i = 0; i < TOP_NR_COLUMNS; i++) {
		enum top_column column = (enum top_column)i;

		snprintf(text, sizeof(text), "  %c  %-8s %s", top_column_key(column),
			 top_column_heading(column), top_column_help(column));
		put(view, NR_HELP + (uint32_t)i, SCREEN_PLAIN, text);
	}
}

static void draw_foot(const struct top_view *view)
{
	const char *keys = view->page == TOP_PAGE_TABLE ?
			   "q end  ? help  Enter more  <> sort  p pause" :
			   "q back  up, down: the rest";
	char text[TOP_LINE_MAX], since[DURATION_TEXT_MAX];

	snprintf(text, sizeof(text), "%s%s", view->is_paused ? "PAUSED  " : "", keys);
	if (view->reader.put_off_ns && view->reader.now.at_ns)
		text_append(text, sizeof(text), "  the module cannot answer: this is of %s ago",
			    duration_format(time_now_ns() - view->reader.now.at_ns, since));
	screen_put(screen_rows() - 1, view->is_paused ? SCREEN_BOLD : SCREEN_PLAIN, text);
}

void top_view_draw(struct top_view *view)
{
	char text[TOP_LINE_MAX];

	screen_begin();
	if (view->page != TOP_PAGE_DETAIL)
		screen_put(0, SCREEN_BOLD, top_head(&view->reader, &view->table, screen_columns(), text));
	if (view->page == TOP_PAGE_TABLE)
		draw_table(view);
	else if (view->page == TOP_PAGE_DETAIL)
		draw_detail(view);
	else
		draw_help(view);
	draw_foot(view);
	screen_show();
}
