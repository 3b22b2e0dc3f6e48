// SPDX-License-Identifier: GPL-2.0

#include "out/page/drawing.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/duration.h"
#include "data/histogram.h"
#include "out/page/markup.h"
#include "out/page/sections.h"
#include "out/read/incident.h"
#include "out/text.h"

static void put_key(FILE *file, const struct bar_part *part)
{
	char text[DURATION_TEXT_MAX];

	fprintf(file, "<li class=%s>", part->style);
	markup_put(file, "%s ", part->name);
	markup_put(file, "<b>%s</b>", duration_format(part->ns, text));
}

void drawing_bar(FILE *file, const char *title, const struct bar_part *parts, size_t nr,
		 uint64_t whole_ns)
{
	double at = 0;

	fputs("<figure class=bar><figcaption>", file);
	markup_text(file, title);
	fputs("</figcaption><svg width=100% height=14 aria-hidden=true>", file);
	for (size_t i = 0; i < nr; i++) {
		double width = drawing_percent(parts[i].ns, whole_ns);

		if (width < 0.05)
			continue;
		fprintf(file, "<rect class=%s x=%.1f%% width=%.1f%% height=14 />", parts[i].style,
			at, at + width < 100 ? width : 100 - at);
		at = at + width < 100 ? at + width : 100;
	}
	fputs("</svg><ul class=key>", file);
	for (size_t i = 0; i < nr; i++)
		if (parts[i].ns)
			put_key(file, &parts[i]);
	fputs("</ul></figure>\n", file);
}

uint64_t drawing_time_step(uint64_t span_ns, uint32_t max)
{
	static const uint64_t seconds[] = {
		1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200,
		86400, 172800, 604800,
	};
	uint64_t step;

	for (step = NSEC_PER_MSEC; step < NSEC_PER_SEC; step *= 10)
		for (uint32_t factor = 1; factor <= 5; factor += factor == 1 ? 1 : 3)
			if (span_ns / (factor * step) < max)
				return factor * step;
	for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++)
		if (span_ns / (seconds[i] * NSEC_PER_SEC) < max)
			return seconds[i] * NSEC_PER_SEC;
	for (step = 4 * 604800 * NSEC_PER_SEC; span_ns / step >= max;)
		step *= 2;
	return step;
}

enum {
	LINE_HEIGHT = 230,
	LINE_TOP = 14,
	LINE_BOTTOM = 200, /* below it is the axis */
	LINE_MARKS = 4,
	MAX_COLUMNS = 120, /* of cells, each of which has one point of a kind */
	MAX_ROWS = 24,
	MAX_POINTS = 600,
};

/* Decades of time that the points need, in log10 of ns. */
struct scale {
	double low, high;
};

static struct scale scale_of(const struct time_line *line)
{
	struct scale ret = { 20, 0 };

	for (uint32_t i = 0; i < line->nr_points; i++) {
		double log = line->points[i].elapsed_ns ? log10((double)line->points[i].elapsed_ns)
							: 0;

		ret.low = log < ret.low ? log : ret.low;
		ret.high = log > ret.high ? log : ret.high;
	}
	ret.low = floor(ret.low);
	ret.high = ceil(ret.high + 0.05);
	if (ret.low >= ret.high)
		ret = (struct scale){ 6, 9 };
	return ret;
}

static double y_of(const struct scale *scale, double log)
{
	return LINE_BOTTOM - (log - scale->low) / (scale->high - scale->low) *
	       (LINE_BOTTOM - LINE_TOP);
}

/* Two per cent stay free on both sides. */
static double x_of(const struct time_line *line, uint64_t ns)
{
	uint64_t from_ns = ns > line->begin_ns ? ns - line->begin_ns : 0;

	return 2 + 0.96 * drawing_percent(from_ns, line->end_ns - line->begin_ns);
}

static void put_decades(FILE *file, const struct scale *scale)
{
	for (double log = scale->low; log <= scale->high; log++)
		fprintf(file, "<line x1=0 x2=100%% y1=%.0f y2=%.0f class=grid />", y_of(scale, log),
			y_of(scale, log));
}

/* They stand in the picture, over all else. */
static void put_decade_names(FILE *file, const struct scale *scale)
{
	for (double log = scale->low; log <= scale->high; log++) {
		char text[DURATION_TEXT_MAX];

		fprintf(file, "<text x=2 y=%.0f class=mark>", y_of(scale, log) - 3);
		duration_format((uint64_t)(pow(10, log) + 0.5), text);
		/* "10.0 ms": a decade has no fraction. */
		fprintf(file, "%.0f%s</text>", strtod(text, NULL), strchr(text, ' ') ?: "");
	}
}

