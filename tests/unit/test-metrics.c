// SPDX-License-Identifier: GPL-2.0
/* The text of metrics: as it is wanted, whatever names are; counters that only grow. */

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"
#include "made-metrics.h"
#include "out/metrics/exposition.h"
#include "printed.h"
#include "tap.h"

static struct made_metrics made;

static const char *print(bool is_open)
{
	FILE *file = printed_open();

	if (!file || metrics_text(file, &made.metrics, is_open) || fclose(file))
		abort();
	return text;
}

/* A label's value from @at on, behind its quote, into @ret; returns behind the closing one. */
static const char *read_value(const char *at, char *ret, size_t room)
{
	size_t len = 0;

	for (; *at && *at != '"' && *at != '\n' && len + 1 < room; at++) {
		if (*at != '\\') {
			ret[len++] = *at;
			continue;
		}
		at++;
		if (*at != '\\' && *at != '"' && *at != 'n')
			return NULL;
		ret[len++] = *at == 'n' ? '\n' : *at;
	}
	ret[len] = '\0';
	return *at == '"' ? at + 1 : NULL;
}

static const char *read_name(const char *at)
{
	if (!islower((unsigned char)*at))
		return NULL;
	while (islower((unsigned char)*at) || *at == '_')
		at++;
	return at;
}

/* "{NAME="VALUE",...}".  Returns what is behind it, NULL if it is not that. */
static const char *read_labels(const char *at)
{
	char value[8192];

	do {
		at = read_name(at + 1);
		if (!at || at[0] != '=' || at[1] != '"')
			return NULL;
		at = read_value(at + 2, value, sizeof(value));
	} while (at && *at == ',');
	return at && *at == '}' ? at + 1 : NULL;
}

static bool is_number(const char *at, size_t len)
{
	size_t digits = strspn(at, "0123456789.e-");

	return len && digits == len;
}

/* Return: true if the line is a sample of the @family that was begun last. */
static bool is_sample(const char *line, size_t len, const char *family)
{
	const char *at = read_name(line);

	if (!at || strncmp(line, family, strlen(family)))
		return false;
	if (*at == '{')
		at = read_labels(at);
	return at && *at == ' ' && is_number(at + 1, len - (size_t)(at + 1 - line));
}

