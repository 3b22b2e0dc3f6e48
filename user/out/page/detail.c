// SPDX-License-Identifier: GPL-2.0
/* One incident in full: what, its time, why, where, by whom. */

#include <inttypes.h>
#include <string.h>

#include "base/duration.h"
#include "out/page/account-bar.h"
#include "out/page/drawing.h"
#include "out/page/markup.h"
#include "out/page/sections.h"
#include "out/read/json-value.h"
#include "out/text.h"

enum {
	MAX_FUNCTIONS = 6,
	MAX_CONTEXTS = 8,
	MAX_PATH = 40,
};

static void put_term(FILE *file, const char *term)
{
	fprintf(file, "<dt>%s<dd>", term);
}

static void put_title(FILE *file, const struct shown *shown, const struct page_group *group,
		      uint32_t rank)
{
	uint64_t nr = group->nr + group->nr_folded;
	char text[TEXT_MAX], duration[DURATION_TEXT_MAX];

	fprintf(file, "<summary><h3><span class=rank>%" PRIu32 ".</span> ", rank + 1);
	markup_put(file, "%s", duration_format(shown->incident->elapsed_ns, duration));
	markup_put(file, " %s: ", incident_kind_name(group->kind));
	fputs("<code>", file);
	markup_text_cut(file, shown->place, 80);
	fputs("</code></h3>", file);
	if (nr > 1)
		markup_put(file, " <span class=count>%s times", text_count(nr, text));
	/* Those that were folded may have taken longer. */
	if (nr > 1 && group->max_ns > shown->incident->elapsed_ns)
		markup_put(file, ", up to %s", duration_format(group->max_ns, duration));
	fputs(nr > 1 ? "</span></summary>\n" : "</summary>\n", file);
}

static void put_whose(FILE *file, const struct incident *incident, const json_t *object)
{
	char time[PAGE_TIME_MAX];
	const char *client = value_text(object, "client");

	put_term(file, "which");
	if (incident_is_request(incident->kind))
		markup_put(file, "request of %s, read by ", client);
	else
		fprintf(file, "unit %" PRIu64 " of ", value_u64(object, "unit"));
	markup_text(file, value_text(object, "comm") ?: text_basename(value_text(object, "exe")));
	fprintf(file, "[%" PRIu32 "/%" PRIu32 "]", value_u32(object, "pid"),
		value_u32(object, "tid"));
	markup_put(file, ", begun %s", page_time_format(incident->begin_ns, true, time));
	markup_put(file, "%s", page_time_there(incident->begin_ns, time));
	if (!incident->has_ended)
		fputs(", not over when it was reported last", file);
	if (incident->factor > 0)
		fprintf(file, "; <b>%.*f times</b> its limit", incident->factor < 10,
			incident->factor);
	fputc('\n', file);
}

/* "own", as people call it. */
static const char *part_text(const char *part)
{
	static const struct {
		const char *name, *text;
	} parts[] = {
		{ "all", "all of its time" }, { "own", "its time without waiting for a CPU" },
		{ "cpu", "what it computes" }, { "blocked", "what it is blocked" },
		{ "block_io", "what it waits for a disk" }, { "stopped", "all of its time" },
		{ "working", "what it takes in units" }, { "peers", "what it waits for others" },
		{ "held", "what it is held up" },
	};

	for (size_t i = 0; part && i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!strcmp(parts[i].name, part))
			return parts[i].text;
	return "its time";
}

static void put_limit(FILE *file, const json_t *object)
{
	char text[DURATION_TEXT_MAX];

	if (!value_u64(object, "threshold_ns"))
		return;
	put_term(file, "limit");
	markup_put(file, "%s", duration_format(value_u64(object, "threshold_ns"), text));
	markup_put(file, " for %s\n", part_text(value_text(object, "part")));
}

static void put_type(FILE *file, const json_t *object)
{
	char text[512];

	if (!value_type(object, text, sizeof(text))[0])
		return;
	put_term(file, "type");
	markup_text(file, text);
	if (value_is_number(object, "confidence"))
		fprintf(file, ", %.1f %% sure", 100 * value_real(object, "confidence"));
	if (value_is_true(object, "novel"))
		fputs("; it fits no type well", file);
	if (value_is_true(object, "degraded"))
		fputs("; guards were off", file);
	fputc('\n', file);
}

