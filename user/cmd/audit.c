// SPDX-License-Identifier: GPL-2.0

#include "app/audit/named-wait.h"
#include "app/audit/session.h"
#include "app/common/command.h"
#include "app/common/options.h"
#include "app/common/program-traits.h"
#include "app/common/scope-options.h"
#include "app/report/page-file.h"
#include "base/duration.h"

#define DEFAULT_DURATION_NS (10 * NSEC_PER_SEC)

static struct session session = {
	.verb = "audit",
	.has_account = true,
	.has_requests = true,
	.nr_slowest = 5,
	.signals = -1,
	.selector.fd = -1,
};

static const char *page; /* path, or NULL */
static struct page_stream stream;

static const struct option_spec page_options[] = {
	{ 'o', NULL, "FILE", option_string, 0, .is_once = true,
	  .help = "make a page of what was measured, to hand on: one HTML file, as pg-collect report does" },
	{ 0 },
};

#define AT(member) offsetof(struct session, member)

static const struct option_spec options[] = {
	{ 0, "duration", "TIME", option_duration, AT(duration_ns),
	  .help = "end after this time: 10, 500ms, 2m (default: 10 seconds; with CMD, when it ends).  "
	  "CMD is ended with it" },
	{ 0, "slower-than", "TIME", option_duration, AT(threshold_ns),
	  .help = "take stacks of units that take longer (default: of the slowest few a second)" },
	{ 0, "top", "N", option_count, AT(nr_slowest),
	  .help = "report the N slowest units (default: 5)" },
	NAMED_WAIT_OPTION(AT(named)),
	{ 0, "no-account", NULL, option_no_flag, AT(has_account),
	  .help = "do not measure where the time goes: costs less" },
	{ 0, "no-requests", NULL, option_no_flag, AT(has_requests),
	  .help = "do not follow what clients ask for: costs less" },
	{ 0, "json", NULL, option_flag, AT(is_json),
	  .help = "one JSON object a line; CMD's output goes to stderr" },
	{ 0 },
};

/* Where JSON goes. */
static int open_lines(const char *verb)
{
	int ret = CMD_OK;

	if (page && session.is_json)
		return cmd_usage(verb, "give one of --json and -o");
	if (page)
		ret = page_stream_open(&stream, page);
	session.lines = session.is_json ? stdout : page ? stream.file : NULL;
	return ret;
}

static int measure(void)
{
	int ret, finish;

	if (!session.duration_ns && !session.selector.command)
		session.duration_ns = DEFAULT_DURATION_NS;
	ret = selector_resolve(&session.selector);
	if (!ret) {
		program_traits_note(&session.selector);
		ret = session_begin(&session);
	}
	if (!ret)
		ret = session_run(&session);
	finish = session_finish(&session);
	if (!ret)
		ret = finish;
	if (!ret)
		ret = report_print(&session);
	session_deinit(&session);
	return ret;
}

static int audit(int argc, char **argv)
{
	int ret = selector_take_command(&session.selector, argc, argv), closed;

	if (!ret)
		ret = open_lines(argv[0]);
	if (ret)
		return ret;
	ret = measure();
	closed = page ? page_stream_close(&stream, ret ? NULL : page) : CMD_OK;
	return ret ? ret : closed;
}

const struct verb cmd_audit = {
	.name = "audit",
	.summary = "measure the event loops of a program for a while",
	.usage = "[OPTION...] -p PID\n[OPTION...] -e EXE\n[OPTION...] --unit NAME | --container ID | ...\n[OPTION...] -- CMD [ARG...]",
	.about = "Find the event loops of a program and measure their units for a while: how many, "
		 "how long they take, where their time goes, and the slowest with their stacks.  "
		 "A unit is what a thread does from one wait of its event loop to the next.  "
		 "Nothing stays armed.",
	.exit = "0 ok, 1 failed or nothing to measure, 2 wrong usage, 3 not possible on this "
		"machine.",
	.groups = {
		{ selector_options, &session.selector },
		{ scope_options, &session.selector.scope },
		{ options, &session },
		{ page_options, &page },
		{ options_verbose },
	},
	.operands = VERB_COMMAND,
	.run = audit,
};
