// SPDX-License-Identifier: GPL-2.0

#include <stdbool.h>

#include "app/common/command.h"
#include "app/common/options.h"

static bool is_json;

static const struct option_spec options[] = {
	{ 0, "json", NULL, option_flag, 0, .help = "one JSON object a line" },
	{ 0 },
};

static int check(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return machine_check(is_json);
}

const struct verb cmd_check = {
	.name = "check",
	.summary = "find out whether this machine can run perfguard",
	.usage = "[--json]",
	.about = "Find out whether this machine can run perfguard: one line for each finding and "
		 "what to do about it.  Changes nothing.",
	.exit = "0 it can (notes aside), 1 failed, 2 wrong usage, 3 it cannot.",
	.groups = { { options, &is_json } },
	.run = check,
};
