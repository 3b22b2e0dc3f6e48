// SPDX-License-Identifier: GPL-2.0

#include <inttypes.h>
#include <string.h>

#include "base/duration.h"
#include "data/histogram.h"
#include "out/page/drawing.h"
#include "out/page/markup.h"
#include "out/page/sections.h"
#include "out/profile/profile-view.h"
#include "out/text.h"

enum { MAX_TYPES = 12 };

static uint64_t largest(const struct samples_times *times)
{
	return times->nr_largest ? times->largest_ns[0] : UINT64_MAX;
}

/* Of all types that are shown: the axis that their pictures share. */
static void find_range(const struct profile_view *view, uint32_t nr, uint64_t *least,
		       uint64_t *most)
{
	*least = UINT64_MAX;
	*most = 1;
	for (uint32_t i = 0; i < nr; i++) {
		const struct model_type *type = &view->model->types[view->types[i]];
		uint64_t limit_ns = type->limit_ns[SAMPLES_OWN];

		if (type->times.nr) {
			uint64_t low =
				histogram_percentile(type->times.hist, 10, largest(&type->times));
			uint64_t high = histogram_percentile(type->times.hist, 1000,
							     largest(&type->times));

			*least = low < *least ? low : *least;
			*most = high > *most ? high : *most;
		}
		*most = limit_ns > *most ? limit_ns : *most;
	}
	*least = *least < *most ? *least - *least / 8 : *most / 10;
	*most += *most / 8;
}

static void put_identifying(FILE *file, const struct profile_view *view, uint32_t index)
{
	const struct profile_identifying *identifying =
		&view->identifying[(size_t)index * PROFILE_MAX_IDENTIFYING];
	char label[PROFILE_LABEL_MAX];

	for (uint32_t i = 0; i < PROFILE_MAX_IDENTIFYING && identifying[i].lead; i++) {
		const struct model_context *context =
			&view->model->contexts[identifying[i].context];

		fputs(i ? ", <code>" : "<code>", file);
		markup_text_cut(file,
				profile_function_label(view->samples,
						       view->model->guards[context->guard].function,
						       PROFILE_LABEL_MAX - 1, label),
				50);
		fputs("</code>", file);
	}
	if (!identifying[0].lead)
		fputs("-", file);
}

static void put_row(FILE *file, const struct profile_view *view, uint32_t index, uint64_t least,
		    uint64_t most)
{
	const struct model_type *type = &view->model->types[index];
	const struct samples_times *times = &type->times;

	fprintf(file, "<tr><td class=n>%" PRIu32 "<td class=long>", type->id);
	put_identifying(file, view, index);
	fprintf(file, "<td class=n>%.1f&nbsp;%%<td class=n>%.1f&nbsp;%%",
		view->units ? 100 * (double)type->units / (double)view->units : 0,
		view->time_ns ? 100 * (double)times->sum_ns / (double)view->time_ns : 0);
	markup_cell_ns(file, times->nr ? profile_median_ns(times) : 0);
	markup_cell_ns(file,
		       times->nr ? histogram_percentile(times->hist, 990, largest(times)) : 0);
	markup_cell_ns(file, type->limit_ns[SAMPLES_OWN]);
	fputs("<td class=picture>", file);
	if (times->nr)
		drawing_histogram(file, times->hist, type->limit_ns[SAMPLES_OWN], least, most);
	fputc('\n', file);
}

void types_put(FILE *file, const struct profile_view *view)
{
	static const char *const columns[] = {
		"#type", "identified by", "#of units", "#of time", "#median", "#p99", "#limit",
		"distribution", NULL,
	};
	uint32_t all = view->model->nr_types, nr = all < MAX_TYPES ? all : MAX_TYPES;
	char low[DURATION_TEXT_MAX], high[DURATION_TEXT_MAX];
	uint64_t least, most;

	fputs("<section aria-labelledby=types><h2 id=types>Types of units</h2>\n", file);
	if (!nr) {
		fputs("<p>The profile has no types.</p></section>\n", file);
		return;
	}
	find_range(view, nr, &least, &most);
	markup_table(file, "What was learnt of each type, those with most time first", columns);
	for (uint32_t i = 0; i < nr; i++)
		put_row(file, view, view->types[i], least, most);
	markup_table_end(file);
	if (all > nr)
		fprintf(file, "<p>%" PRIu32 " more types are not shown.</p>\n", all - nr);
	markup_put(file,
		   "<p class=hint>Each distribution is of a unit's time without waiting for a CPU, "
		   "from %s",
		   duration_format(least, low));
	markup_put(file,
		   " to %s, in equal factors; the height is the root of the number, and the line "
		   "is the limit.</p></section>\n",
		   duration_format(most, high));
}
