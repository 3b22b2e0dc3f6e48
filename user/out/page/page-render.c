// SPDX-License-Identifier: GPL-2.0
/* The order of the page: in short, when, what, in detail, types. */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/duration.h"
#include "out/page/live-types.h"
#include "out/page/markup.h"
#include "out/page/sections.h"
#include "out/read/json-value.h"
#include "out/text.h"

enum {
	NR_ROWS = 20, /* of the table of groups that are open */
	MAX_PROGRAMS = 5, /* that the head names */
	NR_OPEN = 3, /* details that are open at first */
	/* How much of the page the head and the foot may need, and the rows of the table. */
	MAX_HEAD_BYTES = 20 * 1024,
	MAX_ROWS_BYTES = 64 * 1024,
};

char *page_time_format(uint64_t wall_ns, bool has_day, char ret[PAGE_TIME_MAX])
{
	time_t seconds = (time_t)(wall_ns / NSEC_PER_SEC);
	size_t len = 0;
	struct tm tm;

	if (wall_ns && gmtime_r(&seconds, &tm))
		len = strftime(ret, PAGE_TIME_MAX, has_day ? "%F %T" : "%T", &tm);
	if (len)
		snprintf(ret + len, PAGE_TIME_MAX - len, ".%03u",
			 (unsigned int)(wall_ns % NSEC_PER_SEC / NSEC_PER_MSEC));
	else
		strcpy(ret, "-");
	return ret;
}

char *page_time_there(uint64_t wall_ns, char ret[PAGE_TIME_MAX])
{
	time_t seconds = (time_t)(wall_ns / NSEC_PER_SEC);
	struct tm tm;

	*ret = '\0';
	if (wall_ns && localtime_r(&seconds, &tm) && tm.tm_gmtoff &&
	    !strftime(ret, PAGE_TIME_MAX, " (%H:%M:%S %Z)", &tm))
		*ret = '\0';
	return ret;
}

/* Names of different programs, those with most time first. */
struct program_names {
	char *names[MAX_PROGRAMS];
	uint32_t nr;
	bool has_more;
};

/* What the page is made of; the head and the table say what the other parts have in them. */
struct parts {
	char *middle; /* sections between the summary and the table */
	char *rows;
	char *more_rows; /* beyond NR_ROWS, which are folded */
	char *details;
	char *types;
	size_t middle_len, rows_len, more_rows_len, details_len, types_len;
	uint32_t nr_rows, nr_details;
	bool is_full; /* there is no room for more details */
	struct program_names programs;
	char most[SHOWN_MAX_PLACE]; /* where the first group's time went */
};

static void programs_add(struct program_names *programs, const char *exe)
{
	const char *name = text_basename(exe);

	if (!exe)
		return;
	for (uint32_t i = 0; i < programs->nr; i++)
		if (!strcmp(programs->names[i], name))
			return;
	programs->has_more |= programs->nr == MAX_PROGRAMS;
	if (programs->nr == MAX_PROGRAMS)
		return;
	programs->names[programs->nr] = strdup(name);
	programs->nr += programs->names[programs->nr] != NULL;
}

/* Where nothing was late. */
static void add_noted_programs(struct program_names *programs, const struct page *page)
{
	for (uint32_t i = 0; i < page->nr_notes; i++) {
		json_t *object;

		if (page->notes[i].kind == NOTE_REPEATED || page->notes[i].kind == NOTE_STARVED)
			continue;
		object = value_parse(page->notes[i].text, page->notes[i].len);
		programs_add(programs, value_text(object, "exe"));
		json_decref(object);
	}
	for (uint32_t i = 0; page->live && i < page->live->nr; i++)
		programs_add(programs, page->live->of[i].exe);
}

static void put_programs(FILE *file, const struct program_names *programs)
{
	for (uint32_t i = 0; i < programs->nr; i++) {
		fputs(i ? ", " : "", file);
		markup_text_cut(file, programs->names[i], 40);
	}
	fputs(programs->has_more ? " and others" : "", file);
	if (!programs->nr)
		fputs("no program", file);
}

