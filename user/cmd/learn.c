// SPDX-License-Identifier: GPL-2.0

#include <errno.h>
#include <getopt.h>
#include <string.h>
#include <unistd.h>

#include "app/common/command.h"
#include "app/learn/carrying.h"
#include "app/learn/learning.h"
#include "app/learn/live-learning.h"
#include "base/duration.h"
#include "base/log.h"

static struct learning learning;

static struct live_options {
	bool is_live;
	uint64_t duration_ns;
} live;

static struct carry_options {
	const char *from; /* a profile; NULL: nothing is carried */
	const char *exe;
} carried;

static const struct option_spec carry_specs[] = {
	{ 0, "carry", "OLD", option_string, offsetof(struct carry_options, from),
	  .help = "take the profile OLD over to a new build of its program" },
	{ 'e', NULL, "PATH", option_string, offsetof(struct carry_options, exe),
	  .help = "with --carry: the new build (default: what is where the old one was)" },
	{ 0 },
};

static void init(void)
{
	learning_init(&learning);
	live.duration_ns = 600 * NSEC_PER_SEC;
	carried = (struct carry_options){ 0 };
}

/* Of a struct learning; train has one that does more. */
static const struct option_spec inline_specs[] = {
	{ 0, "inline", NULL, option_flag, offsetof(struct learning, options.is_inline),
	  .help = "choose guards for 'pg-collect arm --inline', of which many more are affordable: for a "
	  "profile trained, or traces recorded, by --inline" },
	{ 0 },
};

static const struct option_spec live_specs[] = {
	{ 0, "live", NULL, option_flag, offsetof(struct live_options, is_live),
	  .help = "learn limits from the units of the program as it is guarded now" },
	{ 0, "duration", "TIME", option_duration,
	  offsetof(struct live_options, duration_ns),
	  .help = "how long to watch them (default: 10m)" },
	{ 0 },
};

static int check(int argc, char **argv)
{
	if (live.is_live && optind != argc)
		return cmd_usage(argv[0], "--live takes no trace");
	if (carried.from && (live.is_live || optind != argc))
		return cmd_usage(argv[0], "--carry takes no trace, and not --live");
	if (carried.exe && !carried.from)
		return cmd_usage(argv[0], "-e belongs to --carry");
	return learning_check_options(&learning, argv[0]);
}

/* Without a trace, what it is to be derived from has to be there. */
static int check_profile(void)
{
	if (carried.from || !access(learning.path, R_OK))
		return 0;
	log_error("cannot open %s: %s", learning.path, strerror(errno));
	return CMD_FAILED;
}

/* Where a jump has room is known of what was recorded by jumps. */
static int check_windows(void)
{
	for (uint32_t i = 0; i < learning.samples.nr_functions; i++)
		if (learning.samples.functions[i].cost & SAMPLES_COST_WINDOW)
			return 0;
	log_error("%s knows no function that has room for a jump: train, or record, with --inline",
		  learning.path);
	return CMD_FAILED;
}

static int learn(int argc, char **argv)
{
	int ret = check(argc, argv);

	if (ret)
		return ret;
	learning_note_settings(&learning, argc, argv);
	ret = optind == argc ? check_profile() : 0;
	if (!ret)
		ret = learning_check_output(&learning);
	if (!ret)
		ret = carried.from ? profile_carry(&learning, carried.from, carried.exe)
				   : learning_load(&learning);
	for (int i = optind; i < argc && !ret; i++)
		ret = learning_add_file(&learning, argv[i]);
	if (!ret && learning.options.is_inline && !carried.from)
		ret = check_windows();
	if (!ret && live.is_live)
		ret = live_learn(&learning, live.duration_ns);
	else if (!ret && optind == argc && !carried.from)
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
		 "profile again from all that it knows, as for another --guard-share; with --live, "
		 "give it the limits of the machine where it is armed; with --carry, take over the "
		 "profile of another build of the program.",
	.exit = "0 ok, 1 failed (a profile that existed is unchanged), 2 wrong usage.",
	.groups = { { learning_options, &learning }, { inline_specs, &learning },
		    { live_specs, &live }, { carry_specs, &carried }, { options_verbose } },
	.operands = VERB_OPERANDS,
	.init = init,
	.run = learn,
};
