// SPDX-License-Identifier: GPL-2.0
/* The page for a colleague: what is alike, how large it gets, and what strangers write. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/duration.h"
#include "out/page/drawing.h"
#include "out/page/live-types.h"
#include "out/page/page-model.h"
#include "out/read/written-line.h"
#include "tap.h"
#include "train/samples/times.h"

enum {
	MANY = 1000,
	DEEP = 60 * 1000, /* of arrays in arrays */
};

static struct page *page;

static void begin(void)
{
	page_free(page);
	page = page_new();
	if (!page)
		abort();
}

static void add(const char *line)
{
	if (page_add_line(page, line, strlen(line)))
		abort();
}

__attribute__((format(printf, 1, 2)))
static void addf(const char *format, ...)
{
	char *line;
	va_list args;

	va_start(args, format);
	if (vasprintf(&line, format, args) < 0)
		abort();
	va_end(args);
	add(line);
	free(line);
}

/* The page, to be freed; ends with a NUL. */
static char *render(size_t *ret_len)
{
	char *text;

	if (page_render(page, &text, ret_len))
		abort();
	return text;
}

static bool has(const char *needle)
{
	size_t len;
	char *text = render(&len);
	bool ret = strstr(text, needle) != NULL;

	if (!ret)
		diag("no %s", needle);
	free(text);
	return ret;
}

static struct page_groups groups_of(void)
{
	struct page_groups groups;

	if (page_groups_init(&groups, page))
		abort();
	return groups;
}

/* A frame that JSON has as the @number-th function of the program. */
#define FRAME "{\"module\":\"/usr/bin/made\",\"build_id\":\"aa\",\"offset\":%d,\"function\":\"f%d\"," \
	"\"function_offset\":1}"

/* Stack by stack of @depth functions; the innermost one is function @leaf. */
static char *stacks(int nr, int depth, int leaf)
{
	size_t len;
	char *text;
	FILE *file = open_memstream(&text, &len);

	for (int i = 0; i < nr; i++) {
		fprintf(file, "%s{\"at_ns\":%d,\"into_ns\":%d,\"state\":\"running\",\"frames\":[", i ? "," : "",
			1000000 * (i + 1), 1000000 * (i + 1));
		for (int j = depth; j--;)
			fprintf(file, FRAME "%s", j == depth - 1 ? 100000 + 16 * leaf + 1 : 16 * j + 1,
				j == depth - 1 ? leaf : j, j ? "," : "");
		fputs("]}", file);
	}
	fclose(file);
	return text;
}

static void add_unit(const char *kind, int unit, int type, int leaf, uint64_t elapsed_ns, int depth)
{
	char *text = stacks(8, depth, leaf);

	addf("{\"kind\":\"%s\",\"seq\":%d,\"time\":\"2026-01-02T03:%02d:%02d.5Z\",\"pid\":7,\"tid\":7,"
	     "\"unit\":%d,\"comm\":\"made\",\"exe\":\"/usr/bin/made\",\"type\":%d,\"threshold_ns\":1000,"
	     "\"part\":\"own\",\"elapsed_ns\":%" PRIu64 ",\"time_ns\":{\"cpu\":1,\"runqueue\":0,"
	     "\"blocked\":0,\"stopped\":0},\"stacks\":[%s]}", kind, unit, unit / 60 % 60, unit % 60, unit,
	     type, elapsed_ns, text);
	free(text);
}

static void test_alike(void)
{
	struct page_groups groups;

	begin();
	for (int i = 1; i <= MANY; i++)
		add_unit("ended", i, 3, 1, (uint64_t)i * 1000000, 9);
	groups = groups_of();
	ok(groups.nr == 1 && groups.of[0].nr == MANY && groups.of[0].max_ns == MANY * 1000000ul,
	   "units of one type with the same hot path are one group");
	ok(page->incidents.of[groups.of[0].shown].elapsed_ns == MANY * 1000000ul,
	   "for which the slowest stands");
	page_groups_deinit(&groups);
	add_unit("ended", MANY + 1, 4, 1, 5, 9);
	add_unit("ended", MANY + 2, 3, 2, 5, 9);
	groups = groups_of();
	ok(groups.nr == 3 && page_groups_count(&groups, INCIDENT_LATE) == MANY + 2,
	   "another type, and another place, are other ones");
	page_groups_deinit(&groups);
}

