// SPDX-License-Identifier: GPL-2.0

#include <stdbool.h>
#include <stddef.h>

#include "app/common/command.h"
#include "app/common/options.h"
#include "app/forward/forwarder.h"
#include "app/serve/service-config.h"

static struct forwarder_options forward = { .config = SERVICE_CONFIG_PATH };

#define AT(member) offsetof(struct forwarder_options, member)

static const struct option_spec options[] = {
	{ 0, "config", "FILE", option_string, AT(config),
	  .help = "the configuration (default: " SERVICE_CONFIG_PATH ")" },
	{ 0, "to", "OUTPUT", option_choice, AT(to), .help = "where to: nats (default) or otlp",
	  .choices = forward_names },
	{ 0, "spool", "FILE", option_string, AT(spool),
	  .help = "another spool than that of the configuration" },
	{ 0, "once", NULL, option_flag, AT(is_once),
	  .help = "end when all that is in the spool was passed on" },
	{ 0, "child", NULL, option_flag, AT(is_child),
	  .help = "end with the process that has started it" },
	{ 0 },
};

static int run(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return forwarder_run(&forward);
}

const struct verb cmd_forward = {
	.name = "forward",
	.summary = "pass the alerts of a spool on to other machines",
	.usage = "[OPTION...]",
	.about = "Pass on the alerts that a service has kept in its spool, where the configuration has "
		 "it, and go on with each that comes, until SIGTERM.  The service does so by itself.",
	.exit = "0 ok, 1 failed, 2 wrong usage or configuration.",
	.groups = { { options, &forward }, { options_verbose } },
	.run = run,
};
