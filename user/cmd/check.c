// SPDX-License-Identifier: GPL-2.0

#include <getopt.h>
#include <stdbool.h>

#include "app/audit/program-check.h"
#include "app/audit/session.h"
#include "app/common/command.h"
#include "app/common/check-report.h"
#include "app/common/options.h"
#include "app/common/program-traits.h"
#include "app/common/scope-options.h"
#include "app/record/inline-check.h"
#include "base/duration.h"

#define DEFAULT_DURATION_NS (10 * NSEC_PER_SEC)

static struct findings findings;
static struct {
	bool is_static; /* the file alone */
	bool is_inline; /* and what would be recorded by jumps */
} files;

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

static const struct option_spec static_options[] = {
	{ 0, "static", NULL, option_flag, offsetof(typeof(files), is_static),
	  .help = "say what can be expected of the program by its file alone; it need not run, and the "
	  "module is not needed" },
	{ 0, "inline", NULL, option_flag, offsetof(typeof(files), is_inline),
	  .help = "say which of its functions 'pg-collect train --inline' would record by jumps, and why "
	  "not the others; with -p, of its libraries, too; as --static else" },
	{ 0 },
};

static const struct option_spec program_options[] = {
	{ 0, "duration", "TIME", option_duration, offsetof(struct session, duration_ns),
	  .help = "how long to watch a program (default: 10 seconds)" },
	{ 0 },
};

static int check_program(void)
{
	int ret = selector_resolve(&session.selector) ?:
		  program_traits_check(&findings, &session.selector);

	if (!ret && files.is_inline)
		return inline_check(&findings, &session.selector);
	return ret || files.is_static || findings.is_bad ? ret : program_check(&findings, &session);
}

static int check(int argc, char **argv)
{
	const struct selector *selector = &session.selector;
	bool has_program = selector_is_given(selector) || optind < argc;
	int ret = has_program ? selector_take_command(&session.selector, argc, argv) : 0;

	if (ret)
		return ret;
	if ((files.is_static || files.is_inline) && !has_program)
		return cmd_usage(argv[0], "%s is of a program: give one of -p PID, -e EXE and -- CMD",
				 files.is_inline ? "--inline" : "--static");
	if (!files.is_static && !files.is_inline)
		machine_check(&findings);
	if (has_program)
		ret = check_program();
	findings_deinit(&findings);
	return ret ? ret : findings.is_bad ? CMD_IMPOSSIBLE : CMD_OK;
}

const struct verb cmd_check = {
	.name = "check",
	.summary = "find out whether this machine can run perfguard",
	.usage = "[--json]\n[OPTION...] -p PID\n[OPTION...] -e EXE\n[OPTION...] --unit NAME | --container ID | ...\n[OPTION...] -- CMD [ARG...]",
	.about = "Find out whether this machine can run perfguard: one line for each finding and "
		 "what to do about it.  Changes nothing.\n"
		 "With a program, first find out what can be expected of it by its file: functions and their "
		 "names, and whether it is Go, an interpreter or a compiler at run time.  Then watch it, "
		 "which should have its load, for a while: whether "
		 "its work is in units of event loops.  Nothing stays armed.",
	.exit = "0 it can (notes aside), 1 failed, 2 wrong usage, 3 it cannot.",
	.groups = {
		{ selector_options, &session.selector },
		{ scope_options, &session.selector.scope },
		{ options, &findings },
		{ static_options, &files },
		{ program_options, &session },
	},
	.operands = VERB_COMMAND,
	.run = check,
};