static void put_head(FILE *file, const struct page *page, const struct program_names *programs)
{
	char time[PAGE_TIME_MAX];

	/* Whatever a text might do in spite of all, nothing is loaded and no script runs. */
	fputs("<!DOCTYPE html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
	      "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; "
	      "style-src 'unsafe-inline'\">\n"
	      "<meta name=viewport content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=color-scheme content=\"light dark\">\n<title>", file);
	put_programs(file, programs);
	fputs(": what was slow</title>\n", file);
	style_put(file);
	fputs("</head>\n<body>\n<header>\n<h1>", file);
	put_programs(file, programs);
	fputs(": what was slow</h1>\n<p>", file);
	if (page->begin_ns) {
		markup_put(file, "From %s", page_time_format(page->begin_ns, true, time));
		markup_put(file, " to %s UTC", page_time_format(page->end_ns, true, time));
		markup_put(file, " (%s). ",
			   duration_format(page->end_ns - page->begin_ns, time));
	}
	fputs("All times are UTC", file);
	if (*page_time_there(page->begin_ns, time))
		markup_put(file, "; those in brackets, as%s for the first one, are local where this "
			   "page was made", time);
	fputs(".</p>\n</header>\n<main>\n", file);
}

static void put_figure(FILE *file, uint64_t nr, const char *what, const char *what_more)
{
	char text[TEXT_MAX];

	markup_put(file, nr ? "<div><dt>%s " : "<div class=none><dt>%s ",
		   nr == 1 ? what : what_more);
	markup_put(file, "<dd>%s</div>\n", text_count(nr, text));
}

static uint64_t count_begun(const struct page *page, enum note_kind kind, const char *key)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < page->nr_notes; i++) {
		json_t *object;

		if (page->notes[i].kind != kind)
			continue;
		object = value_parse(page->notes[i].text, page->notes[i].len);
		nr += value_is_true(object, key);
		json_decref(object);
	}
	return nr;
}

/* What is not in the figures. */
static void put_missing(FILE *file, const struct page *page, const struct page_groups *groups)
{
	const struct {
		uint64_t nr;
		const char *text;
	} missing[] = {
		{ page->nr_lost, "%s alerts were lost before they could be read." },
		{ page->nr_dropped, "%s older alerts are not here any more: they made room in the spool." },
		{ page->nr_unsaved, "%s alerts could not be written to the spool." },
		{ page->nr_broken, "%s lines could not be read: they are no JSON of this program, "
				   "or cut short." },
		{ page->nr_left_out + page->incidents.nr_left_out,
		  "%s lines were left out: there were too many." },
		{ groups->nr_folded, "%s units were folded into alerts that are not in the file." },
	};
	char text[TEXT_MAX];

	for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++)
		if (missing[i].nr) {
			fputs("<p class=warn>", file);
			markup_put(file, missing[i].text, text_count(missing[i].nr, text));
			fputs("</p>\n", file);
		}
}

/* One sentence for who reads no further. */
static void put_most(FILE *file, const struct page_groups *groups, const char *place)
{
	const struct page_group *most = groups->of;
	uint64_t nr = groups->nr ? most->nr + most->nr_folded : 0;
	char text[TEXT_MAX], duration[DURATION_TEXT_MAX];

	if (!nr)
		return;
	markup_put(file, "<p>Most time went to <a href=#g1>%s ", text_count(nr, text));
	fprintf(file, "%s%s</a>: <code>", incident_kind_name(most->kind), text_plural(nr));
	markup_text_cut(file, place, 100);
	markup_put(file, nr > 1 ? "</code>, %s at most and " : "</code>, %s",
		   duration_format(most->max_ns, duration));
	if (nr > 1)
		markup_put(file, "%s in all", duration_format(most->sum_ns, duration));
	fputs(".</p>\n", file);
}

static void put_summary(FILE *file, const struct page *page, const struct page_groups *groups,
			const char *most)
{
	uint64_t slow = page_groups_count(groups, INCIDENT_SLOW) +
			page_groups_count(groups, INCIDENT_SLOW_REQUEST);

	fputs("<section aria-labelledby=short><h2 id=short>In short</h2>\n<dl class=figures>\n",
	      file);
	put_figure(file, page_groups_count(groups, INCIDENT_LATE), "late unit", "late units");
	put_figure(file, page_groups_count(groups, INCIDENT_REQUEST), "late request",
		   "late requests");
	put_figure(file, page_groups_count(groups, INCIDENT_NOVEL), "unit that fits no type",
		   "units that fit no type");
	put_figure(file, page_groups_count(groups, INCIDENT_STOPPED), "stopped unit",
		   "stopped units");
	put_figure(file, count_begun(page, NOTE_LEVEL, "slow"), "type slower as a whole",
		   "types slower as a whole");
	put_figure(file, count_begun(page, NOTE_STARVED, "starved"), "starvation", "starvations");
	if (slow)
		put_figure(file, slow, "slowest, not late", "slowest, not late");
	put_figure(file, page->nr_lost, "lost", "lost");
	fputs("</dl>\n", file);
	put_most(file, groups, most);
	put_missing(file, page, groups);
	fputs("<p class=hint>A <em>unit</em> is what a thread does from one wait of its event loop "
	      "to the next; it is late if it exceeds the limit of its kind. A <em>request</em> is "
	      "what a client waits for, in whichever units.</p>\n</section>\n", file);
}