static void put_axis(FILE *file, const struct time_line *line)
{
	uint64_t span_ns = line->end_ns - line->begin_ns;
	uint64_t step_ns = drawing_time_step(span_ns, LINE_MARKS);
	uint64_t at_ns = (line->begin_ns / step_ns + 1) * step_ns;

	for (; at_ns <= line->end_ns; at_ns += step_ns) {
		char text[PAGE_TIME_MAX];
		double x = x_of(line, at_ns);

		page_time_format(at_ns, step_ns >= 86400 * NSEC_PER_SEC, text);
		if (step_ns >= 86400 * NSEC_PER_SEC)
			text[10] = '\0';
		else if (step_ns >= NSEC_PER_SEC)
			text[8] = '\0';
		fprintf(file, "<line x1=%.2f%% x2=%.2f%% y1=%d y2=%d class=grid />", x, x, LINE_TOP,
			LINE_BOTTOM + 5);
		fprintf(file, "<text x=%.2f%% y=%d class=\"mark %s\">%s</text>", x,
			LINE_BOTTOM + 20, x < 88 ? "middle" : "end", text);
	}
	fprintf(file, "<line x1=0 x2=100%% y1=%d y2=%d class=axis />", LINE_BOTTOM, LINE_BOTTOM);
}

static void put_spans(FILE *file, const struct time_line *line)
{
	for (uint32_t i = 0; i < line->nr_spans; i++) {
		const struct time_span *span = &line->spans[i];
		double x = x_of(line, span->begin_ns), end = x_of(line, span->end_ns);

		fprintf(file, "<rect class=%s x=%.2f%% y=%d width=%.2f%% height=%d><title>",
			span->style, x, LINE_TOP, end - x > 0.3 ? end - x : 0.3,
			LINE_BOTTOM - LINE_TOP);
		markup_text(file, span->text);
		fputs("</title></rect>\n", file);
	}
}

/* Those that would lie over each other are together, the longest first. */
static int order_points(const void *a, const void *b)
{
	const struct time_point *one = a, *other = b;

	return order_of(one->kind, other->kind) ?: order_of(one->begin_ns, other->begin_ns) ?:
	       order_of(other->elapsed_ns, one->elapsed_ns);
}

static uint32_t cell_of(const struct time_line *line, const struct scale *scale,
			const struct time_point *point, uint32_t coarse)
{
	double row = (y_of(scale, log10((double)(point->elapsed_ns ?: 1))) - LINE_TOP) * MAX_ROWS /
		     (LINE_BOTTOM - LINE_TOP + 1);
	double column = x_of(line, point->begin_ns) / 100 * MAX_COLUMNS;

	row = row < 0 ? 0 : row < MAX_ROWS ? row : MAX_ROWS - 1;
	column = column < MAX_COLUMNS ? column : MAX_COLUMNS - 1;
	return (point->kind * MAX_COLUMNS + (uint32_t)column / coarse) * MAX_ROWS +
	       (uint32_t)row / coarse;
}

/* Each cell gets its longest point, with how many there are. */
static void merge_into_cells(struct time_line *line, const struct scale *scale, uint32_t coarse)
{
	uint32_t at[INCIDENT_NR_KINDS * MAX_COLUMNS * MAX_ROWS] = { 0 }; /* its point, + 1 */
	uint32_t nr = 0;

	for (uint32_t i = 0; i < line->nr_points; i++) {
		const struct time_point point = line->points[i];
		uint32_t *cell = &at[cell_of(line, scale, &point, coarse)];
		struct time_point *to;

		if (!*cell) {
			line->points[nr++] = point;
			*cell = nr;
			continue;
		}
		to = &line->points[*cell - 1];
		to->nr += point.nr;
		if (point.elapsed_ns > to->elapsed_ns) {
			to->elapsed_ns = point.elapsed_ns;
			to->begin_ns = point.begin_ns;
			to->rank = point.rank;
		}
	}
	line->nr_points = nr;
}

/* With many points the cells are larger. */
static void merge_points(struct time_line *line, const struct scale *scale)
{
	qsort(line->points, line->nr_points, sizeof(*line->points), order_points);
	merge_into_cells(line, scale, 1);
	for (uint32_t coarse = 2; line->nr_points > MAX_POINTS; coarse++)
		merge_into_cells(line, scale, coarse);
}

