// SPDX-License-Identifier: GPL-2.0

#include "app/watch/spooled-alerts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/common/command.h"
#include "app/watch/watching.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/time.h"
#include "link/link.h"
#include "out/line.h"
#include "out/read/written-line.h"
#include "store/spool.h"

struct printing {
	const struct spooled_alerts *wanted;
	struct watching watching; /* only of those that are unwound */
};

/* The record it was, with what is known of its program. */
struct unwound {
	struct watching *watching;
	const struct spool_alert *alert;
	bool is_printed;
};

int spooled_alerts_since(const char *text, uint64_t *ret_ns)
{
	uint64_t ago_ns, now_ns = time_wall_ns();

	if (!time_parse(text, ret_ns))
		return 0;
	if (duration_parse(text, &ago_ns))
		return -EINVAL;
	*ret_ns = ago_ns < now_ns ? now_ns - ago_ns : 0;
	return 0;
}

static int unwind(struct record *record, void *arg)
{
	struct unwound *unwound = arg;
	struct watching *watching = unwound->watching;

	/* Its process may be gone, and another one have its number. */
	record->is_gone = !identity_is(record->pid, unwound->alert->exe, unwound->alert->build_id);
	identities_deinit(&watching->identities);
	if (identity_set(&watching->identities, record->image_id, unwound->alert->exe,
			 unwound->alert->build_id))
		return -ENOMEM;
	record->at_ns = unwound->alert->at_ns;
	unwound->is_printed = true;
	return watching_take(watching, record);
}

/* Where it was reported: a spool may have come from another machine. */
static void set_machine(struct machine_identity *machine, const struct spool_alert *alert)
{
	*machine = (struct machine_identity){ 0 };
	written_line_host(alert->json, machine->host, sizeof(machine->host));
	snprintf(machine->load, sizeof(machine->load), "%s", alert->load ?: "");
	snprintf(machine->boot, sizeof(machine->boot), "%.*s",
		 (int)strcspn(machine->load, "/"), machine->load);
}

/* Returns 0 if it was printed, 1 if there is nothing to be unwound, or an error. */
static int print_unwound(struct printing *printing, const struct spool_alert *alert)
{
	struct unwound unwound = { .watching = &printing->watching, .alert = alert };
	struct machine_identity machine;
	uint8_t *messages;
	int ret;

	if (!alert->messages_size)
		return 1;
	messages = malloc(alert->messages_size);
	if (!messages)
		return -ENOMEM;
	memcpy(messages, alert->messages, alert->messages_size);
	set_machine(&machine, alert);
	line_set_machine(&machine);
	ret = link_record_decode(messages, alert->messages_size, unwind, &unwound);
	line_set_machine(NULL);
	free(messages);
	return ret ?: !unwound.is_printed;
}

static int print_brief(const char *json)
{
	char *text = written_line_brief(json);

	puts(text ?: json);
	free(text);
	return ferror(stdout) ? -EIO : 0;
}

static int print(const struct spool_alert *alert, void *arg)
{
	struct printing *printing = arg;
	const char *text = printing->wanted->is_json ? alert->json : alert->text;
	int ret = printing->wanted->is_unwound ? print_unwound(printing, alert) : 1;

	if (ret != 1)
		return ret;
	if (printing->wanted->is_brief)
		return print_brief(text);
	if (*text)
		puts(text);
	return ferror(stdout) ? -EIO : 0;
}

static int print_all(struct spool *spool, struct printing *printing)
{
	const struct spooled_alerts *wanted = printing->wanted;
	char why[SPOOL_WHY_MAX] = "";
	int error = spool_read(spool, wanted->since_ns, wanted->last, print, printing, why);

	if (!error || ferror(stdout))
		return error ? CMD_FAILED : 0; /* pg-collect.c reports it */
	log_error("%s", *why ? why : strerror(-error));
	return CMD_FAILED;
}

int spooled_alerts_print(const struct spooled_alerts *wanted)
{
	struct printing printing = { .wanted = wanted };
	char why[SPOOL_WHY_MAX];
	struct spool *spool;
	int ret = CMD_OK;

	if (access(wanted->path, R_OK)) {
		log_error("cannot open %s: %s", wanted->path, strerror(errno));
		return CMD_FAILED;
	}
	if (spool_open(wanted->path, NULL, &spool, why)) {
		log_error("%s", why);
		return CMD_FAILED;
	}
	if (wanted->is_unwound && watching_init(&printing.watching, NULL, 0, wanted->is_json))
		ret = cmd_no_memory();
	printing.watching.is_brief = wanted->is_brief;
	if (!ret)
		ret = print_all(spool, &printing);
	watching_deinit(&printing.watching);
	spool_close(spool);
	return ret;
}
