// SPDX-License-Identifier: GPL-2.0

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "out/page/drawing.h"
#include "out/page/markup.h"
#include "out/page/sections.h"
#include "out/read/json-value.h"
#include "out/text.h"

enum { MAX_SPANS = 50 };

struct spans {
	struct time_span of[MAX_SPANS];
	uint64_t keys[MAX_SPANS]; /* whose it is */
	uint32_t nr;
};

/* One that has begun goes on to the end of the page, unless something says that it is over. */
static void spans_add(struct spans *spans, const struct page *page, const json_t *object,
		      const char *style, bool is_on, uint64_t key, const char *text)
{
	struct time_span *span;

	for (uint32_t i = spans->nr; i-- && !is_on;)
		if (spans->keys[i] == key) {
			spans->of[i].end_ns = value_time(object, "time");
			return;
		}
	if (!is_on || spans->nr == MAX_SPANS)
		return;
	span = &spans->of[spans->nr];
	*span = (struct time_span){
		.begin_ns = value_time(object, "since") ?: value_time(object, "time"),
		.end_ns = page->end_ns,
		.style = style,
	};
	text_cut(text, sizeof(span->text) - 4, span->text, sizeof(span->text));
	spans->keys[spans->nr++] = key;
}

static void add_note(struct spans *spans, const struct page *page, const struct page_note *note)
{
	json_t *object = value_parse(note->text, note->len);
	char type[96], text[128];

	if (note->kind == NOTE_LEVEL) {
		value_type(object, type, sizeof(type));
		snprintf(text, sizeof(text), "%.100s is slower as a whole", type);
		spans_add(spans, page, object, "slow", value_is_true(object, "slow"),
			  1 + value_u64(object, "profile") * 65536 + value_u64(object, "type"),
			  text);
	} else if (note->kind == NOTE_STARVED) {
		spans_add(spans, page, object, "starved", value_is_true(object, "starved"), 0,
			  "units wait for a CPU");
	}
	json_decref(object);
}

static void put_legend(FILE *file, const struct page_groups *groups, const struct spans *spans)
{
	static const char *const styles[INCIDENT_NR_KINDS] = {
		[INCIDENT_LATE] = "u", [INCIDENT_NOVEL] = "n", [INCIDENT_STOPPED] = "s",
		[INCIDENT_SLOW] = "a", [INCIDENT_REQUEST] = "r", [INCIDENT_SLOW_REQUEST] = "q",
	};
	bool has_slow = false, has_starved = false;

	fputs("<ul class=key>", file);
	for (enum incident_kind kind = 0; kind < INCIDENT_NR_KINDS; kind++)
		if (page_groups_count(groups, kind))
			fprintf(file, "<li><svg width=14 height=14 aria-hidden=true>"
				"<use href=#%s1 x=7 y=7 /></svg> %s", styles[kind],
				incident_kind_name(kind));
	for (uint32_t i = 0; i < spans->nr; i++) {
		has_slow |= !strcmp(spans->of[i].style, "slow");
		has_starved |= !strcmp(spans->of[i].style, "starved");
	}
	fputs(has_slow ? "<li class=slow>a type is slower as a whole" : "", file);
	fputs(has_starved ? "<li class=starved>units wait for a CPU" : "", file);
	fputs("</ul>", file);
}

static void add_points(struct time_line *line, const struct page *page,
		       const struct page_groups *groups)
{
	for (uint32_t i = 0; i < page->incidents.nr; i++) {
		const struct incident *incident = &page->incidents.of[i];

		if (!incident->begin_ns)
			continue;
		line->points[line->nr_points++] = (struct time_point){
			.begin_ns = incident->begin_ns,
			.elapsed_ns = incident->elapsed_ns,
			.kind = incident->kind,
			.nr = 1,
			.rank = groups->rank_of[i] + 1,
		};
		if (incident->begin_ns < line->begin_ns)
			line->begin_ns = incident->begin_ns;
	}
}

/* Those that were folded: at the end of each window, as long as the longest of them. */
static void add_folded_points(struct time_line *line, const struct page_groups *groups)
{
	for (uint32_t i = 0; i < groups->nr_windows; i++) {
		const struct page_window *window = &groups->windows[i];

		line->points[line->nr_points++] = (struct time_point){
			.begin_ns = window->time_ns,
			.elapsed_ns = window->max_ns,
			.kind = groups->of[window->group].kind,
			.nr = window->nr,
			.rank = window->group + 1,
		};
	}
}

int timeline_put(FILE *file, const struct page *page, const struct page_groups *groups)
{
	struct time_line line = { .begin_ns = page->begin_ns, .end_ns = page->end_ns };
	struct spans *spans = calloc(1, sizeof(*spans));
	int ret = spans ? array_new(line.points, page->incidents.nr + groups->nr_windows) : -ENOMEM;

	if (!ret) {
		add_points(&line, page, groups);
		add_folded_points(&line, groups);
		for (uint32_t i = 0; i < page->nr_notes; i++)
			add_note(spans, page, &page->notes[i]);
		line.spans = spans->of;
		line.nr_spans = spans->nr;
	}
	if (!ret && (line.nr_points || line.nr_spans) && line.end_ns > line.begin_ns) {
		fputs("<section aria-labelledby=when><h2 id=when>When</h2>\n<figure>\n", file);
		drawing_time_line(file, &line);
		fputs("<figcaption>When each began, and how long it took; a larger one stands for "
		      "several.", file);
		put_legend(file, groups, spans);
		fputs("</figcaption></figure></section>\n", file);
	}
	free(line.points);
	free(spans);
	return ret;
}