static void test_lines_of_one(void)
{
	struct page_groups groups;

	begin();
	add_unit("late", 1, 3, 1, 2000000, 9);
	add_unit("late", 1, 3, 2, 4000000, 9);
	add_unit("ended", 1, 3, 2, 9000000, 9);
	groups = groups_of();
	ok(groups.nr == 1 && page->incidents.nr == 1 && groups.of[0].max_ns == 9000000 &&
	   page->incidents.of[0].has_ended, "all lines of a unit are one incident");
	page_groups_deinit(&groups);
	/* The clock's conversion differs a little from line to line. */
	for (int i = 0; i < 3; i++)
		addf("{\"kind\":\"request\",\"seq\":%d,\"time\":\"2026-01-02T03:04:06Z\",\"pid\":7,\"begin\":"
		     "\"2026-01-02T03:04:05.%09dZ\",\"client\":\"1.2.3.4:5\",\"state\":\"%s\",\"cause\":"
		     "\"queued\",\"exe\":\"/usr/bin/made\",\"time_ns\":{\"elapsed\":%d}}", 10 + i,
		     111999999 + 2 * i, i < 2 ? "lasts" : "answered", 1000 * (i + 1));
	groups = groups_of();
	ok(page->incidents.nr == 2 && page_groups_count(&groups, INCIDENT_REQUEST) == 1,
	   "and so are those of a request");
	page_groups_deinit(&groups);
	add("{\"kind\":\"repeated\",\"time\":\"2026-01-02T03:04:09Z\",\"seq\":1,\"count\":41,\"elapsed_ns\":"
	    "{\"min\":1000000,\"max\":3000000,\"running\":0}}");
	add("{\"kind\":\"repeated\",\"time\":\"2026-01-02T03:04:09Z\",\"seq\":77,\"count\":5}");
	groups = groups_of();
	ok(page_groups_count(&groups, INCIDENT_LATE) == 42 && groups.of[0].nr_folded == 41 &&
	   groups.of[0].sum_ns == 9000000 + 41 * 2000000ul && groups.nr_folded == 5,
	   "those folded are counted with the alert they were folded into");
	page_groups_deinit(&groups);
	ok(has("5 units were folded into alerts that are not in the file"), "or apart, if it is not there");
}

/* Each of a place of its own, with deep stacks and long names. */
static void test_size(void)
{
	struct page_groups groups;
	size_t len;
	char *text;

	begin();
	for (int i = 1; i <= MANY; i++)
		add_unit("ended", i, i, i, (uint64_t)(MANY - i + 1) * 1000000, 40);
	for (int i = 1; i <= MANY; i++)
		addf("{\"kind\":\"level\",\"slow\":true,\"time\":\"2026-01-02T03:04:05Z\",\"type\":%d,"
		     "\"type_name\":\"%0500d\"}", i, i);
	groups = groups_of();
	ok(groups.nr == MANY, "%d alerts of which no two are alike", MANY);
	page_groups_deinit(&groups);
	text = render(&len);
	ok(len < PAGE_MAX_BYTES, "make a page of %zu KiB, below %d", len / 1024, PAGE_MAX_BYTES / 1024);
	ok(strstr(text, "<details id=g10>") && strstr(text, "more kinds, with less time each"),
	   "with details of the first, and the number of those that are not shown");
	free(text);
}

