// SPDX-License-Identifier: GPL-2.0

#include "app/common/command.h"
#include "app/common/scope-options.h"
#include "app/learn/training-run.h"
#include "base/duration.h"

static struct training_run run;

#define AT(member) offsetof(struct training_run, member)

static const struct option_spec options[] = {
	{ 0, "duration", "TIME", option_duration, AT(duration_ns),
	  .help = "how long to train in all (default: 60 seconds)" },
	{ 0, "runs", "N", option_count, AT(runs), .help = "do all of it N times" },
	{ 0, "dry-run", NULL, option_flag, AT(is_dry),
	  .help = "watch the program for some seconds without a probe in it, and say what training would do" },
	{ 0, "requests", NULL, option_flag, AT(recording.follows_requests),
	  .help = "learn how long the requests of clients take, too, for 'pg-collect arm --requests'; "
	  "units take a little longer while they are timed" },
	{ 0 },
};

static void init(void)
{
	training_run_init(&run, "train", 60 * NSEC_PER_SEC);
}

static int train(int argc, char **argv)
{
	int ret = selector_take_command(&run.recording.session.selector, argc, argv);

	if (!ret)
		ret = learning_check_options(&run.learning, argv[0]);
	if (ret)
		return ret;
	learning_note_settings(&run.learning, argc, argv);
	return training_run_train(&run);
}

const struct verb cmd_train = {
	.name = "train",
	.summary = "learn a program's units, and write a profile",
	.usage = "-o FILE [OPTION...] -p PID\n-o FILE [OPTION...] -e EXE\n"
		 "-o FILE [OPTION...] --unit NAME | --container ID | ...\n"
		 "-o FILE [OPTION...] -- CMD [ARG...]",
	.about = "Learn what a program does while it runs under its normal load: its event loops, "
		 "the types of their units, few guards that identify the types, and how long each "
		 "type takes.  In three stages: coverage (which functions run), structure (call "
		 "trees; the program is much slower meanwhile) and timing (guards only, as later).",
	.exit = "0 ok, 1 failed (a profile that existed is unchanged), 2 wrong usage, 3 not "
		"possible on this machine.",
	.groups = {
		{ selector_options, &run.recording.session.selector },
		{ scope_options, &run.recording.session.selector.scope },
		{ options, &run },
		{ training_run_options, &run },
		{ learning_options, &run.learning },
		{ options_verbose },
	},
	.operands = VERB_COMMAND,
	.init = init,
	.run = train,
};
