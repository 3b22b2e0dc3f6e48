// SPDX-License-Identifier: GPL-2.0

#include "app/common/alert-lines.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/common/command.h"
#include "base/log.h"
#include "base/long-step.h"
#include "out/read/written-line.h"
#include "store/spool.h"

/* How a file of SQLite begins. */
#define SPOOL_MAGIC "SQLite format 3"

struct line_reading {
	alert_line_fn fn;
	void *arg;
	struct alert_lines_missing missing;
};

/*
 * The next line of @file into @line, which has room for WRITTEN_LINE_MAX + 1 bytes: of a
 * longer one so many, and the rest is skipped.  Returns false at the end.
 */
static bool read_line(FILE *file, char *line, size_t *ret_len)
{
	int character;

	for (*ret_len = 0; (character = getc_unlocked(file)) != EOF && character != '\n';)
		if (*ret_len <= WRITTEN_LINE_MAX)
			line[(*ret_len)++] = (char)character;
	return *ret_len || character == '\n';
}

static int read_lines(FILE *file, const char *name, const struct line_reading *reading)
{
	char *line = malloc(WRITTEN_LINE_MAX + 1);
	int ret = line ? 0 : -ENOMEM;
	size_t len;

	while (!ret && read_line(file, line, &len))
		if (len)
			ret = reading->fn(reading->arg, line, len);
	free(line);
	if (ret)
		return cmd_no_memory();
	if (ferror(file)) {
		log_error("cannot read %s: %s", name, strerror(errno));
		return CMD_FAILED;
	}
	return CMD_OK;
}

static int take_spooled(const struct spool_alert *alert, void *arg)
{
	const struct line_reading *reading = arg;

	return alert->json ? reading->fn(reading->arg, alert->json, strlen(alert->json)) : 0;
}

static int read_spool(const char *path, struct line_reading *reading)
{
	char why[SPOOL_WHY_MAX] = "";
	struct spool_counts counts;
	struct spool *spool;
	int error;

	if (spool_open(path, NULL, &spool, why)) {
		log_error("%s", why);
		return CMD_FAILED;
	}
	error = spool_read(spool, 0, 0, take_spooled, reading, why);
	spool_count(spool, &counts);
	reading->missing = (struct alert_lines_missing){ counts.dropped, counts.unsaved };
	spool_close(spool);
	if (!error)
		return CMD_OK;
	log_error("%s", *why ? why : strerror(-error));
	return CMD_FAILED;
}

static bool is_spool(FILE *file)
{
	char head[sizeof(SPOOL_MAGIC)];
	bool ret = fread(head, 1, sizeof(head), file) == sizeof(head) &&
		   !memcmp(head, SPOOL_MAGIC, sizeof(head));

	clearerr(file);
	return ret;
}

static int read_file(const char *path, alert_line_fn fn, void *arg,
		     struct alert_lines_missing *ret_missing)
{
	struct line_reading reading = { .fn = fn, .arg = arg };
	FILE *file;
	int ret;

	if (ret_missing)
		*ret_missing = reading.missing;
	if (!strcmp(path, "-"))
		return read_lines(stdin, "standard input", &reading);
	file = fopen(path, "re");
	if (!file) {
		log_error("cannot open %s: %s", path, strerror(errno));
		return CMD_FAILED;
	}
	/* What cannot be read twice, as a pipe, is none. */
	if (!fseek(file, 0, SEEK_SET) && is_spool(file)) {
		ret = read_spool(path, &reading);
	} else {
		fseek(file, 0, SEEK_SET);
		ret = read_lines(file, path, &reading);
	}
	fclose(file);
	if (ret_missing)
		*ret_missing = reading.missing;
	return ret;
}

int alert_lines_read(const char *path, alert_line_fn fn, void *arg,
		     struct alert_lines_missing *ret_missing)
{
	int ret;

	long_step_begin("reading the alerts");
	ret = read_file(path, fn, arg, ret_missing);
	long_step_end();
	return ret;
}

/* A file of something else is a mistake, and no result of nothing. */
int alert_lines_check(const char *path, unsigned long long nr, unsigned long long nr_broken)
{
	if (nr && nr == nr_broken) {
		log_error("%s has no line of JSON as 'pg-collect watch --json' and 'audit --json' "
			  "write them", path);
		return CMD_FAILED;
	}
	if (nr_broken)
		log_warning("%llu of %llu lines of %s could not be read", nr_broken, nr, path);
	return CMD_OK;
}
