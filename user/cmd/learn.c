// SPDX-License-Identifier: GPL-2.0

#include <getopt.h>

#include "app/common/command.h"
#include "app/learn/learning.h"

static struct learning learning;

static void init(void)
{
	learning_init(&learning);
}

static int learn(int argc, char **argv)
{
	int ret = learning_check_options(&learning, argv[0]);

	if (ret)
		return ret;
	learning_note_settings(&learning, argc, argv);
	ret = learning_load(&learning);
	for (int i = optind; i < argc && !ret; i++)
		ret = learning_add_file(&learning, argv[i]);
	if (!ret && optind == argc)
		ret = learning_derive(&learning);
	if (!ret)
		ret = learning_save(&learning);
	learning_deinit(&learning);
	return ret;
}

const struct verb cmd_learn = {
	.name = "learn",
	.summary = "make a profile of what was recorded",
	.usage = "-o FILE [OPTION...] [TRACE...]",
	.about = "Learn from traces that pg-collect record wrote.  Without a trace, derive the "
		 "profile again from all that it knows, as for another --guard-share.",
	.exit = "0 ok, 1 failed (a profile that existed is unchanged), 2 wrong usage.",
	.groups = { { learning_options, &learning }, { options_verbose } },
	.operands = VERB_OPERANDS,
	.init = init,
	.run = learn,
};
