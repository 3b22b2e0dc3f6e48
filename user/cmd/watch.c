// SPDX-License-Identifier: GPL-2.0

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/common/command.h"
#include "app/common/options.h"
#include "app/watch/alert-stream.h"
#include "app/watch/spooled-alerts.h"
#include "base/duration.h"

#define DEFAULT_WINDOW_NS (10 * NSEC_PER_SEC)
#define NO_WINDOW UINT64_MAX /* none was given */

static struct alert_stream stream = { .window_ns = NO_WINDOW };
static struct spooled_alerts spooled;
static const char *since; /* NULL: not given */
static uint32_t number; /* 0: not given */

static int parse_since(const char *verb)
{
	char *end;

	if (!since)
		return 0;
	if (spooled.path && spooled_alerts_since(since, &spooled.since_ns))
		return cmd_usage(verb, "--since '%s' is no time such as 2026-12-01T08:00Z or 2h", since);
	if (spooled.path)
		return 0;
	errno = 0;
	stream.has_since = true;
	stream.next = strtoull(since, &end, 10);
	if (since[0] < '0' || since[0] > '9' || *end || errno)
		return cmd_usage(verb, "--since '%s' is no sequence number", since);
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
	{ 0, "brief", NULL, option_flag, AT(is_brief),
	  .help = "with --json: leave out stacks, functions and contexts, and keep the hot path" },
	{ 0, "duration", "TIME", option_duration, AT(duration_ns),
	  .help = "end after this time: 10, 500ms, 2m (default: never)" },
	{ 0, "window", "TIME", parse_window, AT(window_ns),
	  .help = "fold equal alerts within this time into one, and those of a type that is slow as a "
	  "whole (default: 10 seconds, with --since and --all 0: fold nothing)" },
	{ 0, "all", NULL, parse_all, AT(has_since),
	  .help = "begin with the oldest alert the module still has" },
	{ 0 },
};

static const struct option_spec since_option[] = {
	{ 0, "since", "WHEN", option_string, 0,
	  .help = "begin with the alert of this sequence number; with --spool, with those of this "
	  "time, such as 2026-12-01T08:00Z in UTC, or 2h for two hours ago" },
	{ 0 },
};

static const struct option_spec number_option[] = {
	{ 'n', NULL, "N", option_count, 0,
	  .help = "end after N late units; with --spool, print the last N alerts" },
	{ 0 },
};

static const struct option_spec spool_options[] = {
	{ 0, "spool", "FILE", option_string, offsetof(struct spooled_alerts, path),
	  .help = "print what 'pg-collect serve' has kept in this file" },
	{ 0, "unwind", NULL, option_flag, offsetof(struct spooled_alerts, is_unwound),
	  .help = "unwind its stacks again, with the names that are known now" },
	{ 0 },
};

static int print_spool(const char *verb)
{
	if (stream.duration_ns || stream.has_since || stream.window_ns != NO_WINDOW)
		return cmd_usage(verb, "--spool goes with --since, -n, --json, --brief and --unwind only");
	spooled.last = number;
	spooled.is_json = stream.is_json;
	spooled.is_brief = stream.is_brief;
	return spooled_alerts_print(&spooled);
}

static int watch(int argc, char **argv)
{
	int ret = parse_since(argv[0]);

	(void)argc;
	if (ret)
		return ret;
	if (stream.is_brief && !stream.is_json)
		return cmd_usage(argv[0], "--brief needs --json");
	if (spooled.path)
		return print_spool(argv[0]);
	if (spooled.is_unwound)
		return cmd_usage(argv[0], "--unwind needs --spool");
	stream.nr_wanted = number;
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
	.groups = {
		{ options, &stream },
		{ number_option, &number },
		{ since_option, &since },
		{ spool_options, &spooled },
	},
	.run = watch,
};