static void put_normal(FILE *file, const json_t *object)
{
	uint64_t usual_ns = value_u64(object, "usual_ns") ?:
			    value_u64(json_object_get(object, "reason"), "usual_ns");
	char text[DURATION_TEXT_MAX];

	if (!usual_ns)
		return;
	put_term(file, "normally");
	markup_put(file, "%s\n", duration_format(usual_ns, text));
}

static void put_why(FILE *file, const json_t *object)
{
	const char *reason = value_text(json_object_get(object, "reason"), "text");
	const char *cause = value_text(object, "cause");
	const json_t *stop = json_object_get(object, "stop");
	char text[TEXT_MAX];

	if (reason || cause) {
		put_term(file, "why");
		markup_text(file, reason ?: cause);
		fputc('\n', file);
	}
	if (value_text(stop, "cause")) {
		put_term(file, "stopped");
		snprintf(text, sizeof(text), " %" PRIu64, value_u64(stop, "by"));
		markup_put(file, "by a %s", value_text(stop, "cause"));
		markup_put(file, "%s\n", value_u64(stop, "by") ? text : "");
	}
}

/* What the holder was in, innermost first. */
static void put_holder_stack(FILE *file, const struct read_stacks *stacks, uint32_t tid)
{
	const struct read_stack *last = NULL;
	char text[512];

	for (uint32_t i = 0; i < stacks->nr; i++)
		if (stacks->of[i].tid == tid && stacks->of[i].nr_frames)
			last = &stacks->of[i];
	if (!last)
		return;
	fputs(", which is in <code>", file);
	for (uint32_t i = 0; i < last->nr_frames && i < MAX_FUNCTIONS; i++) {
		const struct hotpath_place place = hotpath_place(&last->frames[i]);

		markup_text_cut(file, markup_place(place.module, place.function, place.offset, text,
						   sizeof(text)), 60);
		fputs(i + 1 < last->nr_frames ? " &lt; " : "", file);
	}
	fputs(last->nr_frames > MAX_FUNCTIONS ? "\u2026</code>" : "</code>", file);
}

/* At its end nobody may hold it any more: the last line that names who did. */
static const json_t *find_lock(const struct shown *shown)
{
	const json_t *ret = NULL;

	for (uint32_t i = 0; i < shown->nr_lines; i++) {
		const json_t *lock = json_object_get(shown->lines[i], "lock");
		const json_t *holder = json_object_get(lock, "holder");

		if (value_text(holder, "comm"))
			return lock;
		if (json_is_object(lock) &&
		    (!ret ||
		     (json_is_object(holder) && !json_is_object(json_object_get(ret, "holder")))))
			ret = lock;
	}
	return ret;
}

static void put_lock(FILE *file, const struct shown *shown)
{
	const json_t *lock = find_lock(shown);
	const json_t *holder = json_object_get(lock, "holder");
	uint32_t tid = value_u32(holder, "tid");

	if (!json_is_object(lock))
		return;
	put_term(file, "lock");
	fprintf(file, "0x%" PRIx64, value_u64(lock, "address"));
	if (tid) {
		fprintf(file, ", held by thread %" PRIu32, tid);
		if (value_text(holder, "comm"))
			markup_put(file, " (%s)", value_text(holder, "comm"));
		put_holder_stack(file, &shown->stacks, tid);
	}
	fputc('\n', file);
}

/* Who has a request, each waiting for the next one. */
static void put_chain(FILE *file, const json_t *object)
{
	const json_t *there = json_object_get(object, "there");

	if (!json_is_object(there))
		return;
	put_term(file, "there");
	fputs("<ol class=chain>", file);
	for (int i = 0; json_is_object(there) && i < 16;
	     i++, there = json_object_get(there, "there")) {
		markup_put(file, "<li>%s", value_text(there, "comm"));
		fprintf(file, "[%" PRIu32 "/%" PRIu32 "]", value_u32(there, "pid"),
			value_u32(there, "tid"));
		markup_put(file, " has it, %s", value_text(there, "cause"));
		if (value_text(there, "function"))
			markup_put(file, ", by <code>%s</code>", value_text(there, "function"));
	}
	fputs("</ol>\n", file);
}

static void put_place(FILE *file, const json_t *object)
{
	static const struct {
		const char *key, *term;
	} places[] = {
		{ "exe", "program" }, { "build_id", "build id" }, { "cgroup", "cgroup" },
		{ "peer", "asked" },
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const char *text = value_text(object, places[i].key);

		if (!text || !strcmp(text, "/"))
			continue;
		put_term(file, places[i].term);
		markup_put(file, "<code>%s</code>\n", text);
	}
}

