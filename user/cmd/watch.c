// SPDX-License-Identifier: GPL-2.0

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/common/command.h"
#include "app/common/options.h"
#include "app/watch/alert-stream.h"
#include "base/duration.h"

#define DEFAULT_WINDOW_NS (10 * NSEC_PER_SEC)
#define NO_WINDOW UINT64_MAX /* none was given */

static struct alert_stream stream = { .window_ns = NO_WINDOW };

static int parse_seq(const struct option_use *use, void *to)
{
	const char *text = use->text;
	char *end;

	(void)to;
	errno = 0;
	stream.has_since = true;
	stream.next = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno)
		return cmd_usage(use->verb, "--since '%s' is no sequence number", text);
	return 0;
}

static int parse_all(const struct option_use *use, void *to)
{
	stream.next = 0;
	return option_flag(use, to);
}

/* As a duration, but 0 is allowed, too. */
static int parse_window(const struct option_use *use, void *to)
{
	if (strcmp(use->text, "0") != 0)
		return option_duration(use, to);
	stream.window_ns = 0;
	return 0;
}

#define AT(member) offsetof(struct alert_stream, member)

static const struct option_spec options[] = {
	{ 0, "json", NULL, option_flag, AT(is_json), .help = "one JSON object a line" },
	{ 0, "duration", "TIME", option_duration, AT(duration_ns),
	  .help = "end after this time: 10, 500ms, 2m (default: never)" },
	{ 'n', NULL, "N", option_count, AT(nr_wanted), .help = "end after N late units" },
	{ 0, "window", "TIME", parse_window, AT(window_ns),
	  .help = "fold equal alerts within this time into one, and those of a type that is slow as a "
	  "whole (default: 10 seconds, with --since and --all 0: fold nothing)" },
	{ 0, "since", "SEQ", parse_seq, 0, .help = "begin with the alert of this sequence number" },
	{ 0, "all", NULL, parse_all, AT(has_since),
	  .help = "begin with the oldest alert the module still has" },
	{ 0 },
};

static int watch(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	/* What is read late comes all at once: windows mean nothing then. */
	if (stream.window_ns == NO_WINDOW)
		stream.window_ns = stream.has_since ? 0 : DEFAULT_WINDOW_NS;
	return alert_stream_run(&stream);
}

const struct verb cmd_watch = {
	.name = "watch",
	.summary = "print alerts of late units as they come",
	.usage = "[OPTION...]",
	.about = "Print alerts as they come: units beyond their threshold, with where their time "
		 "went and why, while they run (late) and when they end (ended).",
	.exit = "0 ok, 1 failed, 2 wrong usage, 3 not possible on this machine, 4 the duration "
		"ended before N units were late.",
	.groups = { { options, &stream } },
	.run = watch,
};
