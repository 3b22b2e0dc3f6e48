// SPDX-License-Identifier: GPL-2.0

#include "app/common/command.h"
#include "app/common/options.h"
#include "app/forward/forward-status.h"
#include "app/serve/service-config.h"
#include "app/watch/status-query.h"

static struct status status = { .max_types = 5 };
static const char *config = SERVICE_CONFIG_PATH;

#define AT(member) offsetof(struct status, member)

static const struct option_spec options[] = {
	{ 0, "types", "N", option_count, AT(max_types),
	  .help = "show N types of each loop, the most costly first (default: 5)" },
	{ 0, "json", NULL, option_flag, AT(is_json),
	  .help = "one JSON object a line: targets, processes, profiles each with its guards and "
	  "types, hooks, the module, outputs of the service" },
	{ 0 },
};

static const struct option_spec config_options[] = {
	{ 0, "config", "FILE", option_string, 0,
	  .help = "the configuration of the service whose outputs are shown, if it is there (default: "
	  SERVICE_CONFIG_PATH ")" },
	{ 0 },
};

static int run(int argc, char **argv)
{
	int ret;

	(void)argc;
	(void)argv;
	ret = status_print(&status);
	if (!ret)
		forward_status_print(config, status.is_json);
	return ret;
}

const struct verb cmd_status = {
	.name = "status",
	.summary = "show what is watched, and the module's counters",
	.usage = "[OPTION...]",
	.about = "Show the targets, their processes, the profiles that guard them with what their "
		 "guards and types counted, the counters of the module and the wait calls it is "
		 "hooked into; and how far the service is with passing alerts on.",
	.groups = { { options, &status }, { config_options, &config } },
	.run = run,
};