static bool is_utf8(const char *at)
{
	size_t left = strlen(at);
	uint32_t character;

	while (left) {
		size_t len = utf8_decode(at, left, &character);

		if (character == UTF8_INVALID)
			return false;
		at += len;
		left -= len;
	}
	return true;
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* No series stands twice; lines are cut at their ends. */
static bool are_unique(char *const *lines, uint32_t nr)
{
	char **sorted = calloc(nr, sizeof(*sorted));
	bool ret = sorted != NULL;

	for (uint32_t i = 0; i < nr; i++) {
		sorted[i] = strdup(lines[i]);
		*strrchr(sorted[i], ' ') = '\0';
	}
	qsort(sorted, nr, sizeof(*sorted), compare_lines);
	for (uint32_t i = 1; i < nr; i++)
		if (!strcmp(sorted[i - 1], sorted[i])) {
			diag("twice: %s", sorted[i]);
			ret = false;
		}
	for (uint32_t i = 0; i < nr; i++)
		free(sorted[i]);
	free(sorted);
	return ret;
}

/* The families that were begun, each once. */
struct families {
	char names[100][80];
	uint32_t nr;
};

static bool begin_family(struct families *families, const char *name)
{
	char *now = families->names[families->nr];

	snprintf(now, sizeof(families->names[0]), "%.*s", (int)strcspn(name, " "), name);
	for (uint32_t i = 0; i < families->nr; i++)
		if (!strcmp(families->names[i], now))
			return false;
	return families->nr++ < 99;
}

static bool is_line(struct families *families, const char *line)
{
	const char *family = families->nr ? families->names[families->nr - 1] : "?";

	if (!strncmp(line, "# HELP ", 7))
		return begin_family(families, line + 7);
	if (!strncmp(line, "# TYPE ", 7) || !strncmp(line, "# UNIT ", 7))
		return !strncmp(line + 7, family, strlen(family)) && line[7 + strlen(family)] == ' ';
	return is_sample(line, strlen(line), family);
}

/* Return: true if a reader understands all of it. */
static bool is_well(const char *of, bool is_open)
{
	char *copy = strdup(of), **lines = calloc(strlen(of), sizeof(*lines)), *rest = copy, *line;
	struct families families = { .nr = 0 };
	bool ret = is_utf8(of) && of[strlen(of) - 1] == '\n', has_ended = false;
	uint32_t nr = 0;

	while ((line = strsep(&rest, "\n")) != NULL && (rest || *line)) {
		if (is_open && !strcmp(line, "# EOF")) {
			has_ended = !*rest;
			continue;
		}
		if (!is_line(&families, line)) {
			diag("not well: %s", line);
			ret = false;
		}
		if (line[0] != '#')
			lines[nr++] = line;
	}
	ret = ret && nr && are_unique(lines, nr) && has_ended == is_open;
	free(lines);
	free(copy);
	return ret;
}

/* The value of the sample that begins so; -1 without one. */
static double value_of(const char *begin)
{
	const char *at = strstr(text, begin);

	return at ? strtod(strchr(at, '}') + 1, NULL) : -1;
}

#define SERVER "{exe=\"/usr/sbin/server\",profile=\"/etc/perfguard/profiles.d/server.pgp\""

static void test_text(void)
{
	static const char wanted[] =
		"# HELP perfguard_unit_seconds Parts of the time of units; of a late one no run queue, and at most "
		"eight times its limit.\n"
		"# TYPE perfguard_unit_seconds counter\n"
		"# UNIT perfguard_unit_seconds seconds\n"
		"perfguard_unit_seconds_total" SERVER ",loop=\"1\",type=\"1\",type_name=\"parse, \\\"answer\\\"\","
		"part=\"cpu\"} 5.5\n"
		"perfguard_unit_seconds_total" SERVER ",loop=\"1\",type=\"1\",type_name=\"parse, \\\"answer\\\"\","
		"part=\"runqueue\"} 1.0\n"
		"perfguard_unit_seconds_total" SERVER ",loop=\"1\",type=\"1\",type_name=\"parse, \\\"answer\\\"\","
		"part=\"blocked\"} 4.4\n"
		"perfguard_unit_seconds_total" SERVER ",loop=\"1\",type=\"2\",type_name=\"\",part=\"cpu\"} 10.9\n";

	made_metrics(&made, 100);
	ok(is_well(print(false), false), "the text format 0.0.4 is well formed");
	ok(has("# TYPE perfguard_build_info gauge\nperfguard_build_info{version=\"0.1\"} 1\n") &&
	   has("# TYPE perfguard_alerts_total counter\nperfguard_alerts_total{kind=\"late\"} 100\n") &&
	   has("# TYPE perfguard_spool_bytes gauge\nperfguard_spool_bytes 40960\n"),
	   "with samples of the service");
	ok(is_well(print(true), true), "so is OpenMetrics");
	ok(has("# TYPE perfguard_build info\nperfguard_build_info{version=\"0.1\"} 1\n") &&
	   has("# TYPE perfguard_alerts counter\nperfguard_alerts_total{kind=\"late\"} 100\n") &&
	   has("# UNIT perfguard_spool_bytes bytes\n"), "with names and units as it has them");
	ok(has(wanted), "and those of a type");
	ok(has("perfguard_budget_ratio" SERVER "} 0.02\n") &&
	   has("perfguard_armed_timestamp_seconds" SERVER "} 1735689600.000000001\n"),
	   "ratios and moments");
	ok(has("{exe=\"/opt/a\\\"b\\\\c\\nd\xef\xbf\xbd{} # EOF\",profile=\"/etc/perfguard/profiles.d/"
	       "server.pgp\",file=\"replaced\",uid=\"0\",cgroup=\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"} 1\n"),
	   "a label has what is no text as U+FFFD");
}

static void test_many_types(void)
{
	double late = 0, blocked = 0;

	made_metrics(&made, 200);
	print(false);
	for (uint32_t i = METRICS_MAX_TYPES; i < MADE_TYPES; i++) {
		late += 200;
		blocked += (double)top_sums_of(&made.made[0].types[i]).part_ns[TOP_BLOCKED] / 1e9;
	}
	ok(value_of("perfguard_units_late_total" SERVER ",loop=\"\",type=\"other\"") == late,
	   "types beyond the most are one: %g late", late);
	ok(fabs(value_of("perfguard_unit_seconds_total" SERVER
		    ",loop=\"\",type=\"other\",type_name=\"\",part=\"blocked\"") - blocked) < 1e-6,
	   "with all of their time: %g s", blocked);
	ok(!strstr(text, "type=\"65\"") && !strstr(text, "duration_seconds_bucket" SERVER ",loop=\"\"") &&
	   strstr(text, "type=\"64\""), "none of them has samples of its own, nor a histogram");
}

#define BUCKET "perfguard_unit_duration_seconds_bucket" SERVER ",loop=\"1\",type=\"2\",type_name=\"\",le="

static void test_times(void)
{
	uint32_t *nr = made.made[0].times[1].nr[PERFGUARD_TIMES_OWN - 1];
	double last = 0, all;
	char begin[300];

	made_metrics(&made, 300);
	print(false);
	for (const char *at = text; (at = strstr(at, BUCKET)) != NULL; at++) {
		double now = strtod(strchr(at, '}') + 1, NULL);

		if (now < last)
			last = 1e300;
		else
			last = now;
	}
	all = value_of("perfguard_unit_duration_seconds_count" SERVER ",loop=\"1\",type=\"2\"");
	ok(last == all && all == 300.0 * 64 * 65 / 2, "buckets rise up to the number of all: %g", all);
	/* Bucket 3 of 1.5 times a power of two: units of less than it are those of four of the module's. */
	snprintf(begin, sizeof(begin), BUCKET "\"%.9f\"", 12582911 / 1e9);
	ok(value_of(begin) == 300.0 * (64 + 63 + 62 + 61), "each at an end of the module's own");
	nr[0] = UINT32_MAX - 5;
	metrics_memory_update(&made.memory, &made.reading);
	print(false);
	last = value_of(begin);
	nr[0] += 10;
	metrics_memory_update(&made.memory, &made.reading);
	print(false);
	ok(nr[0] == 4 && value_of(begin) == last + 10, "they go on where the module's begin again at 0");
	ok(value_of("perfguard_request_duration_seconds_bucket" SERVER ",le=\"0.012582911\"") == 190 * 300 &&
	   value_of("perfguard_request_duration_seconds_bucket" SERVER ",le=\"+Inf\"") == 200 * 300 &&
	   value_of("perfguard_request_duration_seconds_sum" SERVER) == 200 * 300 * 0.02,
	   "requests have a histogram, too");
}

static void test_growth(void)
{
	static const char part[] = "perfguard_unit_seconds_total" SERVER
				   ",loop=\"1\",type=\"2\",type_name=\"\",part=\"blocked\"";
	struct armed_type *type = &made.made[0].types[1];
	double before;

	made_metrics(&made, 400);
	print(false);
	before = value_of(part);
	/* A unit that ends while the module's sums are read: its CPU time comes before the rest. */
	type->cpu_ns += NSEC_PER_SEC;
	metrics_memory_update(&made.memory, &made.reading);
	print(false);
	ok(value_of(part) == before, "a part that is what others leave does not fall: %g s", before);
	type->cpu_ns = 2 * type->elapsed_ns;
	metrics_memory_update(&made.memory, &made.reading);
	print(false);
	ok(value_of(part) == before, "nor below 0");
	made.made[0].armed.id = 9;
	made_type(&made.made[0], 1, 1);
	metrics_memory_update(&made.memory, &made.reading);
	print(false);
	ok(value_of(part) < before && value_of(part) > 0,
	   "another profile begins again: %g s", value_of(part));
}

/* A process that ends takes its units along; containers come and go. */
static void test_containers(void)
{
	static const char units[] = "perfguard_container_units_total" SERVER ",container=\"3f2a\"";
	struct top_container *container = made.programs[0].containers;
	double before;

	made_metrics(&made, 450);
	ok(is_well(print(false), false) &&
	   value_of("perfguard_container_processes" SERVER ",container=\"3f2a\"") == 3 &&
	   has("perfguard_container_processes" SERVER
	       ",container=\"/opt/a\\\"b\\\\c\\nd\xef\xbf\xbd{} # EOF\"} 1\n"),
	   "each container has samples, whatever it is called");
	before = value_of(units);
	container->units -= 100;
	metrics_memory_update(&made.memory, &made.reading);
	print(false);
	ok(before > 0 && value_of(units) == before, "a process that ends takes none away: %g units", before);
	container->units += 5;
	metrics_memory_update(&made.memory, &made.reading);
	print(false);
	ok(value_of(units) == before + 5, "and the next ones are counted");
	container[2] = container[0];
	container[0] = (struct top_container){ "new", 1, 2, 0 };
	made.programs[0].nr_containers = 3;
	metrics_memory_update(&made.memory, &made.reading);
	print(false);
	ok(value_of(units) == before + 5 && strstr(text, "container=\"new\"} 2\n"),
	   "in whatever order they come");
	ok(has("perfguard_profiles{state=\"armed\"} 2\nperfguard_profiles{state=\"waiting\"} 1\n"
	       "perfguard_profiles{state=\"not_armed\"} 2\n"), "a profile that waits is no refused one");
}

static void test_equal(void)
{
	made_metrics(&made, 500);
	made.made[1].armed = made.made[0].armed;
	made.made[1].armed.id = 8;
	made.programs[1] = made.programs[0];
	made.programs[1].armed = &made.made[1].armed;
	made.programs[1].target_id = 8;
	made.programs[1].processes = 77;
	metrics_memory_update(&made.memory, &made.reading);
	ok(is_well(print(true), true) && value_of("perfguard_processes" SERVER) == 77,
	   "of two with equal labels the one that was armed last is there");
}

static void test_nothing(void)
{
	made_metrics(&made, 600);
	made.reading.nr_programs = 0;
	made.metrics.spool.is_there = false;
	made.metrics.nr_outputs = 0;
	metrics_memory_update(&made.memory, &made.reading);
	ok(is_well(print(true), true) && !strstr(text, "spool") && !strstr(text, "perfguard_unit"),
	   "families without a sample are left out");
}

/* Any bytes become a label from which a reader gets them back, if they are text. */
static void test_bytes(void)
{
	char name[40], back[200];
	bool is_good = true;

	srand(1);
	for (int i = 0; i < 20000; i++) {
		FILE *file = printed_open();
		size_t len = (size_t)rand() % (sizeof(name) - 1);
		const char *end;

		for (size_t j = 0; j < len; j++)
			name[j] = (char)(rand() % 3 ? "\"\\\nn{},=# a"[rand() % 11] : 1 + rand() % 255);
		name[len] = '\0';
		exposition_label(file, true, "exe", name);
		fclose(file);
		end = read_value(text + strlen("exe=\""), back, sizeof(back));
		is_good &= is_utf8(text) && end && !*end && !strchr(text, '\n');
		is_good &= !is_utf8(name) || !strcmp(back, name);
	}
	ok(is_good, "names of any bytes are escaped");
}

int main(void)
{
	plan(25);
	test_text();
	test_many_types();
	test_times();
	test_growth();
	test_containers();
	test_equal();
	test_nothing();
	test_bytes();
	metrics_memory_deinit(&made.memory);
	free(text);
	return tap_status();
}
