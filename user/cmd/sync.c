// SPDX-License-Identifier: GPL-2.0

#include <stdbool.h>
#include <stddef.h>

#include "app/common/command.h"
#include "app/common/options.h"
#include "app/serve/service-config.h"
#include "app/sync/syncing.h"

static struct syncing_options sync = { .config = SERVICE_CONFIG_PATH };

#define AT(member) offsetof(struct syncing_options, member)

static const struct option_spec options[] = {
	{ 0, "config", "FILE", option_string, AT(config),
	  .help = "the configuration (default: " SERVICE_CONFIG_PATH ")" },
	{ 0, "child", NULL, option_flag, AT(is_child),
	  .help = "end with the process that has started it, which gets SIGHUP for what is new" },
	{ 0 },
};

static int run(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return syncing_run(&sync);
}

const struct verb cmd_sync = {
	.name = "sync",
	.summary = "share profiles with other machines",
	.usage = "[OPTION...]",
	.about = "Publish the profiles that were trained here, by NATS, and fetch those of the programs "
		 "that are here from all machines: of each program one profile that is all of them.",
	.exit = "0 ok, 1 failed, 2 wrong usage or configuration.",
	.groups = { { options, &sync }, { options_verbose } },
	.run = run,
};
