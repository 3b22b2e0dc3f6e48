// SPDX-License-Identifier: GPL-2.0

#include "app/serve/service.h"

#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/common/command.h"
#include "app/serve/service-arming.h"
#include "app/serve/service-config.h"
#include "app/serve/service-forwarders.h"
#include "app/serve/service-messages.h"
#include "app/serve/service-metrics.h"
#include "app/serve/service-outputs.h"
#include "app/watch/alert-stream.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/pending.h"
#include "base/time.h"
#include "link/link.h"
#include "out/supervisor.h"

enum { STATUS_MAX = 2048 };

/* How often who supervises us hears how it is. */
#define STATUS_NS NSEC_PER_SEC

struct service {
	const char *path;
	struct service_config config;
	struct service_profiles profiles;
	struct service_outputs outputs;
	struct service_forwarders forwarders;
	struct service_metrics metrics;
	const struct http_address *metrics_at; /* the operator wants them; NULL: as configured */
	bool wants_reload;
	bool has_begun; /* there is something to be ended */
	uint64_t status_ns; /* when it was said last */
	char status[STATUS_MAX];
	uint64_t watchdog_ns;
};

static void describe(const struct service *service, char text[STATUS_MAX])
{
	const struct service_outputs *outputs = &service->outputs;
	struct spool_counts counts = { 0 };

	if (outputs->spool)
		spool_count(outputs->spool, &counts);
	snprintf(text, STATUS_MAX,
		 "guarding by %" PRIu32 " of %" PRIu32 " profiles; %" PRIu64 " alerts reported, %" PRIu64
		 " silenced; spool: %" PRIu64 " kept, %" PRIu64 " dropped, %" PRIu64
		 " not saved; on-alert: %" PRIu64 " run, %" PRIu64 " failed, %" PRIu64
		 " too long, %" PRIu64 " left out", service->profiles.nr_armed,
		 service->profiles.nr, outputs->reported, outputs->silenced, counts.alerts,
		 counts.dropped, counts.unsaved, outputs->hook.begun, outputs->hook.failed,
		 outputs->hook.ended, outputs->hook.left_out);
	if (outputs->spool)
		service_forwarders_describe(outputs->spool, text, STATUS_MAX);
	service_arm_describe(&service->profiles, text, STATUS_MAX);
}

static void say_status(struct service *service, void (*say)(const char *status))
{
	describe(service, service->status);
	say(service->status);
	service->status_ns = time_now_ns();
}

/* What it said last is true no more: say it, but not too often. */
static void update_status(struct service *service, uint64_t now_ns)
{
	char text[STATUS_MAX];

	if (now_ns - service->status_ns < STATUS_NS)
		return;
	describe(service, text);
	if (strcmp(text, service->status))
		say_status(service, supervisor_status);
	service->status_ns = now_ns;
}

/* Equal alerts are folded as the configuration has it. */
static void set_window(const struct service *service, struct alert_stream *stream)
{
	stream->window_ns = service->config.window_ns;
	stream->watching.fold.window_ns = stream->window_ns;
}

static int move_metrics(struct service *service)
{
	return service_metrics_move(&service->metrics, service->metrics_at ?: &service->config.metrics);
}

static int begin(struct alert_stream *stream, void *arg)
{
	struct service *service = arg;
	int ret = service_outputs_init(&service->outputs, &service->config);

	service->has_begun = true;
	service->metrics.sources.link = stream->link;
	if (ret)
		return ret;
	pending_reload_by_hup();
	link_keep_messages(stream->link);
	stream->watching.sink = &service->outputs.sink;
	service_outputs_next(&service->outputs, &stream->next);
	service_forwarders_change(&service->forwarders, &service->config, service->path);
	ret = service_arm(&service->profiles, &service->config, stream->link,
			  supervisor_watchdog);
	if (!ret)
		say_status(service, supervisor_ready);
	return ret;
}

