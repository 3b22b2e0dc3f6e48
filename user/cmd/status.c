// SPDX-License-Identifier: GPL-2.0

#include "app/common/command.h"
#include "app/common/options.h"
#include "app/watch/status-query.h"

static struct status status = { .max_types = 5 };

#define AT(member) offsetof(struct status, member)

static const struct option_spec options[] = {
	{ 0, "types", "N", option_count, AT(max_types),
	  .help = "show N types of each loop, the most costly first (default: 5)" },
	{ 0, "json", NULL, option_flag, AT(is_json),
	  .help = "one JSON object a line: targets, processes, profiles each with its guards and "
	  "types, hooks, then the module" },
	{ 0 },
};

static int run(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return status_print(&status);
}

const struct verb cmd_status = {
	.name = "status",
	.summary = "show what is watched, and the module's counters",
	.usage = "[OPTION...]",
	.about = "Show the targets, their processes, the profiles that guard them with what their "
		 "guards and types counted, the counters of the module and the wait calls it is "
		 "hooked into.",
	.groups = { { options, &status } },
	.run = run,
};
