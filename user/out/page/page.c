// SPDX-License-Identifier: GPL-2.0

#include "out/page/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "out/page/page-model.h"
#include "out/read/json-value.h"
#include "out/read/written-line.h"

enum {
	MAX_NOTES = 20 * 1000,
	MAX_NOTE_BYTES = 16 * 1024 * 1024,
};

struct page *page_new(void)
{
	return calloc(1, sizeof(struct page));
}

void page_free(struct page *page)
{
	if (!page)
		return;
	for (uint32_t i = 0; i < page->nr_notes; i++)
		free(page->notes[i].text);
	free(page->notes);
	incidents_deinit(&page->incidents);
	free(page);
}

void page_set_profile(struct page *page, const struct profile_view *view)
{
	page->view = view;
}

void page_set_live(struct page *page, const struct live_programs *programs)
{
	page->live = programs;
}

void page_set_missing(struct page *page, uint64_t nr_dropped, uint64_t nr_unsaved)
{
	page->nr_dropped = nr_dropped;
	page->nr_unsaved = nr_unsaved;
}

uint64_t page_nr_lines(const struct page *page)
{
	return page->nr_lines;
}

uint64_t page_nr_broken(const struct page *page)
{
	return page->nr_broken;
}

static void note_time(struct page *page, uint64_t ns)
{
	if (!ns)
		return;
	if (!page->begin_ns || ns < page->begin_ns)
		page->begin_ns = ns;
	if (ns > page->end_ns)
		page->end_ns = ns;
}

static int add_note(struct page *page, enum note_kind kind, const json_t *object,
		    const char *text, size_t len)
{
	struct page_note *note;

	if (page->nr_notes >= MAX_NOTES || page->note_bytes + len > MAX_NOTE_BYTES) {
		page->nr_left_out++;
		return 0;
	}
	if (array_grow(page->notes, page->nr_notes, page->max_notes))
		return -ENOMEM;
	note = &page->notes[page->nr_notes];
	*note = (struct page_note){ kind, value_time(object, "time"), malloc(len), len };
	if (!note->text)
		return -ENOMEM;
	memcpy(note->text, text, len);
	page->nr_notes++;
	page->note_bytes += len;
	return 0;
}

static bool is_one_of(const char *text, const char *const *names, size_t nr, size_t *ret)
{
	for (*ret = 0; *ret < nr; (*ret)++)
		if (!strcmp(text, names[*ret]))
			return true;
	return false;
}

static int take(struct page *page, const json_t *object, const char *kind, const char *text,
		size_t len)
{
	static const char *const note_names[NOTE_NR_KINDS] = {
		[NOTE_LEVEL] = "level",
		[NOTE_STARVED] = "starved",
		[NOTE_REPLACED] = "replaced",
		[NOTE_REPEATED] = "repeated",
		[NOTE_LOOP] = "loop",
		[NOTE_REQUESTS] = "requests",
		[NOTE_READY] = "ready",
	};
	uint64_t time_ns = value_time(object, "time");
	size_t index;

	note_time(page, time_ns);
	note_time(page, value_time(object, "begin"));
	/* Of a unit it is when it was reported, which is later than when it began. */
	if (time_ns > value_u64(object, "elapsed_ns"))
		note_time(page, time_ns - value_u64(object, "elapsed_ns"));
	if (incident_is_of(kind))
		return incidents_add(&page->incidents, object, text, len);
	if (!strcmp(kind, "lost"))
		page->nr_lost += value_u64(object, "lost");
	/* What a newer version reports is nothing broken. */
	if (is_one_of(kind, note_names, NOTE_NR_KINDS, &index))
		return add_note(page, (enum note_kind)index, object, text, len);
	return 0;
}

int page_add_line(struct page *page, const char *line, size_t len)
{
	json_t *object = len <= WRITTEN_LINE_MAX ? value_parse(line, len) : NULL;
	const char *kind = value_text(object, "kind");
	int ret = 0;

	page->nr_lines++;
	if (kind)
		ret = take(page, object, kind, line, len);
	else
		page->nr_broken++;
	json_decref(object);
	return ret;
}
