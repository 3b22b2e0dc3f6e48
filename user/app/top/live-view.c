// SPDX-License-Identifier: GPL-2.0
/* Readings, keys and signals, until the operator ends it. */

#include "app/top/live-view.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/common/command.h"
#include "app/common/signals.h"
#include "app/top/top-view.h"
#include "base/background.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/time.h"
#include "out/top/top-cells.h"
#include "screen/screen.h"

struct live_screen {
	struct top_view view;
	uint64_t interval_ns;
	uint64_t due_ns; /* the next reading, CLOCK_MONOTONIC */
	int signals;
	bool has_ended;
};

/* The row that was selected stays so, wherever it comes to stand. */
static int make_table(struct top_view *view)
{
	struct top_table table;
	int error = top_reader_table(&view->reader, &table);
	uint32_t selected;

	if (error)
		return error;
	top_table_sort(&table, view->sort);
	top_table_limit(&table, view->max_types);
	selected = view->selected && view->selected < view->table.nr ?
		   top_table_find(&table, &view->table.rows[view->selected]) : 0;
	view->selected = selected < table.nr ? selected : 0;
	top_table_deinit(&view->table);
	view->table = table;
	return 0;
}

static int update_detail(struct top_view *view)
{
	int error = view->page == TOP_PAGE_DETAIL ? top_detail_update(&view->detail) : 0;

	return error == -EAGAIN ? 0 : error;
}

static int read_next(struct live_screen *live)
{
	uint64_t now_ns = time_now_ns();
	int error;

	if (live->view.is_paused || now_ns < live->due_ns)
		return 0;
	live->due_ns = now_ns + live->interval_ns;
	error = top_reader_read(&live->view.reader);
	if (error)
		return error == -EAGAIN ? 0 : error;
	error = make_table(&live->view);
	return error ?: update_detail(&live->view);
}

static void open_page(struct top_view *view, enum top_page page)
{
	view->page = page;
	view->first = 0;
}

static void go_back(struct live_screen *live)
{
	struct top_view *view = &live->view;

	if (view->page == TOP_PAGE_TABLE)
		live->has_ended = true;
	if (view->page == TOP_PAGE_DETAIL)
		top_detail_deinit(&view->detail);
	open_page(view, TOP_PAGE_TABLE);
}

static int drill_down(struct top_view *view)
{
	const struct top_row *row = &view->table.rows[view->selected];
	int error;

	if (view->selected >= view->table.nr || (row->kind != TOP_TYPE && row->kind != TOP_REQUESTS))
		return 0;
	open_page(view, TOP_PAGE_DETAIL);
	error = top_detail_init(&view->detail, &view->reader, row);
	return error ?: update_detail(view);
}

static void move_by(struct top_view *view, int64_t by)
{
	bool is_table = view->page == TOP_PAGE_TABLE;
	int64_t nr = is_table ? view->table.nr : top_view_lines(view);
	int64_t last = is_table ? nr - 1 : nr - top_view_room();
	int64_t at = (is_table ? view->selected : view->first) + by;

	at = at > last ? last : at;
	at = at < 0 ? 0 : at;
	if (is_table)
		view->selected = (uint32_t)at;
	else
		view->first = (uint32_t)at;
}

static int sort_by(struct top_view *view, int column)
{
	view->sort = (enum top_column)((column + TOP_NR_COLUMNS) % TOP_NR_COLUMNS);
	return view->page == TOP_PAGE_TABLE ? make_table(view) : 0;
}

/* Keys of the page; those of columns are of the table. */
static int take_page_key(struct top_view *view, int key)
{
	if (view->page != TOP_PAGE_TABLE)
		return 0;
	/* The name stands first, and is the last of the columns. */
	if (key == '<' || key == SCREEN_LEFT)
		return sort_by(view, (int)view->sort - 1);
	if (key == '>' || key == SCREEN_RIGHT)
		return sort_by(view, (int)view->sort + 1);
	if (key == SCREEN_ENTER)
		return drill_down(view);
	if (top_column_of_key(key) < TOP_NR_COLUMNS)
		return sort_by(view, (int)top_column_of_key(key));
	return 0;
}

