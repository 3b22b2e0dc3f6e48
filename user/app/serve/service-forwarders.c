// SPDX-License-Identifier: GPL-2.0

#include "app/serve/service-forwarders.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "app/forward/forward-status.h"
#include "app/serve/service-config.h"
#include "base/back-off.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/time.h"
#include "store/spool.h"

/* Before one that has ended is started again. */
#define FIRST_WAIT_NS NSEC_PER_SEC
#define LAST_WAIT_NS (300 * NSEC_PER_SEC)

static const char *name_of(int i)
{
	return i == SYNC ? "sync" : forward_names[i];
}

static void start(struct service_forwarders *forwarders, int i)
{
	struct service_forwarder *forwarder = &forwarders->of[i];
	char *config_path = (char *)forwarders->config_path;
	char *forward[] = { "pg-collect", "forward", "--child", "--config", config_path, "--to",
			    (char *)name_of(i), NULL };
	char *sync[] = { "pg-collect", "sync", "--child", "--config", config_path, NULL };
	int error;

	forwarder->due_ns = UINT64_MAX;
	forwarder->child = (struct child){ .pid = 0 };
	error = child_fork(&forwarder->child, "/proc/self/exe", i == SYNC ? sync : forward, true) ?:
		child_go(&forwarder->child);
	if (error)
		log_error("%s: cannot be started: %s", name_of(i), strerror(-error));
}

static void look_after(struct service_forwarders *forwarders, int i, uint64_t now_ns)
{
	struct service_forwarder *forwarder = &forwarders->of[i];
	bool is_well;

	if (!forwarder->child.pid || !child_has_ended(&forwarder->child))
		return;
	is_well = i == SYNC && !forwarder->child.status;
	forwarder->child = (struct child){ .pid = 0 };
	if (is_well) {
		forwarder->wait_ns = 0;
		forwarder->due_ns = now_ns + forwarders->sync_ns;
		return;
	}
	forwarder->wait_ns = back_off_next(forwarder->wait_ns, FIRST_WAIT_NS, LAST_WAIT_NS);
	forwarder->due_ns = now_ns + forwarder->wait_ns;
	log_warning("%s: its process has ended; it is started again in %" PRIu64 " s", name_of(i),
		    (uint64_t)(forwarder->wait_ns / NSEC_PER_SEC));
}

void service_forwarders_change(struct service_forwarders *forwarders,
			       const struct service_config *config, const char *config_path)
{
	const bool is_wanted[NR_SPEAKERS] = {
		[FORWARD_NATS] = config->spool && config->forwarding.nats.servers,
		[FORWARD_OTLP] = config->spool && config->forwarding.otlp.url,
		[SYNC] = config->forwarding.nats.servers && config->forwarding.sync_ns,
	};

	service_forwarders_stop(forwarders);
	forwarders->config_path = config_path;
	forwarders->sync_ns = config->forwarding.sync_ns;
	for (int i = 0; i < NR_SPEAKERS; i++)
		forwarders->of[i] = (struct service_forwarder){
			.due_ns = is_wanted[i] ? 0 : UINT64_MAX,
		};
}

void service_forwarders_tick(struct service_forwarders *forwarders, uint64_t now_ns)
{
	for (int i = 0; i < NR_SPEAKERS; i++) {
		look_after(forwarders, i, now_ns);
		if (forwarders->of[i].due_ns <= now_ns)
			start(forwarders, i);
	}
}

uint64_t service_forwarders_due(const struct service_forwarders *forwarders)
{
	uint64_t due_ns = UINT64_MAX;

	for (int i = 0; i < NR_SPEAKERS; i++)
		if (forwarders->of[i].due_ns < due_ns)
			due_ns = forwarders->of[i].due_ns;
	return due_ns;
}

void service_forwarders_stop(struct service_forwarders *forwarders)
{
	for (int i = 0; i < NR_SPEAKERS; i++) {
		child_stop(&forwarders->of[i].child);
		forwarders->of[i].child = (struct child){ .pid = 0 };
		forwarders->of[i].due_ns = UINT64_MAX;
	}
}

struct description {
	char *text;
	size_t size;
};

static void describe(const struct spool_forward *forward, void *arg)
{
	const struct description *to = arg;
	size_t len = strlen(to->text);

	len += (size_t)snprintf(to->text + len, to->size - len, "; %s: ", forward->name);
	if (len < to->size)
		forward_status_text(forward, to->text + len, to->size - len);
}

void service_forwarders_describe(const struct spool *spool, char *text, size_t size)
{
	struct description to = { .text = text, .size = size };

	spool_forwards(spool, describe, &to);
}
