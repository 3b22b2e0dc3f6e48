// SPDX-License-Identifier: GPL-2.0

#include "app/top/top-head.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/duration.h"
#include "base/time.h"
#include "out/text.h"

static uint32_t count_rows(const struct top_table *table, enum top_kind kind)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < table->nr; i++)
		nr += table->rows[i].kind == kind;
	return nr;
}

static void append_counted(char text[TOP_LINE_MAX], const char *before, uint32_t nr, const char *noun)
{
	text_append(text, TOP_LINE_MAX, "%s%" PRIu32 " %s%s", before, nr, noun, text_plural(nr));
}

char *top_head(const struct top_reader *reader, const struct top_table *table, int width,
	       char text[TOP_LINE_MAX])
{
	uint64_t span_ns = top_reader_span_ns(reader);
	char time[TIME_TEXT_MAX];

	snprintf(text, TOP_LINE_MAX, "%.8s", time_format_local(time_wall_ns(), time));
	append_counted(text, "  ", count_rows(table, TOP_PROGRAM), "program");
	append_counted(text, ", ", count_rows(table, TOP_LOOP), "loop");
	if (span_ns)
		text_append(text, TOP_LINE_MAX, "; times of the last %" PRIu64 " s",
			    span_ns / NSEC_PER_SEC);
	else
		text_append(text, TOP_LINE_MAX, "; times since armed");
	if (reader->now.nr_others)
		append_counted(text, "; ", reader->now.nr_others, "other target");
	if (width < TOP_LINE_MAX)
		text[width < 0 ? 0 : width] = '\0';
	return text;
}

const char *top_nothing(const struct top_reader *reader)
{
	if (reader->now.nr_programs)
		return NULL;
	if (!reader->now.at_ns)
		return "The module cannot answer just now; it is asked again.";
	if (reader->now.nr_others)
		return "Nothing is guarded; 'pg-collect status' shows what is audited or trained on.";
	return "Nothing is guarded: 'pg-collect arm FILE' guards a program, and it is shown then.";
}