static void put_row(FILE *file, const struct shown *shown, const struct page_group *group,
		    uint32_t rank, bool has_detail)
{
	const char *program = value_text(shown->object, "exe") ?: value_text(shown->object, "comm");
	char text[512];

	if (has_detail)
		fprintf(file, "<tr><td class=n><a href=#g%" PRIu32 ">%" PRIu32 "</a>", rank + 1,
			rank + 1);
	else
		fprintf(file, "<tr id=g%" PRIu32 "><td class=n>%" PRIu32, rank + 1, rank + 1);
	fputs("<td class=long><code>", file);
	markup_text_cut(file, shown->place, 100);
	markup_put(file, "</code><br><small>%s", incident_kind_name(group->kind));
	if (program) {
		fputs(" of ", file);
		markup_text_cut(file, text_basename(program), 40);
	}
	if (value_type(shown->object, text, sizeof(text))[0]) {
		fputs(", ", file);
		markup_text_cut(file, text, 80);
	}
	fputs("</small>", file);
	markup_cell_ns(file, group->max_ns);
	markup_cell_count(file, group->nr + group->nr_folded);
	markup_cell_ns(file, group->sum_ns);
	markup_cell(file, page_time_format(group->begin_ns, false, text));
	fputc('\n', file);
}

static void put_rows(FILE *file, const char *rows, size_t len, const char *caption)
{
	static const char *const columns[] = {
		"#", "where the time went", "#slowest", "#how many", "#in all", "first", NULL,
	};

	markup_table(file, caption, columns);
	fwrite(rows, 1, len, file);
	markup_table_end(file);
}

static void put_table(FILE *file, const struct parts *parts, const struct page_groups *groups)
{
	if (!groups->nr) {
		fputs("<p>Nothing was late.</p>\n", file);
		return;
	}
	put_rows(file, parts->rows, parts->rows_len,
		 "What was late, alike ones as one, those with most time in all first");
	if (parts->nr_rows > NR_ROWS) {
		fprintf(file, "<details><summary>%" PRIu32 " more kinds</summary>\n",
			parts->nr_rows - NR_ROWS);
		put_rows(file, parts->more_rows, parts->more_rows_len, "With less time in all");
		fputs("</details>\n", file);
	}
	if (groups->nr > parts->nr_rows)
		fprintf(file,
			"<p>%" PRIu32 " more kinds, with less time each, are not shown.</p>\n",
			groups->nr - parts->nr_rows);
}

static int make_middle(struct parts *parts, const struct page *page,
		       const struct page_groups *groups)
{
	FILE *file = open_memstream(&parts->middle, &parts->middle_len);
	int ret;

	if (!file)
		return -ENOMEM;
	ret = timeline_put(file, page, groups);
	changes_put(file, page);
	measured_put(file, page);
	return fclose(file) ? -ENOMEM : ret;
}

static int make_types(struct parts *parts, const struct page *page)
{
	FILE *file = open_memstream(&parts->types, &parts->types_len);

	if (!file)
		return -ENOMEM;
	if (page->view)
		types_put(file, page->view);
	if (page->live)
		live_types_put(file, page->live);
	return fclose(file) ? -ENOMEM : 0;
}

/* If the page has room for it. */
static int put_detail(FILE *file, struct parts *parts, const struct shown *shown,
		      const struct page_group *group, uint32_t rank)
{
	long room = PAGE_MAX_BYTES - MAX_HEAD_BYTES - MAX_ROWS_BYTES -
		    (long)(parts->middle_len + parts->types_len);
	long begin = ftell(file);
	int ret;

	fprintf(file, "<details id=g%" PRIu32 "%s>\n", rank + 1, rank < NR_OPEN ? " open" : "");
	ret = detail_put(file, shown, group, rank);
	fputs("</details>\n", file);
	parts->is_full = ftell(file) > room;
	if (!parts->is_full)
		parts->nr_details++;
	else if (fseek(file, begin, SEEK_SET))
		ret = -ENOMEM;
	return ret;
}

