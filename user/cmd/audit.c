// SPDX-License-Identifier: GPL-2.0

#include "app/audit/session.h"
#include "app/common/command.h"
#include "app/common/options.h"
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

#define AT(member) offsetof(struct session, member)

static const struct option_spec options[] = {
	{ 0, "duration", "TIME", option_duration, AT(duration_ns),
	  .help = "end after this time: 10, 500ms, 2m (default: 10 seconds; with CMD, when it ends).  "
	  "CMD is ended with it" },
	{ 0, "slower-than", "TIME", option_duration, AT(threshold_ns),
	  .help = "take stacks of units that take longer (default: of the slowest few a second)" },
	{ 0, "top", "N", option_count, AT(nr_slowest),
	  .help = "report the N slowest units (default: 5)" },
	{ 0, "no-account", NULL, option_no_flag, AT(has_account),
	  .help = "do not measure where the time goes: costs less" },
	{ 0, "no-requests", NULL, option_no_flag, AT(has_requests),
	  .help = "do not follow what clients ask for: costs less" },
	{ 0, "json", NULL, option_flag, AT(is_json),
	  .help = "one JSON object a line; CMD's output goes to stderr" },
	{ 0 },
};

static int audit(int argc, char **argv)
{
	int ret = selector_take_command(&session.selector, argc, argv), finish;

	if (ret)
		return ret;
	if (!session.duration_ns && !session.selector.command)
		session.duration_ns = DEFAULT_DURATION_NS;
	ret = selector_resolve(&session.selector);
	if (!ret)
		ret = session_begin(&session);
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

const struct verb cmd_audit = {
	.name = "audit",
	.summary = "measure the event loops of a program for a while",
	.usage = "[OPTION...] -p PID\n[OPTION...] -e EXE\n[OPTION...] -- CMD [ARG...]",
	.about = "Find the event loops of a program and measure their units for a while: how many, "
		 "how long they take, where their time goes, and the slowest with their stacks.  "
		 "A unit is what a thread does from one wait of its event loop to the next.  "
		 "Nothing stays armed.",
	.exit = "0 ok, 1 failed or nothing to measure, 2 wrong usage, 3 not possible on this "
		"machine.",
	.groups = {
		{ selector_options, &session.selector },
		{ options, &session },
		{ options_verbose },
	},
	.operands = VERB_COMMAND,
	.run = audit,
};