static void put_point(FILE *file, const struct time_line *line, const struct scale *scale,
		      const struct time_point *point)
{
	static const char *const shapes[INCIDENT_NR_KINDS] = {
		[INCIDENT_LATE] = "u", [INCIDENT_NOVEL] = "n", [INCIDENT_STOPPED] = "s",
		[INCIDENT_SLOW] = "a", [INCIDENT_REQUEST] = "r", [INCIDENT_SLOW_REQUEST] = "q",
	};
	char text[DURATION_TEXT_MAX], time[PAGE_TIME_MAX];
	int size = point->nr > 9 ? 3 : point->nr > 1 ? 2 : 1;

	if (point->rank <= PAGE_MAX_ROWS)
		fprintf(file, "<a href=#g%" PRIu32 ">", point->rank);
	else
		fputs("<a href=#what>", file);
	fprintf(file, "<use href=#%s%d x=%.2f%% y=%.1f /><title>%s ", shapes[point->kind], size,
		x_of(line, point->begin_ns), y_of(scale, log10((double)(point->elapsed_ns ?: 1))),
		page_time_format(point->begin_ns, false, time));
	if (point->nr > 1)
		fprintf(file, "%" PRIu32 " of kind %s, up to ", point->nr,
			incident_kind_name((enum incident_kind)point->kind));
	else
		fprintf(file, "%s, ", incident_kind_name((enum incident_kind)point->kind));
	fprintf(file, "%s</title></a>\n", duration_format(point->elapsed_ns, text));
}

/* Three sizes of each shape: for one, for up to nine, for more. */
static void put_shapes(FILE *file)
{
	static const struct {
		char name;
		const char *path;
	} shapes[] = {
		{ 'u', "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0" }, /* circle */
		{ 'r', "M-4-4h8v8h-8z" }, /* square */
		{ 'n', "M0-5l5 9h-10z" }, /* triangle */
		{ 's', "M-2-5h4v10h-4z" }, /* bar */
		{ 'a', "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0" },
		{ 'q', "M-4-4h8v8h-8z" },
	};

	fputs("<defs>", file);
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		for (int size = 1; size <= 3; size++)
			fprintf(file, "<path id=%c%d class=%c d=\"%s\" transform=scale(%.1f) />",
				shapes[i].name, size, shapes[i].name, shapes[i].path,
				0.7 + 0.35 * size);
	fputs("</defs>\n", file);
}

void drawing_time_line(FILE *file, struct time_line *line)
{
	const struct scale scale = scale_of(line);

	merge_points(line, &scale);
	fprintf(file,
		"<svg class=time width=100%% height=%d role=img aria-label=\"When what was late, "
		"by how long it took\">\n",
		LINE_HEIGHT);
	put_shapes(file);
	put_spans(file, line);
	put_decades(file, &scale);
	put_axis(file, line);
	for (uint32_t i = 0; i < line->nr_points; i++)
		put_point(file, line, &scale, &line->points[i]);
	put_decade_names(file, &scale);
	fputs("</svg>\n", file);
}

enum {
	HISTOGRAM_COLUMNS = 60,
	HISTOGRAM_HEIGHT = 34,
};

static uint32_t column_of(uint64_t ns, double low, double high)
{
	double column = (log10((double)(ns ?: 1)) - low) / (high - low) * HISTOGRAM_COLUMNS;

	return column <= 0 ? 0 : column < HISTOGRAM_COLUMNS - 1 ? (uint32_t)column :
	       HISTOGRAM_COLUMNS - 1;
}

void drawing_histogram(FILE *file, const uint64_t *hist, uint64_t limit_ns, uint64_t least_ns,
		       uint64_t most_ns)
{
	double low = log10((double)(least_ns ?: 1)), high = log10((double)(most_ns ?: 1));
	uint64_t columns[HISTOGRAM_COLUMNS] = { 0 }, most = 1;

	high = high > low + 0.1 ? high : low + 0.1;
	for (uint32_t i = 0; i < PERFGUARD_HIST_BUCKETS; i++) {
		uint64_t *column = &columns[column_of(histogram_bucket_max(i), low, high)];

		*column += hist[i];
		most = *column > most ? *column : most;
	}
	fprintf(file,
		"<svg class=hist viewBox=\"0 0 %d %d\" preserveAspectRatio=none aria-hidden=true>"
		"<path d=\"",
		HISTOGRAM_COLUMNS, HISTOGRAM_HEIGHT);
	for (int i = 0; i < HISTOGRAM_COLUMNS; i++) {
		/* Few units are to be seen, too. */
		double height = columns[i] ? 1.5 + (HISTOGRAM_HEIGHT - 1.5) *
							     sqrt((double)columns[i] / (double)most)
					   : 0;

		if (columns[i])
			fprintf(file, "M%d %dv%.1fh.9v%.1fz", i, HISTOGRAM_HEIGHT, -height, height);
	}
	fputs("\"/>", file);
	if (limit_ns)
		fprintf(file, "<rect class=limit x=%.1f width=.6 height=%d />",
			(log10((double)limit_ns) - low) / (high - low) * HISTOGRAM_COLUMNS,
			HISTOGRAM_HEIGHT);
	fputs("</svg>", file);
}
