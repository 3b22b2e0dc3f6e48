// SPDX-License-Identifier: GPL-2.0

#include <getopt.h>
#include <stdbool.h>

#include "app/arm/arming.h"
#include "app/common/command.h"
#include "app/common/options.h"

static bool is_all;

static const struct option_spec options[] = {
	{ 0, "ID", NULL, NULL, 0, .help = "a target's number, as 'pg-collect status' shows it" },
	{ 0, "NAME", NULL, NULL, 0,
	  .help = "the file of the program, or of the profile that guards it, with or without its path" },
	{ 0, "PID", NULL, NULL, 0, .help = "a watched process" },
	{ 0, "all", NULL, option_flag, 0, .help = "every target" },
	{ 0 },
};

static int run(int argc, char **argv)
{
	if (argc != optind + !is_all)
		return cmd_usage(argv[0], "give one target, or --all");
	return disarm(argv[optind]);
}

const struct verb cmd_disarm = {
	.name = "disarm",
	.summary = "end the watching of targets",
	.usage = "ID | NAME | PID\n--all",
	.about = "End the guarding or watching of a target, whoever began it, or of all.  Returns "
		 "when the program runs as if it had never been watched.",
	.notes = "A number is an ID if there is a target with it.",
	.exit = "0 ok, 1 failed or nothing to disarm, 2 wrong usage, 3 not possible on this "
		"machine.",
	.groups = { { options, &is_all } },
	.operands = VERB_OPERANDS,
	.run = run,
};
