// SPDX-License-Identifier: GPL-2.0

#include "app/serve/service-metrics.h"

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "app/common/command.h"
#include "app/forward/forwarder.h"
#include "app/serve/service-arming.h"
#include "app/serve/service-outputs.h"
#include "app/top/program-reading.h"
#include "app/top/top-containers.h"
#include "app/watch/profile-cache.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/time.h"
#include "http/http-accept.h"
#include "link/link.h"
#include "out/metrics/metrics.h"

/* Who asks more often gets the same once more. */
#define FRESH_NS NSEC_PER_SEC

#define OPEN_TYPE "application/openmetrics-text"
#define PLAIN_TYPE "text/plain"

static void clear_page(struct http_page *page)
{
	free(page->text);
	*page = (struct http_page){ 0 };
}

/* One that was armed just now has its names from the begin: they are labels. */
static int refresh_names(const struct metrics_sources *sources, const struct top_reading *reading)
{
	for (uint32_t i = 0; i < reading->nr_programs; i++)
		if (!profile_cache_find(sources->cache, reading->programs[i].armed->id))
			return profile_cache_refresh(sources->cache, sources->link);
	return 0;
}

static int note_programs(struct top_reading *reading, const struct profile_cache *cache)
{
	int error = 0;

	for (uint32_t i = 0; i < reading->nr_programs && !error; i++) {
		struct top_program *program = &reading->programs[i];
		const struct cached_profile *cached = profile_cache_find(cache, program->armed->id);

		if (cached)
			error = program_reading_note(program, cached);
	}
	return error;
}

static int read_containers(struct link *link, struct top_reading *reading)
{
	int error = 0;

	for (uint32_t i = 0; i < reading->nr_programs && !error; i++)
		error = top_containers_read(link, &reading->programs[i], NULL, 0);
	return error;
}

static int read_programs(struct service_metrics *metrics, struct top_reading *reading)
{
	const struct metrics_sources *sources = &metrics->sources;

	return program_reading_take(sources->link, NULL, reading) ?:
	       program_reading_hits(sources->link, reading) ?:
	       read_containers(sources->link, reading) ?:
	       refresh_names(sources, reading) ?: note_programs(reading, sources->cache) ?:
	       metrics_memory_update(&metrics->memory, reading);
}

struct output_list {
	struct metrics_output of[NR_FORWARDS];
	uint32_t nr;
};

static void add_output(const struct spool_forward *forward, void *arg)
{
	struct output_list *list = arg;
	struct metrics_output *output = &list->of[list->nr];

	if (list->nr == NR_FORWARDS)
		return;
	list->nr++;
	*output = (struct metrics_output){
		.passed = forward->passed,
		.refused = forward->refused,
		.left_out = forward->left_out,
		.lost = forward->lost,
		.waiting = forward->waiting,
		.retries = forward->retries,
	};
	snprintf(output->name, sizeof(output->name), "%s", forward->name);
}

/* What is behind @list is lent to the metrics. */
static void set_outputs(struct metrics *to, const struct service_outputs *outputs,
			struct output_list *list)
{
	struct spool_counts counts = { 0 };

	if (outputs->spool) {
		spool_count(outputs->spool, &counts);
		spool_forwards(outputs->spool, add_output, list);
	}
	to->outputs = list->of;
	to->nr_outputs = list->nr;
	to->spool = (struct metrics_spool){
		.is_there = outputs->spool != NULL,
		.alerts = counts.alerts,
		.bytes = counts.bytes,
		.dropped = counts.dropped,
		.unsaved = counts.unsaved,
	};
	to->alerts = outputs->counts.of;
	to->nr_kinds = ALERT_KINDS;
	to->reported = outputs->reported;
	to->silenced = outputs->silenced;
}

static int write_page(const struct metrics *metrics, bool is_open_metrics, struct http_page *ret)
{
	FILE *file = open_memstream(&ret->text, &ret->size);
	int error;

	if (!file)
		return -ENOMEM;
	error = metrics_text(file, metrics, is_open_metrics);
	if (fclose(file) || error) {
		clear_page(ret);
		return -ENOMEM;
	}
	ret->type = is_open_metrics ? OPEN_TYPE "; version=1.0.0; charset=utf-8" :
				      PLAIN_TYPE "; version=0.0.4; charset=utf-8";
	return 0;
}

