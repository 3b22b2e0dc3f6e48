// SPDX-License-Identifier: GPL-2.0

#include <stdbool.h>
#include <stddef.h>

#include "app/common/command.h"
#include "app/common/options.h"
#include "app/serve/service-config.h"
#include "app/serve/service.h"
#include "http/http-address.h"

static struct serve_options {
	const char *config;
	bool is_check;
	bool has_metrics;
	struct http_address metrics;
} serve = { .config = SERVICE_CONFIG_PATH };

static int parse_metrics(const struct option_use *use, void *to)
{
	struct serve_options *options = to;

	options->has_metrics = true;
	if (!http_address_parse(use->text, &options->metrics))
		return 0;
	return cmd_usage(use->verb, "%s is " HTTP_ADDRESS_ALLOWED ", not '%s'", use->name, use->text);
}

#define AT(member) offsetof(struct serve_options, member)

static const struct option_spec options[] = {
	{ 0, "config", "FILE", option_string, AT(config),
	  .help = "the configuration (default: " SERVICE_CONFIG_PATH ")" },
	{ 0, "metrics", "ADDRESS", parse_metrics, 0,
	  .help = "where to serve metrics, whatever the configuration has: a port of this machine alone, "
	  "ADDRESS:PORT or none" },
	{ 0, "check", NULL, option_flag, AT(is_check),
	  .help = "only read the configuration, and say what is wrong with it" },
	{ 0 },
};

static int run(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return serve.is_check ? service_check(serve.config) : service_run(serve.config, serve.has_metrics ? &serve.metrics : NULL);
}

const struct verb cmd_serve = {
	.name = "serve",
	.summary = "guard by all profiles of a directory, as a service",
	.usage = "[OPTION...]",
	.about = "Arm the profiles of a directory, watch what they guard, and give each alert to the "
		 "journal, to a spool and to a command, as the configuration has it, until SIGTERM.  "
		 "SIGHUP reads the configuration and arms the profiles again, without a gap.",
	.exit = "0 ok, 1 failed, 2 wrong usage or configuration, 3 not possible on this machine.",
	.groups = { { options, &serve }, { options_verbose } },
	.run = run,
};
