// SPDX-License-Identifier: GPL-2.0

#include "app/common/command.h"
#include "app/common/options.h"
#include "app/top/live-view.h"
#include "base/duration.h"

static struct top_options top = { .interval_ns = NSEC_PER_SEC, .sort = TOP_BY_RATE };

static const char *const sorts[] = { "rate", "busy", "mean", "p50", "p99", "max", "cpu", "runqueue",
				     "blocked", "late", "late-rate", "name", NULL };

static int parse_sort(const struct option_use *use, void *to)
{
	unsigned int choice;
	int ret = option_choice(use, &choice);

	(void)to;
	if (!ret)
		top.sort = (enum top_column)choice;
	return ret;
}

#define AT(member) offsetof(struct top_options, member)

static const struct option_spec options[] = {
	{ 'd', "interval", "TIME", option_duration, AT(interval_ns),
	  .help = "time between two readings: 5, 500ms (default: 1 second)" },
	{ 's', "sort", "COLUMN", parse_sort, 0, .choices = sorts,
	  .help = "the column that the table is sorted by, the largest first: rate (the default), busy, "
	  "mean, p50, p99, max, cpu, runqueue, blocked, late, late-rate, name" },
	{ 0, "types", "N", option_count, AT(max_types),
	  .help = "show N types of each loop, the first by that column (default: all)" },
	{ 0, "once", NULL, option_flag, AT(is_once),
	  .help = "print the table of one interval, and end; needs no terminal" },
	{ 0 },
};

static int run(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return top.is_once ? top_once(&top) : top_run(&top);
}

const struct verb cmd_top = {
	.name = "top",
	.summary = "show the guarded programs live, on the screen",
	.usage = "[OPTION...]",
	.about = "Show the armed programs, their event loops and the types of their units on the screen: "
		 "how many end, how long they take and of what, how many are late, and what guarding "
		 "costs.  The key ? shows the others.",
	.groups = { { options, &top } },
	.run = run,
};