static int write_pages(struct service_metrics *to, const struct top_reading *reading,
		       const struct stats *stats)
{
	const struct alert_hook *hook = &to->sources.outputs->hook;
	struct output_list outputs = { .nr = 0 };
	const struct metrics_kind commands[] = {
		{ "begun", hook->begun }, { "failed", hook->failed },
		{ "too_long", hook->ended }, { "left_out", hook->left_out },
	};
	struct metrics metrics = {
		.version = CMD_VERSION,
		.reading = reading,
		.memory = &to->memory,
		.nr_profiles = to->sources.profiles->nr,
		.nr_armed = to->sources.profiles->nr_armed,
		.nr_waiting = service_arm_waiting(to->sources.profiles),
		.is_alive = stats->is_alive,
		.lost_memory = stats->lost_memory,
		.lost_overwritten = stats->lost_overwritten,
		.torn_stacks = stats->torn_stacks,
		.crowded_stacks = stats->crowded_stacks,
		.commands = commands,
		.nr_commands = sizeof(commands) / sizeof(commands[0]),
	};

	set_outputs(&metrics, to->sources.outputs, &outputs);
	return write_page(&metrics, false, &to->plain) ?: write_page(&metrics, true, &to->open);
}

static int read_all(struct service_metrics *metrics)
{
	struct top_reading reading;
	struct stats stats;
	int error = link_stats(metrics->sources.link, &stats);

	if (error)
		return error;
	error = read_programs(metrics, &reading) ?: write_pages(metrics, &reading, &stats);
	program_reading_clear(&reading);
	link_stats_clear(&stats);
	return error;
}

static int make_page(void *arg, const char *accept, struct http_page *ret)
{
	struct service_metrics *metrics = arg;
	const struct http_page *page = http_accept_prefers(accept, OPEN_TYPE, PLAIN_TYPE) ?
					       &metrics->open : &metrics->plain;

	if (!metrics->read_ns || time_now_ns() - metrics->read_ns >= FRESH_NS) {
		clear_page(&metrics->plain);
		clear_page(&metrics->open);
		metrics->error = read_all(metrics);
		metrics->read_ns = time_now_ns();
	}
	if (metrics->error)
		return metrics->error;
	*ret = (struct http_page){ malloc(page->size), page->size, page->type };
	if (!ret->text)
		return -ENOMEM;
	memcpy(ret->text, page->text, page->size);
	return 0;
}

void service_metrics_init(struct service_metrics *metrics, const struct metrics_sources *sources)
{
	*metrics = (struct service_metrics){
		.sources = *sources,
		.source = { .path = "/metrics", .make = make_page, .arg = metrics },
	};
}

void service_metrics_deinit(struct service_metrics *metrics)
{
	http_endpoint_close(metrics->endpoint);
	metrics->endpoint = NULL;
	metrics_memory_deinit(&metrics->memory);
	clear_page(&metrics->plain);
	clear_page(&metrics->open);
}

static void report_address(const struct http_address *address, int error)
{
	char host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";

	getnameinfo((const struct sockaddr *)&address->at, address->size, host, sizeof(host), port,
		    sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
	log_error("metrics cannot be at port %s of %s: %s", port, host, strerror(-error));
}

static int open_endpoint(struct service_metrics *metrics, const struct http_address *address,
			 struct http_endpoint **ret)
{
	*ret = NULL;
	return address->size ? http_endpoint_open(address, &metrics->source, ret) : 0;
}

/* Where the old address is a part of the new one, such as that of all, it goes first. */
static int replace_endpoint(struct service_metrics *metrics, const struct http_address *address,
			    struct http_endpoint **ret)
{
	int error = open_endpoint(metrics, address, ret);

	if (error != -EADDRINUSE || !metrics->endpoint)
		return error;
	http_endpoint_close(metrics->endpoint);
	metrics->endpoint = NULL;
	error = open_endpoint(metrics, address, ret);
	if (error)
		open_endpoint(metrics, &metrics->address, &metrics->endpoint);
	return error;
}

int service_metrics_move(struct service_metrics *metrics, const struct http_address *address)
{
	struct http_endpoint *endpoint;
	int error;

	if (address->size == metrics->address.size &&
	    !memcmp(&address->at, &metrics->address.at, sizeof(address->at)))
		return 0;
	error = replace_endpoint(metrics, address, &endpoint);
	if (error) {
		report_address(address, error);
		return error == -ENOMEM ? CMD_FAILED : CMD_USAGE;
	}
	http_endpoint_close(metrics->endpoint);
	metrics->endpoint = endpoint;
	metrics->address = *address;
	return 0;
}

int service_metrics_fd(const struct service_metrics *metrics)
{
	return metrics->endpoint ? http_endpoint_fd(metrics->endpoint) : -1;
}

uint64_t service_metrics_run(struct service_metrics *metrics)
{
	return metrics->endpoint ? http_endpoint_run(metrics->endpoint) : UINT64_MAX;
}
