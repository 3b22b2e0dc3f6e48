// SPDX-License-Identifier: GPL-2.0

#include <getopt.h>
#include <string.h>

#include "app/common/command.h"
#include "app/common/options.h"
#include "app/report/live-page.h"
#include "app/report/page-file.h"

static struct page_file page_file;

#define AT(member) offsetof(struct page_file, member)

static const struct option_spec options[] = {
	{ 'o', NULL, "FILE", option_string, AT(output), .help = "write the page there",
	  .is_once = true },
	{ 0, "profile", "FILE", option_string, AT(profile), .is_once = true,
	  .help = "show the types of units that this profile has, with their distributions" },
	{ 0 },
};

static int report(int argc, char **argv)
{
	if (!page_file.output)
		return cmd_usage(argv[0], "give the file to write: -o FILE");
	if (optind + 1 != argc)
		return cmd_usage(argv[0],
				 "give one file of JSON, a spool, - for standard input, or live");
	if (!strcmp(argv[optind], "live") && page_file.profile)
		return cmd_usage(argv[0], "live shows the types of what is armed: leave out --profile");
	if (!strcmp(argv[optind], "live"))
		return live_page_write(page_file.output);
	page_file.input = argv[optind];
	return page_file_write(&page_file);
}

const struct verb cmd_report = {
	.name = "report",
	.summary = "make a page of late units, to hand on",
	.usage = "-o FILE [OPTION...] FILE\n-o FILE live",
	.about = "Make one HTML file of what 'pg-collect watch --json' or 'pg-collect audit --json' "
		 "has written: in short, a time line, and for each kind of late units or requests the "
		 "slowest with its time, hot path, flame graph and what to look at.  The page "
		 "needs no network and no scripts.  FILE may be the spool of the service, too; "
		 "live is what the module has now: its alerts, and the types of units of the "
		 "programs that are guarded.",
	.exit = "0 ok, 1 failed, 2 wrong usage, 3 not possible on this machine (live).",
	.groups = { { options, &page_file } },
	.operands = VERB_OPERANDS,
	.run = report,
};
