// SPDX-License-Identifier: GPL-2.0
/* A table of two readings, printed. */

#include "app/top/live-view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "app/common/command.h"
#include "app/top/top-head.h"
#include "app/top/top-reading.h"
#include "base/duration.h"
#include "base/time.h"
#include "out/text.h"

enum { FILE_WIDTH = 100 }; /* where it is no terminal's */

static int width_of(FILE *file)
{
	struct winsize size;

	if (ioctl(fileno(file), TIOCGWINSZ, &size) || !size.ws_col)
		return FILE_WIDTH;
	return size.ws_col;
}

/* Trailing blanks are for the screen. */
static void print_line(char text[TOP_LINE_MAX])
{
	size_t len = 0;

	for (size_t i = 0; text[i]; i++)
		if (text[i] != ' ')
			len = i + 1;
	text_print(stdout, text, len);
	putchar('\n');
}

static void print_notes(const struct top_program *program, const struct top_row *row, int width)
{
	char text[TOP_LINE_MAX];

	print_line(top_note(program, row, width, text));
	for (uint32_t i = 0; i < program->nr_containers; i++)
		print_line(top_container_line(&program->containers[i], width, text));
}

static void print_table(const struct top_reader *reader, const struct top_table *table,
			enum top_column sort)
{
	int width = width_of(stdout);
	char text[TOP_LINE_MAX];

	if (top_nothing(reader)) {
		puts(top_nothing(reader));
		return;
	}
	print_line(top_head(reader, table, width, text));
	print_line(top_heading(sort, width, text));
	for (uint32_t i = 0; i < table->nr; i++) {
		const struct top_row *row = &table->rows[i];
		bool is_program = row->kind == TOP_PROGRAM;

		fputs(is_program ? text_bold(stdout) : row->is_slow ? text_red(stdout) : "", stdout);
		print_line(top_line(row, width, text));
		fputs(is_program || row->is_slow ? text_plain(stdout) : "", stdout);
		if (is_program)
			print_notes(&reader->now.programs[row->program], row, width);
	}
}

static int print_once(struct top_reader *reader, const struct top_options *options)
{
	int error = top_reader_read_patiently(reader);
	struct top_table table;

	if (!error && reader->now.nr_programs) {
		time_sleep_until(reader->now.at_ns + options->interval_ns);
		error = top_reader_read_patiently(reader);
	}
	if (!error)
		error = top_reader_table(reader, &table);
	if (error)
		return cmd_failed(reader->link, error, "cannot read the counters");
	top_table_sort(&table, options->sort);
	top_table_limit(&table, options->max_types);
	print_table(reader, &table, options->sort);
	top_table_deinit(&table);
	return CMD_OK;
}

int top_once(const struct top_options *options)
{
	struct top_reader reader;
	struct link *link;
	int ret = cmd_open_link(&link);

	if (ret)
		return ret;
	top_reader_init(&reader, link);
	ret = print_once(&reader, options);
	top_reader_deinit(&reader);
	link_close(link);
	return ret;
}
