// SPDX-License-Identifier: GPL-2.0

#include "out/metrics/exposition.h"

#include <inttypes.h>
#include <string.h>

#include "base/duration.h"
#include "base/utf8.h"

/* How a type is called, and the suffix of its samples: in both formats. */
static const struct {
	const char *name;
	const char *suffix;
	const char *plain_name;
} types[] = {
	[EXPOSITION_COUNTER] = { "counter", "_total", "counter" },
	[EXPOSITION_GAUGE] = { "gauge", "", "gauge" },
	[EXPOSITION_HISTOGRAM] = { "histogram", "", "histogram" },
	[EXPOSITION_INFO] = { "info", "_info", "gauge" },
};

void exposition_begin(struct exposition *text, const struct exposition_family *family)
{
	text->family = family;
	text->has_begun = false;
}

void exposition_end(struct exposition *text)
{
	if (text->is_open_metrics)
		fputs("# EOF\n", text->file);
}

/* In OpenMetrics a family has no suffix, in the older format its samples' name is the family's. */
static void print_head(struct exposition *text)
{
	const struct exposition_family *family = text->family;
	const char *suffix = text->is_open_metrics ? "" : types[family->type].suffix;

	text->has_begun = true;
	fprintf(text->file, "# HELP %s%s %s\n", family->name, suffix, family->help);
	fprintf(text->file, "# TYPE %s%s %s\n", family->name, suffix,
		text->is_open_metrics ? types[family->type].name : types[family->type].plain_name);
	if (text->is_open_metrics && family->unit)
		fprintf(text->file, "# UNIT %s %s\n", family->name, family->unit);
}

static void put_character(FILE *file, const char *at, size_t len, uint32_t character)
{
	if (character == UTF8_INVALID)
		fputs("\xef\xbf\xbd", file);
	else if (character == '\n')
		fputs("\\n", file);
	else if (character == '"' || character == '\\')
		fprintf(file, "\\%c", (char)character);
	else
		fwrite(at, 1, len, file);
}

void exposition_label(FILE *file, bool is_first, const char *name, const char *value)
{
	size_t left = strlen(value);

	fprintf(file, "%s%s=\"", is_first ? "" : ",", name);
	while (left) {
		uint32_t character;
		size_t len = utf8_decode(value, left, &character);

		put_character(file, value, len, character);
		value += len;
		left -= len;
	}
	putc('"', file);
}

static void begin_sample(struct exposition *text, const char *suffix, const char *name,
			 const char *value)
{
	if (!text->has_begun)
		print_head(text);
	fprintf(text->file, "%s%s", text->family->name, suffix);
	if (!text->labels[0] && !name) {
		putc(' ', text->file);
		return;
	}
	fprintf(text->file, "{%s", text->labels);
	if (name)
		exposition_label(text->file, !text->labels[0], name, value);
	fputs("} ", text->file);
}

static const char *suffix_of(const struct exposition *text)
{
	return types[text->family->type].suffix;
}

void exposition_u64(struct exposition *text, const char *name, const char *value, uint64_t number)
{
	begin_sample(text, suffix_of(text), name, value);
	fprintf(text->file, "%" PRIu64 "\n", number);
}

void exposition_real(struct exposition *text, const char *name, const char *value, double number)
{
	begin_sample(text, suffix_of(text), name, value);
	fprintf(text->file, "%.9g\n", number);
}

enum { SECONDS_MAX = 40 };

/* Exactly, so that a counter never falls by rounding. */
static const char *seconds_of(uint64_t ns, char text[SECONDS_MAX])
{
	int len = snprintf(text, SECONDS_MAX, "%" PRIu64 ".%09" PRIu64, ns / NSEC_PER_SEC,
			   ns % NSEC_PER_SEC);

	while (text[len - 1] == '0' && text[len - 2] != '.')
		text[--len] = '\0';
	return text;
}

void exposition_ns(struct exposition *text, const char *name, const char *value, uint64_t ns)
{
	char seconds[SECONDS_MAX];

	begin_sample(text, suffix_of(text), name, value);
	fprintf(text->file, "%s\n", seconds_of(ns, seconds));
}

void exposition_bucket(struct exposition *text, uint64_t ns, uint64_t number)
{
	char seconds[SECONDS_MAX];

	begin_sample(text, "_bucket", "le", ns == UINT64_MAX ? "+Inf" : seconds_of(ns, seconds));
	fprintf(text->file, "%" PRIu64 "\n", number);
}

void exposition_histogram_end(struct exposition *text, uint64_t ns, uint64_t number)
{
	char seconds[SECONDS_MAX];

	begin_sample(text, "_sum", NULL, NULL);
	fprintf(text->file, "%s\n", seconds_of(ns, seconds));
	begin_sample(text, "_count", NULL, NULL);
	fprintf(text->file, "%" PRIu64 "\n", number);
}
