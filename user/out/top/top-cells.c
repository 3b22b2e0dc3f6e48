// SPDX-License-Identifier: GPL-2.0

#include "out/top/top-cells.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/container-id.h"
#include "base/duration.h"
#include "base/utf8.h"
#include "out/text.h"

enum {
	LEAST_NAME = 16, /* columns of the name, for which others are left out */
	INDENT = 2,
};

static const struct {
	const char *heading;
	int width; /* with the space before it */
	int rank; /* the columns with the largest are left out first */
	char key;
	const char *help;
} columns[TOP_NR_COLUMNS] = {
	[TOP_BY_RATE] = { "UNITS/S", 8, 0, 'u', "units, or requests, that ended a second" },
	[TOP_BY_BUSY] = { "BUSY", 6, 7, 'b', "the time that they took, of that in which they ended" },
	[TOP_BY_MEAN] = { "MEAN", 8, 6, 'a', "and on average" },
	[TOP_BY_P50] = { "P50", 8, 2, '5', "half of them took at most so long, the run queue left out" },
	[TOP_BY_P99] = { "P99", 8, 1, '9', "99 of 100 did" },
	[TOP_BY_MAX] = { "MAX", 8, 3, 'm', "all did" },
	[TOP_BY_CPU] = { "CPU", 5, 2, 'c', "of their time: computing, in percent" },
	[TOP_BY_RUNQUEUE] = { "RUNQ", 5, 5, 'r', "waiting for a CPU" },
	[TOP_BY_BLOCKED] = { "BLKD", 5, 4, 'k', "blocked" },
	[TOP_BY_LATE] = { "LATE", 6, 0, 'l', "late ones since it was armed" },
	[TOP_BY_LATE_RATE] = { "LATE/S", 7, 1, 's', "and a second, now" },
	[TOP_BY_NAME] = { "NAME", 0, 0, 'n', "program, loop; type, with functions that identify it" },
};

enum top_column top_column_of_key(int key)
{
	int column = 0;

	while (column < TOP_NR_COLUMNS && columns[column].key != key)
		column++;
	return (enum top_column)column;
}

const char *top_column_heading(enum top_column column)
{
	return columns[column].heading;
}

char top_column_key(enum top_column column)
{
	return columns[column].key;
}

const char *top_column_help(enum top_column column)
{
	return columns[column].help;
}

/* Three digits or so: "0.25", "12.3", "1234", "12.3k". */
static char *put_number(double value, char text[TOP_CELL_MAX])
{
	const char *unit = "";

	if (value >= 99999.5) {
		value /= 1000;
		unit = "k";
		if (value >= 9999.5) {
			value /= 1000;
			unit = "M";
		}
	}
	snprintf(text, TOP_CELL_MAX, "%.*f%s", value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2, value, unit);
	return text;
}

static char *put_time(const struct top_time *time, char text[TOP_CELL_MAX])
{
	char duration[DURATION_TEXT_MAX];

	snprintf(text, TOP_CELL_MAX, "%s%s", time->is_below ? "<" : time->is_above ? ">" : "",
		 duration_format(time->ns, duration));
	/* The space between them is not worth a column. */
	for (char *space = strchr(text, ' '); space; space = NULL)
		memmove(space, space + 1, strlen(space));
	return text;
}

static char *put_share(const struct top_row *row, enum top_part part, char text[TOP_CELL_MAX])
{
	double all = 0;

	for (int i = 0; i < TOP_NR_PARTS; i++)
		all += row->share[i];
	if (all > 0)
		snprintf(text, TOP_CELL_MAX, "%.0f", 100 * row->share[part]);
	return text;
}

static char *put_busy(double busy, char text[TOP_CELL_MAX])
{
	snprintf(text, TOP_CELL_MAX, "%.0f%%", 100 * busy);
	return text;
}

static char *put_count(uint64_t count, char text[TOP_CELL_MAX])
{
	if (count > 99999)
		return put_number((double)count, text);
	snprintf(text, TOP_CELL_MAX, "%" PRIu64, count);
	return text;
}

char *top_cell(const struct top_row *row, enum top_column column, char text[TOP_CELL_MAX])
{
	strcpy(text, "-");
	switch (column) {
	case TOP_BY_RATE:
		return row->has_rates ? put_number(row->rate, text) : text;
	case TOP_BY_BUSY:
		return row->has_rates ? put_busy(row->busy, text) : text;
	case TOP_BY_MEAN:
		return row->mean_ns ? put_time(&(struct top_time){ .ns = row->mean_ns }, text) : text;
	case TOP_BY_P50:
		return row->p50.ns ? put_time(&row->p50, text) : text;
	case TOP_BY_P99:
		return row->p99.ns ? put_time(&row->p99, text) : text;
	case TOP_BY_MAX:
		return row->max.ns ? put_time(&row->max, text) : text;
	case TOP_BY_CPU:
		return put_share(row, TOP_CPU, text);
	case TOP_BY_RUNQUEUE:
		return put_share(row, TOP_RUNQUEUE, text);
	case TOP_BY_BLOCKED:
		return put_share(row, TOP_BLOCKED, text);
	case TOP_BY_LATE:
		return put_count(row->late, text);
	case TOP_BY_LATE_RATE:
		return row->has_rates ? put_number(row->late_rate, text) : text;
	default:
		return text;
	}
}