/* As long as they may be, in all places that grow with the lines. */
static void test_bound(void)
{
	size_t len, kinds = 0;
	char *text, *name = malloc(2001);

	memset(name, '"', 2000);
	for (int i = 1; i < 2000; i += 2)
		name[i - 1] = '\\';
	name[2000] = '\0';
	begin();
	for (int i = 1; i <= 20 * MANY; i++)
		addf("{\"kind\":\"%s\",\"time\":\"2026-01-02T03:%02d:%02dZ\",\"unit\":%d,\"type\":%d,"
		     "\"begin\":\"2026-01-02T03:%02d:%02dZ\",\"client\":\"%d\",\"time_ns\":{\"elapsed\":"
		     "%d},\"elapsed_ns\":%d,\"part\":\"%s\"}", i % 3 ? i % 3 > 1 ? "ended" : "novel" :
		     "request", i / 60 % 60, i % 60, i, i, i / 60 % 60, i % 60, i, i * 40000, i * 40000,
		     i % 5 ? "own" : "stopped");
	for (int i = 1; i <= 400; i++) {
		char *frames = stacks(4, 60, i);

		addf("{\"kind\":\"ended\",\"time\":\"2026-01-02T03:04:05Z\",\"unit\":%d,\"type\":%d,"
		     "\"exe\":\"/%s\",\"comm\":\"%s\",\"type_name\":\"%s\",\"elapsed_ns\":9000000000000,"
		     "\"reason\":{\"text\":\"%s\"},\"stacks\":[%s]}", 100000 + i, i, name, name, name, name, frames);
		addf("{\"kind\":\"level\",\"slow\":true,\"type\":%d,\"type_name\":\"%s\",\"exe\":\"/%s\","
		     "\"time\":\"2026-01-02T03:04:05Z\"}", i, name, name);
		addf("{\"kind\":\"loop\",\"comm\":\"%s\",\"wait\":{\"syscall\":\"%s\",\"function\":\"%s\"}}",
		     name, name, name);
		free(frames);
	}
	text = render(&len);
	for (const char *at = text; (at = strstr(at, "<details id=")); at++)
		kinds++;
	ok(len < PAGE_MAX_BYTES, "%d lines and endless names make %zu KiB", 21 * MANY + 200, len / 1024);
	ok(kinds >= 3 && strstr(text, "</html>\n"), "a whole page with %zu details", kinds);
	free(text);
	free(name);
}

static void test_escape(void)
{
	static const char hostile[] = "<script>alert(1)</script>'\\\" onload=x &amp; \\u202e\\u001b[31m";
	size_t len;
	char *text;

	begin();
	addf("{\"kind\":\"ended\",\"time\":\"2026-01-02T03:04:05Z\",\"pid\":1,\"unit\":1,\"elapsed_ns\":5,"
	     "\"comm\":\"%s\",\"exe\":\"/%s\",\"build_id\":\"%s\",\"cgroup\":\"%s\",\"type\":1,\"type_name\":"
	     "\"%s\",\"part\":\"%s\",\"reason\":{\"text\":\"%s\",\"parts\":[{\"part\":\"%s\",\"syscall\":"
	     "\"%s\"}]},\"stop\":{\"cause\":\"%s\"},\"lock\":{\"holder\":{\"tid\":5,\"comm\":\"%s\"}},"
	     "\"contexts\":[{\"unusual\":true,\"function\":\"%s\"}],\"stacks\":[{\"state\":\"blocked\","
	     "\"syscall\":\"%s\",\"frames\":[{\"module\":\"%s\",\"function\":\"%s\"}]}]}", hostile, hostile,
	     hostile, hostile, hostile, hostile, hostile, hostile, hostile, hostile, hostile, hostile,
	     hostile, hostile, hostile);
	addf("{\"kind\":\"request\",\"begin\":\"2026-01-02T03:04:05Z\",\"client\":\"%s\",\"cause\":\"%s\","
	     "\"peer\":\"%s\",\"there\":{\"comm\":\"%s\",\"cause\":\"%s\",\"function\":\"%s\"}}", hostile,
	     hostile, hostile, hostile, hostile, hostile);
	addf("{\"kind\":\"replaced\",\"text\":\"%s\",\"exe\":\"%s\"}", hostile, hostile);
	addf("{\"kind\":\"starved\",\"starved\":true,\"cpu\":[{\"comm\":\"%s\"}]}", hostile);
	addf("{\"kind\":\"level\",\"slow\":true,\"type\":1,\"type_name\":\"%s\",\"exe\":\"%s\"}", hostile,
	     hostile);
	addf("{\"kind\":\"loop\",\"comm\":\"%s\",\"wait\":{\"syscall\":\"%s\",\"function\":\"%s\"}}", hostile,
	     hostile, hostile);
	text = render(&len);
	ok(!strstr(text, "<script") && strstr(text, "&lt;script&gt;"), "no element comes from a text");
	ok(!strstr(text, "'\" onload") && strstr(text, "&#39;&quot; onload=x &amp;amp; ??[31m"),
	   "no attribute, and nothing that is not just shown");
	free(text);
}

