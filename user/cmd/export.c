// SPDX-License-Identifier: GPL-2.0

#include <getopt.h>

#include "app/common/command.h"
#include "app/common/options.h"
#include "app/report/export-file.h"

enum { NO_FORMAT = 3 }; /* none was given */

static struct export_file export_file = { .format = NO_FORMAT };

/* As enum export_format. */
static const char *const formats[] = { "folded", "pprof", "perfetto", NULL };

#define AT(member) offsetof(struct export_file, member)

static const struct option_spec options[] = {
	{ 0, "format", "FORMAT", option_choice, AT(format), .choices = formats, .is_once = true,
	  .help = "folded: stacks for flamegraph.pl and its like; pprof: for 'go tool pprof'; "
	  "perfetto: for ui.perfetto.dev and chrome://tracing" },
	{ 'o', NULL, "FILE", option_string, AT(output), .help = "write it there",
	  .is_once = true },
	{ 0 },
};

static int export(int argc, char **argv)
{
	if (export_file.format == NO_FORMAT)
		return cmd_usage(argv[0], "give the format: --format folded, pprof or perfetto");
	if (!export_file.output)
		return cmd_usage(argv[0], "give the file to write: -o FILE");
	if (optind + 1 != argc)
		return cmd_usage(argv[0], "give one file of JSON, a spool, or - for standard input");
	export_file.input = argv[optind];
	return export_file_write(&export_file);
}

const struct verb cmd_export = {
	.name = "export",
	.summary = "write late units for profilers to show",
	.usage = "--format FORMAT -o FILE FILE",
	.about = "Write late units and requests, as 'pg-collect watch --json' or 'pg-collect audit "
		 "--json' has printed them or the service has spooled them, in a format that other "
		 "programs read.",
	.exit = "0 ok, 1 failed, 2 wrong usage.",
	.groups = { { options, &export_file } },
	.operands = VERB_OPERANDS,
	.run = export,
};