/* Columns with a rank from here on are left out, so that the name has room. */
static int cut_of(int width)
{
	int cut = 8;

	for (int taken; cut > 0; cut--) {
		taken = LEAST_NAME;
		for (int i = 0; i < TOP_NR_COLUMNS; i++)
			if (columns[i].rank < cut)
				taken += columns[i].width;
		if (taken <= width)
			break;
	}
	return cut;
}

/* The bytes of at most @width characters. */
static size_t fitting(const char *text, int width)
{
	size_t left = strlen(text), at = 0;
	uint32_t c;

	while (at < left && width-- > 0)
		at += utf8_decode(text + at, left - at, &c);
	return at;
}

static char *cut(char text[TOP_LINE_MAX], int width)
{
	text[fitting(text, width)] = '\0';
	return text;
}

static int name_width(int width)
{
	int limit = cut_of(width);

	for (int i = 0; i < TOP_NR_COLUMNS; i++)
		if (columns[i].rank < limit)
			width -= columns[i].width;
	return width;
}

/* The name comes first; the others are at its right. */
static void put_name(const char *name, int width, char text[TOP_LINE_MAX])
{
	size_t len, bytes = fitting(name, width < 0 ? 0 : width);
	uint32_t c;

	snprintf(text, TOP_LINE_MAX, "%.*s", (int)bytes, name);
	len = strlen(text);
	for (size_t at = 0; at < len; at += utf8_decode(text + at, len - at, &c))
		width--;
	for (; width > 0 && len < TOP_LINE_MAX - 1; width--)
		text[len++] = ' ';
	text[len] = '\0';
}

char *top_heading(enum top_column sort, int width, char text[TOP_LINE_MAX])
{
	char cell[TOP_CELL_MAX];

	put_name(sort == TOP_BY_NAME ? "[NAME]" : "NAME", name_width(width), text);
	for (int i = 0; i < TOP_BY_NAME; i++) {
		if (columns[i].rank >= cut_of(width))
			continue;
		snprintf(cell, sizeof(cell), (int)sort == i ? "[%s]" : "%s", columns[i].heading);
		/* Those that are as wide as their column have no room for the marks. */
		if ((int)strlen(cell) > columns[i].width)
			snprintf(cell, sizeof(cell), "[%s", columns[i].heading);
		text_append(text, TOP_LINE_MAX, "%*s", columns[i].width, cell);
	}
	return cut(text, width);
}

char *top_line(const struct top_row *row, int width, char text[TOP_LINE_MAX])
{
	static const int indents[] = { [TOP_PROGRAM] = 0, [TOP_REQUESTS] = INDENT,
				       [TOP_LOOP] = INDENT, [TOP_TYPE] = 2 * INDENT };
	char cell[TOP_CELL_MAX], name[TOP_NAME_MAX + 32];

	snprintf(name, sizeof(name), "%*s%s%s%s", indents[row->kind], "", row->is_slow ? "SLOW " : "",
		 row->is_starved ? "STARVED " : "", row->name);
	put_name(name, name_width(width), text);
	for (int i = 0; i < TOP_BY_NAME; i++)
		if (columns[i].rank < cut_of(width))
			text_append(text, TOP_LINE_MAX, "%*s", columns[i].width,
				    top_cell(row, (enum top_column)i, cell));
	return cut(text, width);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

char *top_note(const struct top_program *program, const struct top_row *row, int width,
	       char text[TOP_LINE_MAX])
{
	const struct armed_profile *armed = program->armed;
	const struct armed_cost *last = &armed->last;
	char number[TOP_CELL_MAX];

	snprintf(text, TOP_LINE_MAX, "  target %" PRIu32 ", %" PRIu32 " process%s; takes %.2f %%",
		 program->target_id, program->processes, program->processes == 1 ? "" : "es",
		 percent(last->guards + last->boundaries + last->report, last->cpu));
	if (armed->prices.budget_ppm)
		text_append(text, TOP_LINE_MAX, " of %g %% CPU", armed->prices.budget_ppm / 1e4);
	else
		text_append(text, TOP_LINE_MAX, " CPU, no budget");
	text_append(text, TOP_LINE_MAX, "; %" PRIu32 " guard%s on", armed->nr_guards - armed->nr_shed,
		    text_plural(armed->nr_guards - armed->nr_shed));
	if (armed->nr_shed)
		text_append(text, TOP_LINE_MAX, ", %" PRIu32 " SHED", armed->nr_shed);
	if (row->starved_rate > 0)
		text_append(text, TOP_LINE_MAX, "; %s starved/s", put_number(row->starved_rate, number));
	return cut(text, width);
}

char *top_container_line(const struct top_container *container, int width, char text[TOP_LINE_MAX])
{
	char id[CONTAINER_ID_MAX], number[TOP_CELL_MAX];

	memcpy(id, container->id, sizeof(id));
	snprintf(text, TOP_LINE_MAX, "  container %s: %" PRIu32 " process%s, %s units/s",
		 container_id_cut(id), container->processes, container->processes == 1 ? "" : "es",
		 put_number(container->rate, number));
	return cut(text, width);
}