static void test_hostile(void)
{
	static const char *const broken[] = {
		"", "{", "[]", "null", "{\"kind\":1}", "{\"kind\":\"late\"", "\xff\xfe", "{\"kind\":\"\xff\"}",
		"{\"kind\":\"late\",\"elapsed_ns\":1e999}",
	};
	static const char *const odd[] = {
		"{\"kind\":\"late\"}", "{\"kind\":\"request\"}", "{\"kind\":\"novel\",\"type\":-1}",
		"{\"kind\":\"ended\",\"elapsed_ns\":1e300,\"threshold_ns\":5e-324,\"time\":\"9999-99-99\"}",
		"{\"kind\":\"ended\",\"unit\":2,\"elapsed_ns\":18446744073709551615,\"time\":"
		"\"1969-12-31T23:59:59Z\"}",
		"{\"kind\":\"ended\",\"unit\":3,\"elapsed_ns\":99999999999999999999999,\"time\":"
		"\"2400-01-01T00:00:00.9999999999999Z\",\"stacks\":{},\"hot_path\":[1,2]}",
		"{\"kind\":\"slow\",\"unit\":4,\"stacks\":[1,[],{},{\"frames\":[null,{}]}],\"hot_path\":7,"
		"\"contexts\":{\"unusual\":true},\"there\":[{}]}",
		"{\"kind\":\"level\"}", "{\"kind\":\"starved\",\"cpu\":{}}", "{\"kind\":\"repeated\",\"count\":-5}",
		"{\"kind\":\"repeated\",\"seq\":1e30,\"count\":1e30,\"elapsed_ns\":{\"max\":1e30}}",
		"{\"kind\":\"loop\"}", "{\"kind\":\"requests\",\"request_ns\":[]}", "{\"kind\":\"lost\"}",
		"{\"kind\":\"something new\"}", "{\"kind\":\"ended\",\"unit\":5,\"lock\":{\"address\":"
		"18446744073709551615}}",
	};
	char *deep = malloc(DEEP);
	size_t nr = sizeof(broken) / sizeof(broken[0]), len;
	char *text;

	begin();
	for (size_t i = 0; i < nr; i++)
		add(broken[i]);
	memset(deep, '[', DEEP - 1);
	deep[DEEP - 1] = '\0';
	add(deep);
	free(deep);
	ok(page_nr_broken(page) == nr + 1 && page_nr_lines(page) == nr + 1, "broken lines are counted");
	ok(has("10 lines could not be read") && has("Nothing was late."), "and the page says so");
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		add(odd[i]);
	text = render(&len);
	if (len >= 65536 || strstr(text, "nan%") || strstr(text, "inf%"))
		diag("%zu bytes: %.60s", len, strstr(text, "nan%") ?: strstr(text, "inf%") ?: "");
	ok(page_nr_broken(page) == nr + 1 && !strstr(text, "nan%") && !strstr(text, "inf%") && len < 65536,
	   "what is no more than odd makes a page");
	free(text);
}

/* Functions that each have few units' time: the search among them is bounded. */
static void test_wide(void)
{
	size_t len, room = WRITTEN_LINE_MAX;
	char *line = malloc(room), *text;
	clock_t began;
	double seconds;
	int at;

	begin();
	for (int unit = 0; unit < 4; unit++) {
		at = snprintf(line, room, "{\"kind\":\"late\",\"unit\":1,\"stacks\":[");
		for (int i = 0; (size_t)at < room - 200; i++)
			at += snprintf(line + at, room - (size_t)at, "%s{\"at_ns\":%d,\"frames\":[{\"offset\":%d},"
				       "{\"offset\":%d}]}", i ? "," : "", i + unit * 100000, i * 977, i * 131);
		snprintf(line + at, room - (size_t)at, "]}");
		add(line);
	}
	free(line);
	began = clock();
	text = render(&len);
	seconds = (double)(clock() - began) / CLOCKS_PER_SEC;
	ok(seconds < 3 && len < PAGE_MAX_BYTES, "stacks without an end take %.2f s", seconds);
	free(text);
}