static int put_group(FILE *rows, FILE *details, struct parts *parts, const struct page *page,
		     const struct page_groups *groups, uint32_t rank)
{
	const struct page_group *group = &groups->of[rank];
	struct shown shown;
	int ret = shown_init(&shown, &page->incidents, group->shown);

	parts->is_full |= !shown.object;
	if (!ret && !rank)
		strcpy(parts->most, shown.place);
	if (!ret && !parts->is_full)
		ret = put_detail(details, parts, &shown, group, rank);
	if (!ret) {
		programs_add(&parts->programs, value_text(shown.object, "exe"));
		put_row(rows, &shown, group, rank, parts->nr_details > rank);
		parts->nr_rows++;
	}
	shown_deinit(&shown);
	return ret;
}

static int make_groups(struct parts *parts, const struct page *page,
		       const struct page_groups *groups)
{
	FILE *rows = open_memstream(&parts->rows, &parts->rows_len);
	FILE *more_rows = open_memstream(&parts->more_rows, &parts->more_rows_len);
	FILE *details = open_memstream(&parts->details, &parts->details_len);
	int ret = rows && more_rows && details ? 0 : -ENOMEM;

	for (uint32_t i = 0; !ret && i < groups->nr && i < PAGE_MAX_ROWS; i++) {
		if (ftell(rows) + ftell(more_rows) > MAX_ROWS_BYTES - 2 * SHOWN_MAX_PLACE * 6)
			break;
		ret = put_group(i < NR_ROWS ? rows : more_rows, details, parts, page, groups, i);
	}
	if (rows && fclose(rows))
		ret = -ENOMEM;
	if (more_rows && fclose(more_rows))
		ret = -ENOMEM;
	if (details && fclose(details))
		ret = -ENOMEM;
	return ret;
}

static void put_all(FILE *file, const struct parts *parts, const struct page *page,
		    const struct page_groups *groups)
{
	put_head(file, page, &parts->programs);
	put_summary(file, page, groups, parts->most);
	fwrite(parts->middle, 1, parts->middle_len, file);
	fputs("<section aria-labelledby=what><h2 id=what>What was late</h2>\n", file);
	put_table(file, parts, groups);
	fputs("</section>\n", file);
	if (parts->nr_details) {
		fputs("<section aria-labelledby=detail><h2 id=detail>In detail</h2>\n"
		      "<p class=hint>Of each kind the slowest.", file);
		if (parts->nr_details < groups->nr)
			fprintf(file, " The first %" PRIu32 " of %" PRIu32 " are here.",
				parts->nr_details, groups->nr);
		fputs("</p>\n", file);
		fwrite(parts->details, 1, parts->details_len, file);
		fputs("</section>\n", file);
	}
	fwrite(parts->types, 1, parts->types_len, file);
	fprintf(file, "</main>\n<footer>Made by pg-collect from %s%" PRIu64 " line%s of JSON."
		"</footer>\n</body>\n</html>\n", page->live ? "the module's counters and " : "",
		page->nr_lines, text_plural(page->nr_lines));
}

static void parts_deinit(struct parts *parts)
{
	for (uint32_t i = 0; i < parts->programs.nr; i++)
		free(parts->programs.names[i]);
	free(parts->middle);
	free(parts->rows);
	free(parts->more_rows);
	free(parts->details);
	free(parts->types);
}

int page_render(const struct page *page, char **ret, size_t *ret_len)
{
	struct page_groups groups;
	struct parts parts = { 0 };
	int error = page_groups_init(&groups, page);
	FILE *file;

	*ret = NULL;
	if (!error)
		error = make_middle(&parts, page, &groups);
	if (!error)
		error = make_types(&parts, page);
	if (!error)
		error = make_groups(&parts, page, &groups);
	if (!error) {
		add_noted_programs(&parts.programs, page);
		file = open_memstream(ret, ret_len);
		if (file)
			put_all(file, &parts, page, &groups);
		error = !file || fclose(file) ? -ENOMEM : 0;
	}
	if (error) {
		free(*ret);
		*ret = NULL;
	}
	parts_deinit(&parts);
	page_groups_deinit(&groups);
	return error;
}
