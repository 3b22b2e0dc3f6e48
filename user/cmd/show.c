// SPDX-License-Identifier: GPL-2.0

#include <getopt.h>
#include <string.h>

#include "app/common/command.h"
#include "app/common/options.h"
#include "app/learn/profile-report.h"

static struct profile_report report = { .max_types = 10 };

static int parse_tree(const struct option_use *use, void *to)
{
	(void)to;
	if (report.form)
		return cmd_usage(use->verb, "give one of --tree, --svg and --dot");
	report.form = use->spec->name;
	return option_count(use, &report.type);
}

#define AT(member) offsetof(struct profile_report, member)

static const struct option_spec options[] = {
	{ 0, "types", "N", option_count, AT(max_types),
	  .help = "show N types of each loop, the most costly first (default: 10)" },
	{ 0, "hits", NULL, option_flag, AT(has_hits),
	  .help = "show every guard with its contexts and their weights" },
	{ 0, "tree", "TYPE", parse_tree, 0,
	  .help = "show the call tree that most units of a type have" },
	{ 0, "svg", "TYPE", parse_tree, 0, .help = "the same as a picture (SVG)" },
	{ 0, "dot", "TYPE", parse_tree, 0, .help = "the same as a graph for Graphviz" },
	{ 0, "json", NULL, option_flag, AT(is_json), .help = "print one JSON object" },
	{ 0 },
};

static int show(int argc, char **argv)
{
	if (optind + 1 != argc)
		return cmd_usage(argv[0], "give one profile");
	if (report.is_json && report.form && strcmp(report.form, "tree") != 0)
		return cmd_usage(argv[0], "--json goes with --tree only");
	report.path = argv[optind];
	return profile_report_print(&report);
}

const struct verb cmd_show = {
	.name = "show",
	.summary = "show what a profile knows",
	.usage = "[OPTION...] FILE",
	.about = "Show what a profile knows of a program: its event loops, the types of their units "
		 "with what they cost and when one is late, the guards that identify the types, "
		 "and what to expect of them.",
	.exit = "0 ok, 1 failed, 2 wrong usage.",
	.groups = { { options, &report } },
	.operands = VERB_OPERANDS,
	.run = show,
};
