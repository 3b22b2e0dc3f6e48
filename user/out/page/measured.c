// SPDX-License-Identifier: GPL-2.0

#include <inttypes.h>

#include "base/duration.h"
#include "out/page/account-bar.h"
#include "out/page/markup.h"
#include "out/page/sections.h"
#include "out/read/json-value.h"
#include "out/text.h"

enum { MAX_LOOPS = 20 };

static const char *const percentile_keys[] = { "p50", "p90", "p99", "p999", "max", "mean" };

static void put_times(FILE *file, const json_t *times)
{
	for (size_t i = 0; i < sizeof(percentile_keys) / sizeof(percentile_keys[0]); i++)
		markup_cell_ns(file, value_u64(times, percentile_keys[i]));
	fputc('\n', file);
}

static void put_loop(FILE *file, const json_t *object)
{
	const json_t *wait = json_object_get(object, "wait");
	char place[512];

	fprintf(file, "<tr><td class=n>%" PRIu64, value_u64(object, "loop"));
	markup_cell(file, value_text(object, "comm"));
	markup_put(file, "<td class=long>%s in ", value_text(wait, "syscall"));
	markup_put(file, "<code>%s</code>",
		   markup_place(value_text(wait, "module"), value_text(wait, "function"),
				value_u64(wait, "offset"), place, sizeof(place)));
	markup_cell_count(file, value_u64(object, "units"));
	fprintf(file, "<td class=n>%.1f", value_real(object, "rate"));
	markup_cell_count(file, value_u64(object, "late"));
	put_times(file, json_object_get(object, "unit_ns"));
}

/* Where the time of all its units went. */
static void put_loop_bar(FILE *file, const json_t *object)
{
	const json_t *account = json_object_get(object, "time_ns");
	char title[64];

	if (!json_is_object(account) || !value_u64(object, "units"))
		return;
	snprintf(title, sizeof(title), "Time of all units of event loop %" PRIu64,
		 value_u64(object, "loop"));
	account_bar_put(file, title, account, value_u64(account, "elapsed"));
}

static void put_loops(FILE *file, const struct page *page, uint32_t nr)
{
	static const char *const columns[] = {
		"#loop", "thread", "waits in", "#units", "#a second", "#late",
		"#p50", "#p90", "#p99", "#p99.9", "#max", "#mean", NULL,
	};
	uint32_t shown = 0;

	markup_table(file, "Event loops and the times of their units", columns);
	for (uint32_t i = 0; i < page->nr_notes; i++) {
		json_t *object;

		if (page->notes[i].kind != NOTE_LOOP || shown++ >= MAX_LOOPS)
			continue;
		object = value_parse(page->notes[i].text, page->notes[i].len);
		put_loop(file, object);
		json_decref(object);
	}
	markup_table_end(file);
	for (uint32_t i = 0, left = 3; i < page->nr_notes && left; i++) {
		json_t *object;

		if (page->notes[i].kind != NOTE_LOOP)
			continue;
		object = value_parse(page->notes[i].text, page->notes[i].len);
		put_loop_bar(file, object);
		json_decref(object);
		left--;
	}
	if (nr > MAX_LOOPS)
		fprintf(file, "<p>%" PRIu32 " more are not shown.</p>\n", nr - MAX_LOOPS);
}

static void put_requests(FILE *file, const struct page *page)
{
	static const char *const columns[] = {
		"#answered", "#unanswered", "#p50", "#p90", "#p99", "#p99.9", "#max", "#mean", NULL,
	};

	markup_table(file, "Requests: from the first bytes to the last of the answer", columns);
	for (uint32_t i = 0, left = MAX_LOOPS; i < page->nr_notes && left; i++) {
		json_t *object;

		if (page->notes[i].kind != NOTE_REQUESTS)
			continue;
		object = value_parse(page->notes[i].text, page->notes[i].len);
		fputs("<tr>", file);
		markup_cell_count(file, value_u64(object, "requests"));
		markup_cell_count(file, value_u64(object, "unanswered"));
		put_times(file, json_object_get(object, "request_ns"));
		json_decref(object);
		left--;
	}
	markup_table_end(file);
}

void measured_put(FILE *file, const struct page *page)
{
	uint32_t nr[NOTE_NR_KINDS] = { 0 };

	for (uint32_t i = 0; i < page->nr_notes; i++)
		nr[page->notes[i].kind]++;
	if (!nr[NOTE_LOOP] && !nr[NOTE_REQUESTS])
		return;
	fputs("<section aria-labelledby=measured><h2 id=measured>All units and requests</h2>\n",
	      file);
	if (nr[NOTE_LOOP])
		put_loops(file, page, nr[NOTE_LOOP]);
	if (nr[NOTE_REQUESTS])
		put_requests(file, page);
	fputs("</section>\n", file);
}
