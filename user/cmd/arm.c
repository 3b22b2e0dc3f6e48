// SPDX-License-Identifier: GPL-2.0

#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "app/arm/arm-files.h"
#include "app/common/command.h"
#include "app/common/options.h"
#include "app/common/scope-options.h"
#include "base/duration.h"

static struct arm_files arm = { .prices.budget_ppm = ARM_DEFAULT_BUDGET_PPM };

static struct adapt_options {
	bool is_wanted;
	uint64_t span_ns;
} adapt;

static void init(void)
{
	adapt.span_ns = 600 * NSEC_PER_SEC;
}

static int parse_root(const struct option_use *use, void *to)
{
	uint32_t pid;
	int ret = option_count(use, &pid);

	(void)to;
	if (!ret)
		snprintf(arm.root, sizeof(arm.root), "/proc/%" PRIu32 "/root", pid);
	return ret;
}

static int parse_budget(const struct option_use *use, void *to)
{
	(void)to;
	if (!arm_parse_budget(use->text, &arm.prices.budget_ppm))
		return 0;
	return cmd_usage(use->verb,
			 "--budget wants none, or a number above 0 and up to 100, not '%s'",
			 use->text);
}

static const char *const rules[] = { "weights", "paper", NULL };

#define AT(member) offsetof(struct arm_files, member)

static const struct option_spec options[] = {
	{ 0, "root-of", "PID", parse_root, 0,
	  .help = "look for the program and its libraries where process PID has them (default: the "
	  "first one that runs it, of those that are selected)" },
	{ 0, "budget", "PCT", parse_budget, 0,
	  .help = "what guarding may take of the program's CPU time (default: 2); guards are taken off "
	  "for a time, the costliest first, so that it takes no more; none for no limit" },
	{ 0, "infer", "RULE", option_choice, AT(is_paper),
	  .help = "how a unit's type is inferred: weights (default), or paper, the plain count of "
	  "guard hits, for comparison", .choices = rules },
	{ 0, "inline", NULL, option_flag, AT(is_inline),
	  .help = "put jumps in place of the breakpoints of guards where that is possible: a dozen "
	  "instructions a hit instead of some thousand; this changes the processes' own copies of the "
	  "program's code for as long as it is guarded" },
	{ 0, "limit", "[TYPE=]TIME", limit_option_parse, AT(limits),
	  .help = "what takes longer by the clock is late, whatever was learnt, of all types or of "
	  "one; in place of the profile's, none for no such limit" },
	{ 0, "requests", NULL, option_flag, AT(follows_requests),
	  .help = "follow the requests of clients by stream sockets and UDP, over units and while the "
	  "program waits for others; what takes longer than those that units of its type read took in "
	  "training is late" },
	{ 0, "request-limit", "TIME", option_duration, AT(request_limit_ns),
	  .help = "the same, but what is not answered after TIME is late; with --requests that, too" },
	{ 0 },
};

static const struct option_spec adapt_specs[] = {
	{ 0, "adapt", NULL, option_flag, offsetof(struct adapt_options, is_wanted),
	  .help = "stay, and learn the limits of this machine into FILE from time to time, as "
	  "'pg-collect learn --live' does" },
	{ 0, "duration", "TIME", option_duration, offsetof(struct adapt_options, span_ns),
	  .help = "when for the first time (default: 10m); each span is twice as long as the one "
	  "before, up to a day" },
	{ 0 },
};

static int run(int argc, char **argv)
{
	if (optind == argc)
		return cmd_usage(argv[0], "give a profile");
	if (adapt.is_wanted && optind + 1 != argc)
		return cmd_usage(argv[0], "give one profile with --adapt");
	if (arm.is_inline && arm.is_paper)
		return cmd_usage(argv[0], "--inline is not for the paper's rule");
	arm.paths = argv + optind;
	arm.nr = (uint32_t)(argc - optind);
	return adapt.is_wanted ? arm_adapt(&arm, adapt.span_ns) : arm_files(&arm);
}

const struct verb cmd_arm = {
	.name = "arm",
	.summary = "guard a program by its profile, from now on",
	.usage = "[OPTION...] FILE...",
	.about = "Guard the program of each profile FILE from now on: its processes that run, and "
		 "those started later.  A unit that takes longer than its type may is late, and "
		 "reported by 'pg-collect watch'.  Ends with 'pg-collect disarm'.\n\n"
		 "What is guarded already changes to the new profile without a gap.",
	.exit = "0 ok, 1 failed (a FILE was not armed; what it had been before stays), 2 wrong "
		"usage, 3 not possible on this machine.",
	.groups = {
		{ options, &arm },
		{ adapt_specs, &adapt },
		{ scope_options, &arm.scope },
		{ options_verbose },
	},
	.operands = VERB_OPERANDS,
	.init = init,
	.run = run,
};