static void put_like(FILE *file, const struct page_group *group)
{
	char text[DURATION_TEXT_MAX], time[PAGE_TIME_MAX], count[TEXT_MAX];

	if (group->nr + group->nr_folded < 2)
		return;
	put_term(file, "alike");
	markup_put(file, "%s", text_count(group->nr + group->nr_folded, count));
	markup_put(file, ", of %s", duration_format(group->min_ns, text));
	markup_put(file, " to %s", duration_format(group->max_ns, text));
	if (group->begin_ns) {
		markup_put(file, ", from %s", page_time_format(group->begin_ns, false, time));
		markup_put(file, " to %s", page_time_format(group->last_ns, false, time));
	}
	if (group->nr_folded)
		markup_put(file, "; %s of them were reported by their number only",
			   text_count(group->nr_folded, count));
	fputc('\n', file);
}

static void put_request_bar(FILE *file, const char *title, const json_t *account)
{
	const struct bar_part parts[] = {
		{ "queued", "queue", value_u64(account, "queued") },
		{ "in units", "cpu", value_u64(account, "units") },
		{ "handed over", "io", value_u64(account, "handed") },
		{ "waiting for others", "blocked", value_u64(account, "peers") },
		{ "waiting for a timer", "stopped", value_u64(account, "timer") },
		{ "between units", "other", value_u64(account, "between") },
	};

	if (json_is_object(account))
		drawing_bar(file, title, parts, sizeof(parts) / sizeof(parts[0]),
			    value_u64(account, "elapsed"));
}

static void put_bars(FILE *file, const struct incident *incident, const json_t *object)
{
	const json_t *account = json_object_get(object, "time_ns");

	if (incident_is_request(incident->kind)) {
		put_request_bar(file, "Its time", account);
		put_request_bar(file, "On average", json_object_get(object, "average_ns"));
	} else if (json_is_object(account)) {
		account_bar_put(file, "Its time", account, value_u64(object, "elapsed_ns"));
	}
}

static bool has_normal(const json_t *parts)
{
	const json_t *part;
	size_t i;

	json_array_foreach(parts, i, part)
		if (value_is_number(part, "usual_ns"))
			return true;
	return false;
}

static void put_reason(FILE *file, const json_t *object)
{
	static const char *const columns[] = {
		"part of its time", "#here", "#normally", "#times", "in", NULL,
	};
	const json_t *parts = json_object_get(json_object_get(object, "reason"), "parts"), *part;
	char text[TEXT_MAX];
	size_t i;

	/* Without a profile nothing is known to be ordinary; the rest is in the reason's text. */
	if (!json_array_size(parts) || !has_normal(parts))
		return;
	markup_table(file, "What is out of the ordinary for its type", columns);
	json_array_foreach(parts, i, part) {
		if (i == MAX_FUNCTIONS)
			break;
		fputs("<tr>", file);
		markup_cell(file, value_text(part, "part"));
		markup_cell_ns(file, value_u64(part, "ns"));
		markup_put(file, "<td class=n>%s", value_is_number(part, "usual_ns") ?
			   duration_format(value_u64(part, "usual_ns"), text) : "-");
		snprintf(text, sizeof(text), "%.3g", value_real(part, "factor"));
		markup_put(file, "<td class=n>%s", value_is_number(part, "factor") ? text : "-");
		markup_cell(file, value_text(part, "syscall") ?: "");
	}
	markup_table_end(file);
}

static void put_contexts(FILE *file, const json_t *object)
{
	static const char *const columns[] = { "function", "#calls", "#normally", NULL };
	const json_t *contexts = json_object_get(object, "contexts"), *one;
	char text[512], usual[TEXT_MAX];
	uint32_t nr = 0;
	size_t i;

	json_array_foreach(contexts, i, one) {
		if (!value_is_true(one, "unusual") || nr == MAX_CONTEXTS)
			continue;
		if (!nr++)
			markup_table(file,
				     "It ran, and units of its type do not, or far less often",
				     columns);
		fputs("<tr><td><code>", file);
		markup_text(file,
			    markup_place(value_text(one, "module"), value_text(one, "function"),
					 value_u64(one, "offset"), text, sizeof(text)));
		fputs("</code>", file);
		markup_cell_count(file, value_u64(one, "hits"));
		snprintf(usual, sizeof(usual), "%.3g", value_real(one, "usual"));
		markup_put(file, "<td class=n>%s", value_is_number(one, "usual") ? usual : "-");
	}
	if (nr)
		markup_table_end(file);
}