/* What cannot be read changes nothing. */
static void reload(struct service *service, struct alert_stream *stream)
{
	struct service_config config;

	supervisor_reloading();
	if (service_config_read(service->path, &config)) {
		service_config_deinit(&config);
		log_error("%s is not used: what was configured before stays", service->path);
	} else {
		struct service_config before = service->config;

		service->config = config;
		service_outputs_change(&service->outputs, &service->config);
		service_forwarders_change(&service->forwarders, &service->config, service->path);
		set_window(service, stream);
		move_metrics(service);
		service_arm(&service->profiles, &service->config, stream->link,
			    supervisor_watchdog);
		service_config_deinit(&before);
	}
	say_status(service, supervisor_ready);
}

static bool on_signal(int signal, void *arg)
{
	struct service *service = arg;

	if (signal == SIGHUP)
		service->wants_reload = true;
	return signal == SIGINT || signal == SIGTERM;
}

/* An update that has the build which the profile is of leaves no gap to be filled by hand. */
static void arm_replaced(struct service *service, struct link *link)
{
	char *program = service->outputs.replaced;

	if (!program)
		return;
	service->outputs.replaced = NULL;
	service_arm_program(&service->profiles, program, link);
	free(program);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t turn(struct alert_stream *stream, void *arg)
{
	struct service *service = arg;
	uint64_t now_ns = time_now_ns(), due_ns, metrics_ns;

	if (service->wants_reload) {
		service->wants_reload = false;
		reload(service, stream);
	}
	arm_replaced(service, stream->link);
	service_arm_learnt(&service->profiles, stream->link);
	service_arm_scopes(&service->profiles, stream->link, now_ns);
	alert_hook_tick(&service->outputs.hook, now_ns);
	service_forwarders_tick(&service->forwarders, now_ns);
	update_status(service, now_ns);
	supervisor_watchdog();
	metrics_ns = service_metrics_run(&service->metrics);
	stream->owner_fd = service_metrics_fd(&service->metrics);
	due_ns = least(alert_hook_due(&service->outputs.hook),
		       least(service_forwarders_due(&service->forwarders),
			     service_arm_due(&service->profiles)));
	now_ns = time_now_ns();
	due_ns = least(due_ns > now_ns ? due_ns - now_ns : 0, metrics_ns);
	/* Twice as often as is asked for. */
	return service->watchdog_ns ? least(due_ns, service->watchdog_ns / 2) : due_ns;
}

static void end(struct alert_stream *stream, void *arg)
{
	struct service *service = arg;

	supervisor_stopping("ending");
	if (!service->has_begun)
		return;
	service_disarm(&service->profiles, stream->link, service->config.keeps_armed);
	service_forwarders_stop(&service->forwarders);
	service_outputs_deinit(&service->outputs);
}

int service_run(const char *config_path, const struct http_address *metrics)
{
	static struct service service;
	const struct alert_stream_owner owner = {
		.begin = begin, .signal = on_signal, .turn = turn, .end = end, .arg = &service,
	};
	static struct alert_stream stream;
	const struct metrics_sources sources = {
		.cache = &stream.watching.cache,
		.profiles = &service.profiles,
		.outputs = &service.outputs,
	};
	int ret;

	service.path = config_path;
	service.metrics_at = metrics;
	service_metrics_init(&service.metrics, &sources);
	service.watchdog_ns = supervisor_watchdog_ns();
	service_messages_begin();
	ret = service_config_read(config_path, &service.config) ?: move_metrics(&service);
	if (!ret) {
		stream.owner = &owner;
		stream.window_ns = service.config.window_ns;
		ret = alert_stream_run(&stream);
	}
	service_metrics_deinit(&service.metrics);
	service_config_deinit(&service.config);
	service_messages_end();
	return ret;
}

int service_check(const char *config_path)
{
	struct service_config config;
	int ret = service_config_read(config_path, &config);

	service_config_deinit(&config);
	if (!ret)
		printf("%s is well\n", config_path);
	return ret;
}
