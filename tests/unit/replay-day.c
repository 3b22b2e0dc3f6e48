// SPDX-License-Identifier: GPL-2.0
/*
 * A day of alerts through the outputs of the service, as fast as they take them: its own clock, that
 * of the alerts, goes on by what is between two.
 *
 * usage: replay-day SPOOL ALERTS HOURS RESTARTS < LINES
 *
 * The alerts are the lines, again and again, each at its time and as a unit, request or state of its
 * own, evenly over so many hours until now.  The service is ended and begun again so many times.
 * What the journal would get is printed; then, on standard error, a line of JSON: how many alerts there
 * were, were counted and reported by the service, were added to the spool, and are in it.  Exits with 1
 * if an output failed.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/serve/service-outputs.h"
#include "base/duration.h"
#include "base/machine.h"
#include "base/time.h"
#include "data/alert-record.h"

struct line {
	char *text;
	char kind[16];
	bool has_seq;
};

struct replay {
	struct line *lines;
	size_t nr_lines;
	struct service_config config;
	struct service_outputs outputs;
	uint64_t begin_ns, step_ns;
	uint64_t seq; /* of the next record */
	uint64_t reported; /* by those that have ended, like the next one */
	uint64_t counted;
};

static void fail(const char *why)
{
	fprintf(stderr, "replay-day: %s\n", why);
	exit(1);
}

static void read_lines(struct replay *replay)
{
	char *text = NULL;
	size_t size = 0;

	while (getline(&text, &size, stdin) > 0) {
		struct line *lines = realloc(replay->lines, (replay->nr_lines + 1) * sizeof(*lines));

		if (!lines)
			fail("out of memory");
		text[strcspn(text, "\n")] = '\0';
		replay->lines = lines;
		lines += replay->nr_lines++;
		*lines = (struct line){ .text = strdup(text), .has_seq = strstr(text, "\"seq\": ") };
		if (!lines->text || sscanf(text, "{\"kind\": \"%15[a-z]\"", lines->kind) != 1)
			fail("that is no alert");
	}
	free(text);
	if (!replay->nr_lines)
		fail("there are no lines");
}

static uint64_t sum(const struct alert_counts *counts)
{
	uint64_t ret = 0;

	for (uint32_t i = 0; i < ALERT_KINDS; i++)
		ret += counts->of[i].nr;
	return ret;
}

static void begin(struct replay *replay)
{
	uint64_t seq = 1;

	if (service_outputs_init(&replay->outputs, &replay->config))
		fail("the outputs cannot be opened");
	service_outputs_next(&replay->outputs, &seq);
	if (seq != replay->seq)
		fail("another record is wanted than the one behind the last");
}

static void end(struct replay *replay)
{
	replay->reported += replay->outputs.reported;
	replay->counted += sum(&replay->outputs.counts);
	service_outputs_deinit(&replay->outputs);
}

/* The value of @key becomes @value, up to the next comma. */
static void put_with(FILE *file, const char *text, const char *const keys[], char values[][48])
{
	while (*text) {
		size_t len = strcspn(text, "\"");

		len += text[len] == '"';
		fwrite(text, 1, len, file);
		text += len;
		for (size_t i = 0; keys[i]; i++) {
			size_t key_len = strlen(keys[i]);

			if (strncmp(text, keys[i], key_len))
				continue;
			fprintf(file, "%s%s", keys[i], values[i]);
			text += key_len;
			text += strcspn(text, ",}");
		}
	}
}

static void put_one(struct replay *replay, uint64_t number)
{
	static const char *const keys[] = {
		"time\": ", "begin\": ", "since\": ", "seq\": ", "unit\": ", "client\": ", NULL,
	};
	const struct line *line = &replay->lines[number % replay->nr_lines];
	struct record record = { .time_ns = replay->begin_ns + number * replay->step_ns };
	const struct sunk_alert sunk = {
		.kind = line->kind, .exe = "/usr/sbin/made", .build_id = "5f1c06f1", .pid = 41,
		.record = line->has_seq && strcmp(line->kind, "repeated") ? &record : NULL,
	};
	char values[6][48], time[TIME_TEXT_MAX];

	if (sunk.record)
		record.seq = replay->seq++;
	time_format(record.time_ns, time);
	for (int i = 0; i < 3; i++)
		snprintf(values[i], sizeof(values[i]), "\"%s\"", time);
	snprintf(values[3], sizeof(values[3]), "%" PRIu64, record.seq);
	snprintf(values[4], sizeof(values[4]), "%" PRIu64, number + 1);
	snprintf(values[5], sizeof(values[5]), "\"192.0.2.1:%" PRIu64 "\"", number);
	put_with(replay->outputs.sink.json, line->text, keys, values);
	fputc('\n', replay->outputs.sink.json);
	fprintf(replay->outputs.sink.text, "%s made: alert %" PRIu64, line->kind, number);
	if (replay->outputs.sink.take(&replay->outputs.sink, &sunk))
		fail("an alert could not be taken");
}

static void print(const struct replay *replay, uint64_t nr, uint64_t took_ns)
{
	struct spool_counts counts;
	struct spool *spool;
	char why[SPOOL_WHY_MAX];

	if (spool_open(replay->config.spool, NULL, &spool, why))
		fail(why);
	spool_count(spool, &counts);
	fprintf(stderr, "{\"alerts\": %" PRIu64 ", \"counted\": %" PRIu64 ", \"reported\": %" PRIu64
		", \"added\": %" PRIu64 ", \"kept\": %" PRIu64 ", \"dropped\": %" PRIu64
		", \"unsaved\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"seconds\": %.3f}\n", nr,
		replay->counted, replay->reported, counts.added, counts.alerts, counts.dropped,
		counts.unsaved, counts.bytes, (double)took_ns / NSEC_PER_SEC);
	spool_close(spool);
}

int main(int argc, char **argv)
{
	struct replay replay = {
		.config = {
			/* The defaults of perfguard.conf(5). */
			.bounds = { .bytes = UINT64_C(256) << 20, .alerts = 100000 },
			.spools_stacks = true,
		},
		.seq = 1,
	};
	uint64_t nr = argc == 5 ? strtoull(argv[2], NULL, 10) : 0, begin_ns = time_now_ns();
	uint64_t span_ns, restarts;

	if (!nr)
		fail("usage: replay-day SPOOL ALERTS HOURS RESTARTS < LINES");
	read_lines(&replay);
	replay.config.spool = argv[1];
	span_ns = strtoull(argv[3], NULL, 10) * 3600 * NSEC_PER_SEC;
	restarts = strtoull(argv[4], NULL, 10);
	replay.begin_ns = time_wall_ns() - span_ns;
	replay.step_ns = span_ns / nr;
	begin(&replay);
	for (uint64_t i = 0; i < nr; i++) {
		if (i && i % (nr / (restarts + 1) + 1) == 0) {
			end(&replay);
			begin(&replay);
		}
		put_one(&replay, i);
	}
	end(&replay);
	print(&replay, nr, time_now_ns() - begin_ns);
	return 0;
}