/* The outermost function first. */
static void put_path(FILE *file, const struct hotpath *hotpath)
{
	uint64_t last_ns = 0;
	char text[512];

	if (!hotpath->nr_steps)
		return;
	fputs("<h4>Hot path</h4>\n<ol class=path>", file);
	for (uint32_t i = 0; i < hotpath->nr_steps && i < MAX_PATH; i++) {
		const struct hotpath_step *step = &hotpath->steps[i];

		fputs(hotpath_is_outer(&step->place) ? "<li class=outer><code>" : "<li><code>",
		      file);
		markup_text_cut(file, markup_place(step->place.module, step->place.function,
						   step->place.offset, text, sizeof(text)), 80);
		fputs("</code>", file);
		if (step->ns != last_ns && hotpath->ns)
			fprintf(file, " %.0f&nbsp;%%", 100 * hotpath_share(hotpath, step->ns));
		last_ns = step->ns;
	}
	fputs(hotpath->nr_steps > MAX_PATH ? "<li>\u2026</ol>\n" : "</ol>\n", file);
}

static void put_functions(FILE *file, const struct hotpath *hotpath)
{
	static const char *const columns[] = {
		"function", "file", "#in it", "#in the kernel", "#with callees", NULL,
	};
	char text[512];

	/* If it is one only, the path has shown it. */
	if (hotpath->nr_functions < 2 || !hotpath->functions[1].own_ns)
		return;
	markup_table(file,
		     "Functions with most of its time; what the C library does is its caller's",
		     columns);
	for (uint32_t i = 0; i < hotpath->nr_functions && i < MAX_FUNCTIONS; i++) {
		const struct hotpath_function *function = &hotpath->functions[i];

		if (i && !function->own_ns)
			break;
		fputs("<tr><td><code>", file);
		markup_text_cut(file, markup_place(function->place.module, function->place.function,
						   function->place.offset, text, sizeof(text)), 80);
		fputs("</code>", file);
		markup_cell(file, text_basename(function->place.module));
		fprintf(file,
			"<td class=n>%.0f&nbsp;%%<td class=n>%.0f&nbsp;%%"
			"<td class=n>%.0f&nbsp;%%\n",
			100 * hotpath_share(hotpath, function->own_ns),
			100 * hotpath_share(hotpath, function->blocked_ns),
			100 * hotpath_share(hotpath, function->total_ns));
	}
	markup_table_end(file);
}

static int put_flame(FILE *file, const struct read_stacks *stacks, const json_t *object,
		     uint64_t elapsed_ns)
{
	uint32_t nr = 0;
	int ret;

	for (uint32_t i = 0; i < stacks->nr; i++)
		nr += !stacks->of[i].tid && stacks->of[i].nr_frames;
	if (!nr)
		return 0;
	fputs("<figure>", file);
	ret = drawing_flame(file, stacks, elapsed_ns, value_text(object, "exe"));
	fprintf(file,
		"<figcaption>Flame graph of %" PRIu32 " stack%s, the outermost function on top. "
		"A stack stands for the time until the next one was taken. "
		"<span class=box><i class=o></i>program</span> "
		"<span class=box><i class=m></i>library</span> "
		"<span class=box><i class=l></i>C library</span> "
		"<span class=box><i class=w></i>system call</span></figcaption></figure>\n",
		nr, text_plural(nr));
	return ret;
}

static void put_facts(FILE *file, const struct shown *shown, const struct page_group *group)
{
	fputs("<dl class=facts>\n", file);
	put_whose(file, shown->incident, shown->object);
	put_limit(file, shown->object);
	put_type(file, shown->object);
	put_normal(file, shown->object);
	put_why(file, shown->object);
	put_lock(file, shown);
	put_chain(file, shown->object);
	put_like(file, group);
	put_place(file, shown->object);
	fputs("</dl>\n", file);
}

int detail_put(FILE *file, const struct shown *shown, const struct page_group *group, uint32_t rank)
{
	put_title(file, shown, group, rank);
	put_facts(file, shown, group);
	put_bars(file, shown->incident, shown->object);
	put_reason(file, shown->object);
	put_contexts(file, shown->object);
	put_path(file, &shown->hotpath);
	put_functions(file, &shown->hotpath);
	return put_flame(file, &shown->stacks, shown->object, shown->incident->elapsed_ns);
}
