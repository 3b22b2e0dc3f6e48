// SPDX-License-Identifier: GPL-2.0

#include "app/serve/service-messages.h"

#include <linux/perfguard.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/utf8.h"
#include "data/alert-record.h"
#include "out/alert/alert-head.h"
#include "out/journal.h"
#include "out/text.h"

/* The ids are in pg-collect-serve(1), too: they never change. */
struct message {
	const char *id;
	enum journal_priority priority;
};

static const struct message events[] = {
	[SERVICE_ARMED] = { "ed0ef48f52e24db09f658de45e10d3b7", JOURNAL_INFO },
	[SERVICE_NOT_ARMED] = { "6b961067e13e4e19b96ac015b23d2122", JOURNAL_ERROR },
	[SERVICE_WAITING] = { "0c1de2e75f1b4c35a7f64d5c7b0e9a38", JOURNAL_NOTICE },
	[SERVICE_DISARMED] = { "fe1a387639014683bb6e99051e19ac7b", JOURNAL_INFO },
	[SERVICE_SPOOL_FAILED] = { "8ed1f2df574649b1b863a2381f9739a7", JOURNAL_ERROR },
	[SERVICE_SPOOL_GOES_ON] = { "e96bdb69d8f84e529b6bf5c720b574b0", JOURNAL_NOTICE },
};

/* By the kind of the alert. */
static const struct {
	const char *kind;
	const char *id;
} alerts[] = {
	{ "late", "fe86aa21d29f4d8da02e7cda398f32f2" },
	{ "ended", "a78fade9de234a089c4502da16845d50" },
	{ "novel", "9abd111598bf4b219d71abf41ac87825" },
	{ "request", "ced971ea1e5348c9b3bb64f178dde6d6" },
	{ "repeated", "e3e847331f4a45c5bb2beadf9d55993f" },
	{ "lost", "331ba2e98735421f9be0f2ae6f25b802" },
	{ "level", "e786a71a713e4b1ab5bb522b6b3311eb" },
	{ "starved", "dfdd68004a18497db513ace88e06fb7a" },
	{ "replaced", "a0638377aad9444b9b6f319206f6473a" },
};

static const char *arming; /* see service_messages_arming() */
static char *held; /* see service_messages_hold() */
static size_t held_size;

static void write_line(enum log_level level, const char *line)
{
	static const enum journal_priority priorities[] = {
		[LOG_LEVEL_ERROR] = JOURNAL_ERROR,
		[LOG_LEVEL_WARNING] = JOURNAL_WARNING,
		[LOG_LEVEL_PROGRESS] = JOURNAL_INFO,
	};
	bool is_refusal = arming && level == LOG_LEVEL_ERROR;
	struct journal_entry entry;

	journal_begin(&entry, priorities[level],
		      is_refusal ? events[SERVICE_NOT_ARMED].id : NULL, line);
	journal_text(&entry, "PERFGUARD_PROFILE", arming);
	/* It may have been restarted just now. */
	if (journal_send(&entry))
		fprintf(stderr, "pg-collect: %s\n", line);
}

void service_messages_begin(void)
{
	if (journal_is_there())
		log_set_writer(write_line, true);
}

void service_messages_end(void)
{
	log_set_writer(NULL, false);
}

static void hold_line(enum log_level level, const char *line)
{
	if (level == LOG_LEVEL_ERROR)
		text_append(held, held_size, "%s%s", held[0] ? "\n" : "", line);
}

void service_messages_hold(char *text, size_t size)
{
	text[0] = '\0';
	held = text;
	held_size = size;
	log_set_writer(hold_line, true);
}

void service_messages_let_go(void)
{
	held = NULL;
	log_set_writer(NULL, false);
	service_messages_begin();
}

void service_messages_arming(const char *profile)
{
	arming = profile;
}

void service_say(enum service_event event, const char *profile, const char *format, ...)
{
	struct journal_entry entry;
	char text[8192];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	utf8_make_plain(text);
	journal_begin(&entry, events[event].priority, events[event].id, text);
	journal_text(&entry, "PERFGUARD_PROFILE", profile);
	if (!journal_send(&entry))
		return;
	fprintf(events[event].priority <= JOURNAL_WARNING ? stderr : stdout, "pg-collect: %s\n",
		text);
	fflush(stdout);
}

static void add_record(struct journal_entry *entry, const struct record *record)
{
	if (!record)
		return;
	journal_u64(entry, "PERFGUARD_SEQ", record->seq);
	if (record->kind == PERFGUARD_RECORD_KIND_LOST) {
		journal_u64(entry, "PERFGUARD_LOST", record->lost);
		return;
	}
	journal_text(entry, "PERFGUARD_COMM", record->comm);
	journal_u64(entry, "PERFGUARD_TID", record->tid);
	journal_u64(entry, "PERFGUARD_LIMIT_NS", record->threshold_ns);
	journal_u64(entry, "PERFGUARD_ELAPSED_NS",
		    record->kind == PERFGUARD_RECORD_KIND_REQUEST ? record->request.elapsed_ns :
								   record->account.elapsed_ns);
}

static const char *id_of(const char *kind)
{
	for (size_t i = 0; i < sizeof(alerts) / sizeof(alerts[0]); i++)
		if (!strcmp(alerts[i].kind, kind))
			return alerts[i].id;
	return alerts[0].id;
}

void service_say_alert(const struct sunk_alert *alert, const char *text, const char *json)
{
	struct journal_entry entry;

	journal_begin(&entry, alert_severity(alert->kind, alert->is_over), id_of(alert->kind), text);
	journal_text(&entry, "PERFGUARD_KIND", alert->kind);
	journal_text(&entry, "PERFGUARD_EXE", alert->exe);
	journal_text(&entry, "PERFGUARD_BUILD_ID", alert->build_id);
	if (alert->pid)
		journal_u64(&entry, "PERFGUARD_PID", alert->pid);
	if (alert->type)
		journal_u64(&entry, "PERFGUARD_TYPE", alert->type);
	add_record(&entry, alert->record);
	journal_text(&entry, "PERFGUARD_JSON", json);
	if (!journal_send(&entry))
		return;
	fputs(text, stdout);
	putchar('\n');
	fflush(stdout);
}
