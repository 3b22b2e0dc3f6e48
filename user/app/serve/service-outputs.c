// SPDX-License-Identifier: GPL-2.0

#include "app/serve/service-outputs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/common/command.h"
#include "app/serve/service-messages.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/time.h"
#include "data/alert-record.h"
#include "out/supervisor.h"

/* A file that is damaged makes room for a new one, and is kept beside it. */
static int open_spool(const struct service_config *config, struct spool **ret)
{
	char why[SPOOL_WHY_MAX], *aside;
	int error = spool_open(config->spool, &config->bounds, ret, why);

	if (error == -EBADMSG && asprintf(&aside, "%s.damaged", config->spool) >= 0) {
		if (!rename(config->spool, aside)) {
			service_say(SERVICE_SPOOL_FAILED, NULL, "%s: it is kept as %s, and a new one begun",
				    why, aside);
			error = spool_open(config->spool, &config->bounds, ret, why);
		}
		free(aside);
	}
	if (error)
		service_say(SERVICE_SPOOL_FAILED, NULL, "%s", why);
	return error;
}

static bool is_silenced(const struct service_outputs *outputs, const struct sunk_alert *alert)
{
	const struct service_config *config = outputs->config;
	uint64_t now_ns = time_wall_ns();

	for (uint32_t i = 0; i < config->nr_silences; i++)
		if (silence_covers(&config->silences[i], alert, now_ns))
			return true;
	return false;
}

/* A small alert may find room where a large one did not: it goes on when it has done so for a while. */
#define GOES_ON_NS (3 * NSEC_PER_SEC)

/* Once when it begins to fail, and once when it goes on. */
static void report_spool(struct service_outputs *outputs, int error, const char *why)
{
	struct spool_counts counts;

	if (error)
		outputs->failed_ns = time_now_ns();
	if (!error == !outputs->failed_at ||
	    (!error && time_now_ns() - outputs->failed_ns < GOES_ON_NS))
		return;
	spool_count(outputs->spool, &counts);
	if (error) {
		outputs->failed_at = counts.unsaved;
		service_say(SERVICE_SPOOL_FAILED, NULL,
			    "%s; alerts are reported all the same, and counted until it goes on", why);
		return;
	}
	service_say(SERVICE_SPOOL_GOES_ON, NULL, "%s can be written again; %" PRIu64
		    " alerts are missing in it", outputs->config->spool,
		    counts.unsaved - outputs->failed_at + 1);
	outputs->failed_at = 0;
}

static void put_into_spool(struct service_outputs *outputs, const struct sunk_alert *alert,
			   bool silenced)
{
	const struct record *record = alert->record;
	struct spool_alert spooled = {
		.load = machine_here()->load,
		.time_ns = time_wall_ns(),
		.kind = alert->kind,
		.exe = alert->exe,
		.build_id = alert->build_id,
		.json = outputs->json,
		.text = outputs->text,
		.is_silenced = silenced,
	};
	char why[SPOOL_WHY_MAX];

	if (!outputs->spool)
		return;
	if (record) {
		spooled.seq = record->seq;
		spooled.time_ns = record->time_ns ? record->time_ns : spooled.time_ns;
		spooled.at_ns = record->at_ns;
	}
	if (record && outputs->config->spools_stacks) {
		spooled.messages = record->messages;
		spooled.messages_size = record->messages_size;
	}
	report_spool(outputs, spool_add(outputs->spool, &spooled, why), why);
}

/* What was written ends without a line end. */
static void close_text(FILE *file, char *text, size_t size)
{
	fflush(file);
	while (size && text[size - 1] == '\n')
		text[--size] = '\0';
}

static int take(struct alert_sink *sink, const struct sunk_alert *alert)
{
	struct service_outputs *outputs = (struct service_outputs *)sink;
	bool silenced = is_silenced(outputs, alert);

	alert_counts_add(&outputs->counts, alert->kind);
	fputc('\n', sink->text);
	fflush(sink->text);
	fflush(sink->json);
	close_text(sink->text, outputs->text, outputs->text_size);
	close_text(sink->json, outputs->json, outputs->json_size);
	put_into_spool(outputs, alert, silenced);
	/* What has no text is folded into others, or will be reported once more soon. */
	if (outputs->text[0] && silenced) {
		outputs->silenced++;
	} else if (outputs->text[0]) {
		outputs->reported++;
		service_say_alert(alert, outputs->text, outputs->json);
		alert_hook_add(&outputs->hook, outputs->json, strlen(outputs->json));
	}
	if (!strcmp(alert->kind, "replaced") && alert->exe && !outputs->replaced)
		outputs->replaced = strdup(alert->exe);
	rewind(sink->text);
	rewind(sink->json);
	supervisor_watchdog();
	return 0;
}

int service_outputs_init(struct service_outputs *outputs, const struct service_config *config)
{
	*outputs = (struct service_outputs){ .sink.take = take, .config = config };
	outputs->hook.wanted = config->hook;
	alert_counts_init(&outputs->counts);
	outputs->sink.text = open_memstream(&outputs->text, &outputs->text_size);
	outputs->sink.json = open_memstream(&outputs->json, &outputs->json_size);
	if (!outputs->sink.text || !outputs->sink.json)
		return cmd_no_memory();
	return config->spool && open_spool(config, &outputs->spool) ? CMD_FAILED : 0;
}

void service_outputs_change(struct service_outputs *outputs, const struct service_config *config)
{
	struct spool *spool = NULL;

	alert_hook_change(&outputs->hook, &config->hook);
	outputs->config = config;
	if (config->spool && open_spool(config, &spool))
		return;
	spool_close(outputs->spool);
	outputs->spool = spool;
	outputs->failed_at = 0;
}

void service_outputs_next(const struct service_outputs *outputs, uint64_t *ret_seq)
{
	if (outputs->spool)
		*ret_seq = spool_next(outputs->spool, machine_here()->load);
}

void service_outputs_deinit(struct service_outputs *outputs)
{
	alert_hook_stop(&outputs->hook);
	spool_close(outputs->spool);
	if (outputs->sink.text)
		fclose(outputs->sink.text);
	if (outputs->sink.json)
		fclose(outputs->sink.json);
	free(outputs->replaced);
	free(outputs->text);
	free(outputs->json);
}
