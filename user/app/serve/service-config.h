/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The configuration file of the service, perfguard.conf(5): lines "KEY = VALUE", for all
 * profiles or behind "[profile NAME]" for one.  It is strict: what is not known is an error.
 */
#ifndef _USER_APP_SERVE_SERVICE_CONFIG_H
#define _USER_APP_SERVE_SERVICE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "app/common/limit-options.h"
#include "app/serve/service-scope.h"
#include "app/serve/silence.h"
#include "http/http-address.h"
#include "net/nats-link.h"
#include "net/otlp-alerts.h"
#include "store/spool.h"

#define SERVICE_CONFIG_PATH "/etc/perfguard/perfguard.conf"

/* What is wanted of a profile, as the options of arm. */
struct service_settings {
	char *name; /* of its file; NULL: of all that have no section */
	uint32_t line; /* of the section */
	bool is_armed; /* at all */
	uint32_t budget_ppm;
	struct limit_options limits;
	bool is_inline;
	bool follows_requests;
	uint64_t request_limit_ns;
	uint64_t adapt_ns; /* the first span of learning limits; 0: none */
	struct service_scope scope; /* whose processes */
};

struct service_hook {
	char *command; /* NULL: none */
	bool is_shell; /* it is for /bin/sh; else words with blanks between them */
	uint64_t timeout_ns;
	uint32_t most; /* at once */
};

/* To which other machines alerts are passed on. */
struct service_forwarding {
	struct nats_settings nats;
	struct otlp_settings otlp;
	char *machine; /* its id; NULL: machine_id() */
	uint64_t sync_ns; /* how often profiles are shared; 0: never */
	char *trained; /* directory of those that are published; NULL: none are */
};

struct service_config {
	char *profiles; /* directory */
	struct service_settings all;
	struct service_settings *sections;
	uint32_t nr_sections;
	bool keeps_armed; /* when it ends */
	uint64_t window_ns; /* see watching_init() */
	char *spool; /* NULL: none */
	struct spool_bounds bounds;
	bool spools_stacks;
	struct service_hook hook;
	struct http_address metrics;
	struct service_forwarding forwarding;
	struct silence *silences;
	uint32_t nr_silences;
};

/*
 * Read the file at @path.  Returns 0 or an exit code; each error was reported, with file, line,
 * and what is allowed.  service_config_deinit() in either case.
 */
int service_config_read(const char *path, struct service_config *config);
void service_config_deinit(struct service_config *config);

/* What is wanted of the profile in the file of this name. */
const struct service_settings *service_config_find(const struct service_config *config,
						   const char *name);

#endif /* _USER_APP_SERVE_SERVICE_CONFIG_H */
