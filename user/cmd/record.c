// SPDX-License-Identifier: GPL-2.0

#include "app/common/command.h"
#include "app/common/scope-options.h"
#include "app/learn/training-run.h"
#include "base/duration.h"

static struct training_run run;

#define AT(member) offsetof(struct training_run, member)

static const struct option_spec options[] = {
	{ 'o', NULL, "TRACE", option_string, AT(trace_path), .help = "the file to write" },
	{ 0, "timing", "PROFILE", option_string, AT(learning.path),
	  .help = "guard the program by this profile, and record the times" },
	{ 0, "duration", "TIME", option_duration, AT(duration_ns),
	  .help = "how long to record in all (default: 40 seconds)" },
	{ 0 },
};

static void init(void)
{
	training_run_init(&run, "record", 40 * NSEC_PER_SEC);
}

static int record(int argc, char **argv)
{
	int ret = selector_take_command(&run.recording.session.selector, argc, argv);

	if (ret)
		return ret;
	if (!run.trace_path)
		return cmd_usage(argv[0], "give the file of the trace by -o TRACE");
	return training_run_record(&run);
}

const struct verb cmd_record = {
	.name = "record",
	.summary = "record what training needs, to learn from it elsewhere",
	.usage = "-o TRACE [OPTION...] -p PID\n-o TRACE [OPTION...] -e EXE\n"
		 "-o TRACE [OPTION...] --unit NAME | --container ID | ...\n"
		 "-o TRACE [OPTION...] -- CMD [ARG...]",
	.about = "Record what training needs of a program, for pg-collect learn on another "
		 "machine: first its call trees; and, with the profile that was learnt from them, "
		 "how long its units take.",
	.groups = {
		{ selector_options, &run.recording.session.selector },
		{ scope_options, &run.recording.session.selector.scope },
		{ options, &run },
		{ training_run_options, &run },
		{ options_verbose },
	},
	.operands = VERB_COMMAND,
	.init = init,
	.run = record,
};
