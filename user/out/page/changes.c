// SPDX-License-Identifier: GPL-2.0
/* Lines that are of no unit and no request. */

#include <inttypes.h>
#include <string.h>

#include "base/duration.h"
#include "out/page/markup.h"
#include "out/page/sections.h"
#include "out/read/json-value.h"
#include "out/text.h"

enum {
	MAX_ROWS = 100,
	MAX_BYTES = 50 * 1024,
};

static void put_level(FILE *file, const json_t *object)
{
	bool is_slow = value_is_true(object, "slow");
	const char *part = value_text(object, "part");
	char type[512], text[DURATION_TEXT_MAX];

	markup_cell(file, is_slow ? "slower" : "back");
	markup_cell(file, text_basename(value_text(object, "exe")));
	fputs("<td class=long>", file);
	markup_text(file, value_type(object, type, sizeof(type)));
	markup_put(file, part && !strcmp(part, "cpu") ? ": computes %s" : ": is blocked %s",
		   duration_format(value_u64(object, "level_ns"), text));
	if (is_slow)
		markup_put(file, " instead of %s",
			   duration_format(value_u64(object, "before_ns"), text));
	else
		fputs(" again", file);
	fprintf(file, "; %" PRIu64 " of %" PRIu64 " units were late\n", value_u64(object, "late"),
		value_u64(object, "units"));
}

static void put_starved(FILE *file, const json_t *object)
{
	const json_t *users = json_object_get(object, "cpu"), *user;
	size_t i;

	markup_cell(file, value_is_true(object, "starved") ? "starved" : "no longer starved");
	fprintf(file,
		"<td>-<td class=long>%" PRIu64 " of %" PRIu64 " units waited for a CPU too long",
		value_u64(object, "starved_units"), value_u64(object, "units"));
	json_array_foreach(users, i, user) {
		if (i == 3)
			break;
		markup_put(file, "; %s", value_text(user, "comm"));
		fprintf(file, "[%" PRIu32 "] used %.0f %% of one", value_u32(user, "pid"),
			100 * value_real(user, "share"));
	}
	fputc('\n', file);
}

static void put_replaced(FILE *file, const json_t *object)
{
	markup_cell(file, "file replaced");
	markup_cell(file, text_basename(value_text(object, "exe")));
	markup_put(file, "<td class=long>%s\n", value_text(object, "text"));
}

static void put_note(FILE *file, const struct page_note *note)
{
	json_t *object = value_parse(note->text, note->len);
	char time[PAGE_TIME_MAX];

	fputs("<tr>", file);
	markup_cell(file, page_time_format(note->time_ns, false, time));
	if (note->kind == NOTE_LEVEL)
		put_level(file, object);
	else if (note->kind == NOTE_STARVED)
		put_starved(file, object);
	else
		put_replaced(file, object);
	json_decref(object);
}

void changes_put(FILE *file, const struct page *page)
{
	static const char *const columns[] = { "time", "what", "program", "how", NULL };
	uint32_t nr = 0, nr_shown = 0;
	long begin = ftell(file);

	for (uint32_t i = 0; i < page->nr_notes; i++) {
		enum note_kind kind = page->notes[i].kind;

		if (kind != NOTE_LEVEL && kind != NOTE_STARVED && kind != NOTE_REPLACED)
			continue;
		if (!nr) {
			fputs("<section aria-labelledby=whole><h2 id=whole>As a whole</h2>\n",
			      file);
			markup_table(file,
				     "Types that became slower, starvation, and replaced files",
				     columns);
		}
		nr++;
		if (nr_shown == MAX_ROWS || ftell(file) - begin > MAX_BYTES)
			continue;
		put_note(file, &page->notes[i]);
		nr_shown++;
	}
	if (!nr)
		return;
	markup_table_end(file);
	if (nr > nr_shown)
		fprintf(file, "<p>%" PRIu32 " more are not shown.</p>\n", nr - nr_shown);
	fputs("</section>\n", file);
}