static void test_axis(void)
{
	static const uint64_t spans_ns[] = {
		3 * NSEC_PER_MSEC, 700 * NSEC_PER_MSEC, 7 * NSEC_PER_SEC, 59 * NSEC_PER_SEC,
		3600 * NSEC_PER_SEC, 86400 * NSEC_PER_SEC, 30 * 86400 * NSEC_PER_SEC, UINT64_MAX,
	};
	bool is_right = true;

	for (size_t i = 0; i < sizeof(spans_ns) / sizeof(spans_ns[0]); i++) {
		uint64_t step = drawing_time_step(spans_ns[i], 4), nr = spans_ns[i] / step;

		if (nr >= 4 || (nr < 1 && spans_ns[i] > NSEC_PER_MSEC)) {
			diag("%" PRIu64 " ns: %" PRIu64 " marks", spans_ns[i], nr);
			is_right = false;
		}
	}
	ok(is_right, "an axis has one to four marks, however long it is");
	ok(drawing_time_step(7 * NSEC_PER_SEC, 4) == 2 * NSEC_PER_SEC &&
	   drawing_time_step(3600 * NSEC_PER_SEC, 4) == 1800 * NSEC_PER_SEC, "at round times");
	begin();
	add_unit("ended", 10, 1, 1, 1500000000, 3);
	add_unit("ended", 17, 1, 1, 15000000, 3);
	ok(has(">03:00:10</text>") && has(">03:00:15</text>") &&
	   has(">1 s</text>") && has(">10 ms</text>"),
	   "and they are on the page, with decades of time");
	ok(has("2026-01-02 03:00:09.000 to 2026-01-02 03:00:17.500 UTC"), "its head has the whole span");
}

/* Of the module's counters: a type that is known, one that is only short, and no type. */
static void test_live(void)
{
	static struct live_type types[3] = {
		{ .id = 7, .name = "serve_api, <b>", .units = 900, .late = 9, .time_ns = 900 * NSEC_PER_MSEC,
		  .limit_ns = 8 * NSEC_PER_MSEC, .least_ns = NSEC_PER_MSEC / 4 },
		{ .id = 8, .units = 100, .time_ns = 100 * NSEC_PER_MSEC, .least_ns = NSEC_PER_MSEC },
		{ .units = 1, .time_ns = NSEC_PER_MSEC },
	};
	struct live_program program = { "/usr/sbin/made", 1, types, 3 };
	const struct live_programs programs = { &program, 1, UINT64_C(1767323045) * NSEC_PER_SEC };
	const struct live_programs none = { .now_ns = 1 };

	for (int i = 0; i < 100; i++)
		times_add(&types[0].times, (uint64_t)(1 + i % 5) * NSEC_PER_MSEC);
	times_add(&types[1].times, 0);
	begin();
	page_set_live(page, &programs);
	ok(has("<h2 id=live>Types of units now</h2>") && has("at 2026-01-02 03:04:05.000 UTC") &&
	   has("<caption>made, guarded for"), "what is armed now is on the page");
	ok(has("serve_api, &lt;b&gt;") && has("<td class=n>900<td class=n>89.9") &&
	   has("<td class=n>9<td class=n>1.00 ms"), "a type with units, late ones and its mean");
	ok(has("<td class=n>8.00 ms<td class=picture><svg") &&
	   has("<td class=n>&lt;&nbsp;1.00 ms"), "its limit and distribution; a time that is only short");
	ok(has("no type, or none yet"), "and units of no type");
	begin();
	page_set_live(page, &none);
	ok(has("No program is guarded by a profile."), "where nothing is armed that is said");
}

int main(void)
{
	plan(27);
	test_live();
	test_alike();
	test_lines_of_one();
	test_size();
	test_bound();
	test_escape();
	test_hostile();
	test_wide();
	test_axis();
	page_free(page);
	return tap_status();
}
