// SPDX-License-Identifier: GPL-2.0

#include <getopt.h>
#include <stdbool.h>

#include "app/audit/program-check.h"
#include "app/audit/session.h"
#include "app/common/command.h"
#include "app/common/check-report.h"
#include "app/common/options.h"
#include "base/duration.h"

#define DEFAULT_DURATION_NS (10 * NSEC_PER_SEC)

static struct findings findings;

static struct session session = {
	.verb = "check",
	.signals = -1,
	.duration_ns = DEFAULT_DURATION_NS,
	.turn_fd = -1,
	.selector.fd = -1,
};

static const struct option_spec options[] = {
	{ 0, "json", NULL, option_flag, offsetof(struct findings, is_json),
	  .help = "one JSON object a line" },
	{ 0 },
};

static const struct option_spec program_options[] = {
	{ 0, "duration", "TIME", option_duration, offsetof(struct session, duration_ns),
	  .help = "how long to watch a program (default: 10 seconds)" },
	{ 0 },
};

static int check(int argc, char **argv)
{
	const struct selector *selector = &session.selector;
	bool has_program = selector->pid || selector->exe || optind < argc;
	int ret = has_program ? selector_take_command(&session.selector, argc, argv) : 0;

	if (ret)
		return ret;
	machine_check(&findings);
	if (has_program && !findings.is_bad)
		ret = program_check(&findings, &session);
	findings_deinit(&findings);
	return ret ? ret : findings.is_bad ? CMD_IMPOSSIBLE : CMD_OK;
}

const struct verb cmd_check = {
	.name = "check",
	.summary = "find out whether this machine can run perfguard",
	.usage = "[--json]\n[OPTION...] -p PID\n[OPTION...] -e EXE\n[OPTION...] -- CMD [ARG...]",
	.about = "Find out whether this machine can run perfguard: one line for each finding and "
		 "what to do about it.  Changes nothing.\n"
		 "With a program, which should have its load, watch it for a while as well: whether "
		 "its work is in units of event loops.  Nothing stays armed.",
	.exit = "0 it can (notes aside), 1 failed, 2 wrong usage, 3 it cannot.",
	.groups = {
		{ selector_options, &session.selector },
		{ options, &findings },
		{ program_options, &session },
	},
	.operands = VERB_COMMAND,
	.run = check,
};
