// SPDX-License-Identifier: GPL-2.0

#include "out/page/live-types.h"

#include <inttypes.h>

#include "base/duration.h"
#include "data/histogram.h"
#include "out/page/drawing.h"
#include "out/page/markup.h"
#include "out/page/sections.h"
#include "out/text.h"

enum {
	MAX_PROGRAMS = 6,
	MAX_TYPES = 12, /* of a program */
	MAX_NAME = 70,
};

static uint64_t percentile(const struct live_type *type, double permille)
{
	uint64_t largest = type->times.nr_largest ? type->times.largest_ns[0] : UINT64_MAX;

	return histogram_percentile(type->times.hist, permille, largest);
}

/* What the first bucket has is not known better than that it is less. */
static void put_time(FILE *file, const struct live_type *type, double permille)
{
	uint64_t ns = type->times.nr ? percentile(type, permille) : 0;
	char text[DURATION_TEXT_MAX];

	if (!type->times.nr)
		fputs("<td class=n>-", file);
	else if (ns <= type->least_ns)
		markup_put(file, "<td class=n>&lt;&nbsp;%s", duration_format(type->least_ns, text));
	else
		markup_cell_ns(file, ns);
}

/* Of all types that are shown: the axis that their pictures share. */
static void find_range(const struct live_program *program, uint32_t nr, uint64_t *least,
		       uint64_t *most)
{
	*least = UINT64_MAX;
	*most = 1;
	for (uint32_t i = 0; i < nr; i++) {
		const struct live_type *type = &program->types[i];
		uint64_t high = type->times.nr ? percentile(type, 1000) : 0;

		if (type->times.nr && type->least_ns && type->least_ns / 2 < *least)
			*least = type->least_ns / 2;
		high = type->limit_ns > high ? type->limit_ns : high;
		*most = high > *most ? high : *most;
	}
	*least = *least < *most ? *least : *most / 10;
	*most += *most / 8;
}

static double percent_of(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

static void put_row(FILE *file, const struct live_type *type, uint64_t time_ns,
		    uint64_t least, uint64_t most)
{
	if (type->id)
		fprintf(file, "<tr><td class=n>%" PRIu32 "<td class=long>", type->id);
	else
		fputs("<tr><td class=n>-<td class=long>", file);
	if (type->name)
		markup_text_cut(file, type->name, MAX_NAME);
	else
		fputs(type->id ? "-" : "no type, or none yet", file);
	markup_cell_count(file, type->units);
	fprintf(file, "<td class=n>%.1f&nbsp;%%", percent_of(type->time_ns, time_ns));
	markup_cell_count(file, type->late);
	markup_cell_ns(file, type->units ? type->time_ns / type->units : 0);
	put_time(file, type, 500);
	put_time(file, type, 990);
	markup_cell_ns(file, type->limit_ns);
	fputs("<td class=picture>", file);
	if (type->times.nr)
		drawing_histogram(file, type->times.hist, type->limit_ns, least, most);
	fputc('\n', file);
}

static void put_program(FILE *file, const struct live_program *program, uint64_t now_ns)
{
	static const char *const columns[] = {
		"#type", "identified by", "#units", "#of time", "#late", "#mean", "#median",
		"#p99", "#limit", "distribution", NULL,
	};
	uint32_t nr = program->nr_types < MAX_TYPES ? program->nr_types : MAX_TYPES;
	char low[DURATION_TEXT_MAX], high[DURATION_TEXT_MAX], caption[512];
	uint64_t least, most, time_ns = 0;

	for (uint32_t i = 0; i < program->nr_types; i++)
		time_ns += program->types[i].time_ns;
	find_range(program, nr, &least, &most);
	snprintf(caption, sizeof(caption), "%.400s, guarded for %s", text_basename(program->exe),
		 duration_format(now_ns > program->armed_ns ? now_ns - program->armed_ns : 0, low));
	markup_table(file, caption, columns);
	for (uint32_t i = 0; i < nr; i++)
		put_row(file, &program->types[i], time_ns, least, most);
	markup_table_end(file);
	if (program->nr_types > nr)
		fprintf(file, "<p>%" PRIu32 " more types are not shown.</p>\n", program->nr_types - nr);
	markup_put(file, "<p class=hint>Each distribution is of a unit's time without waiting for a "
		   "CPU, from %s", duration_format(least, low));
	markup_put(file, " to %s, in equal factors; the height is the root of the number, and the "
		   "line is the limit. It is of a part of the units, and coarse.</p>\n",
		   duration_format(most, high));
}

void live_types_put(FILE *file, const struct live_programs *programs)
{
	uint32_t nr = programs->nr < MAX_PROGRAMS ? programs->nr : MAX_PROGRAMS;
	char time[PAGE_TIME_MAX];

	fputs("<section aria-labelledby=live><h2 id=live>Types of units now</h2>\n", file);
	if (nr)
		markup_put(file, "<p>As the module had counted them at %s UTC since they were armed, "
			   "those with most time first.</p>\n",
			   page_time_format(programs->now_ns, true, time));
	else
		fputs("<p>No program is guarded by a profile.</p>\n", file);
	for (uint32_t i = 0; i < nr; i++)
		put_program(file, &programs->of[i], programs->now_ns);
	if (programs->nr > nr)
		fprintf(file, "<p>%" PRIu32 " more programs are not shown.</p>\n", programs->nr - nr);
	fputs("</section>\n", file);
}