static int take_key(struct live_screen *live, int key)
{
	struct top_view *view = &live->view;

	switch (key) {
	case 'q':
	case SCREEN_ESCAPE:
		go_back(live);
		return 0;
	case 'p':
	case ' ':
		view->is_paused = !view->is_paused;
		live->due_ns = 0;
		return 0;
	case '?':
		if (view->page == TOP_PAGE_TABLE)
			open_page(view, TOP_PAGE_HELP);
		return 0;
	case SCREEN_UP:
	case SCREEN_DOWN:
		move_by(view, key == SCREEN_UP ? -1 : 1);
		return 0;
	case SCREEN_PAGE_UP:
	case SCREEN_PAGE_DOWN:
		move_by(view, key == SCREEN_PAGE_UP ? -top_view_room() : top_view_room());
		return 0;
	case SCREEN_HOME:
	case SCREEN_END:
		move_by(view, key == SCREEN_HOME ? -(int64_t)UINT32_MAX : (int64_t)UINT32_MAX);
		return 0;
	default:
		return take_page_key(view, key);
	}
}

static int take_keys(struct live_screen *live)
{
	int error = 0, key;

	while (!error && !live->has_ended && (key = screen_key()) != SCREEN_NO_KEY)
		error = take_key(live, key);
	return error;
}

/* Until a key, a signal, the terminal's end or the next reading. */
static void wait_next(struct live_screen *live)
{
	struct pollfd fds[2] = {
		{ .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = live->signals, .events = POLLIN },
	};
	uint64_t now_ns = time_now_ns(), wait_ns = live->due_ns > now_ns ? live->due_ns - now_ns : 0;
	int signal;

	if (live->view.is_paused)
		poll(fds, 2, -1);
	else
		poll(fds, 2, (int)((wait_ns + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC));
	while ((signal = signals_next(live->signals)) != 0)
		if (signal != SIGCHLD)
			live->has_ended = true;
	if (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL))
		live->has_ended = true;
}

static int run(struct live_screen *live)
{
	int error;

	while (!live->has_ended) {
		error = read_next(live);
		if (error)
			return error;
		top_view_draw(&live->view);
		wait_next(live);
		error = take_keys(live);
		if (error)
			return error;
	}
	return 0;
}

/* The screen is given back before an error is printed. */
static int run_on_screen(struct live_screen *live)
{
	int error = top_reader_read(&live->view.reader);

	if (!error)
		error = make_table(&live->view);
	if (error && error != -EAGAIN)
		return error;
	live->due_ns = time_now_ns() + live->interval_ns;
	error = screen_open();
	log_hold_progress(true);
	if (!error)
		error = run(live);
	log_hold_progress(false);
	screen_close();
	return error;
}

static int refuse_terminal(void)
{
	log_error("top: no terminal with a screen to draw on: 'pg-collect top --once' prints the table, "
		  "'status' and 'watch' print lines");
	return CMD_USAGE;
}

int top_run(const struct top_options *options)
{
	struct live_screen live = {
		.view = { .sort = options->sort, .max_types = options->max_types },
		.interval_ns = options->interval_ns,
	};
	struct link *link;
	int ret, error;

	if (!screen_is_there())
		return refuse_terminal();
	ret = cmd_open_link(&link);
	if (ret)
		return ret;
	top_reader_init(&live.view.reader, link);
	live.signals = signals_open();
	background_enter();
	error = live.signals < 0 ? live.signals : run_on_screen(&live);
	if (error == -ENOTTY)
		ret = refuse_terminal();
	else if (error)
		ret = cmd_failed(link, error, "cannot read the counters");
	if (live.signals >= 0)
		close(live.signals);
	if (live.view.page == TOP_PAGE_DETAIL)
		top_detail_deinit(&live.view.detail);
	top_table_deinit(&live.view.table);
	top_reader_deinit(&live.view.reader);
	link_close(link);
	return ret;
}
