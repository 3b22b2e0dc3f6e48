// SPDX-License-Identifier: GPL-2.0

#include <getopt.h>

#include "app/common/command.h"
#include "app/common/options.h"
#include "app/learn/comparing.h"

static struct comparing comparing;

static const struct option_spec options[] = {
	{ 0, "live", NULL, option_flag, offsetof(struct comparing, is_live),
	  .help = "compare FILE with what the module has counted since it was armed" },
	{ 0, "json", NULL, option_flag, offsetof(struct comparing, is_json),
	  .help = "print one JSON object, of all types" },
	{ 0 },
};

static int diff(int argc, char **argv)
{
	if (comparing.is_live ? optind + 1 != argc : optind + 2 != argc)
		return cmd_usage(argv[0], comparing.is_live ? "give one profile with --live" :
							      "give two profiles");
	comparing.before = argv[optind];
	comparing.after = comparing.is_live ? NULL : argv[optind + 1];
	return comparing_run(&comparing);
}

const struct verb cmd_diff = {
	.name = "diff",
	.summary = "show how two profiles differ",
	.usage = "[--json] BEFORE AFTER\n--live [--json] FILE",
	.about = "Show how the units of a program differ in two profiles, as of before and after an "
		 "update, or of two machines: types that are new or gone, slower or faster, and in "
		 "which part of their time; and functions that they did not call before.",
	.exit = "0 ok, whether they differ or not, 1 failed, 2 wrong usage, 3 not possible on this "
		"machine (--live).",
	.groups = { { options, &comparing } },
	.operands = VERB_OPERANDS,
	.run = diff,
};
