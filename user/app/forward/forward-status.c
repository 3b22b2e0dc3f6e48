// SPDX-License-Identifier: GPL-2.0

#include "app/forward/forward-status.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "app/serve/service-config.h"
#include "base/log.h"
#include "base/time.h"
#include "out/json.h"
#include "out/line.h"
#include "out/text.h"
#include "store/spool.h"

struct output_printing {
	struct json json;
	bool is_json;
	bool has_title;
};

void forward_status_text(const struct spool_forward *forward, char *text, size_t size)
{
	snprintf(text, size, "%" PRIu64 " passed on, %" PRIu64 " refused, %" PRIu64 " lost, %" PRIu64
		 " waiting%s%s", forward->passed, forward->refused, forward->lost, forward->waiting,
		 forward->state[0] ? ", " : "", forward->state);
}

static void put_time(struct json *json, const char *name, uint64_t time_ns)
{
	char text[TIME_TEXT_MAX];

	json_string(json, name, time_ns ? time_format(time_ns, text) : NULL);
}

static void print_json(struct json *json, const struct spool_forward *forward)
{
	line_begin(json, "output", 0);
	json_string(json, "output", forward->name);
	json_u64(json, "passed", forward->passed);
	json_u64(json, "refused", forward->refused);
	json_u64(json, "left_out", forward->left_out);
	json_u64(json, "lost", forward->lost);
	json_u64(json, "waiting", forward->waiting);
	json_u64(json, "retries", forward->retries);
	json_string(json, "state", forward->state[0] ? forward->state : NULL);
	put_time(json, "changed", forward->changed_ns);
	put_time(json, "passed_last", forward->passed_ns);
	line_end(json, stdout);
}

static void print(const struct spool_forward *forward, void *arg)
{
	struct output_printing *printing = arg;
	char text[512];

	if (printing->is_json) {
		print_json(&printing->json, forward);
		return;
	}
	if (!printing->has_title)
		puts("Outputs of the service:");
	printing->has_title = true;
	forward_status_text(forward, text, sizeof(text));
	printf("  %s: ", forward->name);
	text_safe(stdout, text);
	putchar('\n');
}

void forward_status_print(const char *config_path, bool is_json)
{
	struct output_printing printing = { .is_json = is_json };
	struct service_config config;
	char why[SPOOL_WHY_MAX];
	struct spool *spool;

	if (access(config_path, R_OK))
		return;
	if (!service_config_read(config_path, &config) && config.spool &&
	    !access(config.spool, F_OK)) {
		if (spool_open(config.spool, NULL, &spool, why))
			log_warning("%s", why);
		else
			spool_forwards(spool, print, &printing);
		spool_close(spool);
	}
	service_config_deinit(&config);
	json_deinit(&printing.json);
}
