// SPDX-License-Identifier: GPL-2.0

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/audit/audit-report.h"
#include "app/audit/session.h"
#include "app/common/command.h"
#include "base/duration.h"
#include "base/log.h"

#define DEFAULT_DURATION_NS (10 * NSEC_PER_SEC)
#define DEFAULT_NR_SLOWEST 5

static const char help[] =
	"usage: pg-collect audit [OPTION...] -p PID\n"
	"       pg-collect audit [OPTION...] -e EXE\n"
	"       pg-collect audit [OPTION...] -- CMD [ARG...]\n"
	"\n"
	"Find the event loops of a program and measure their units for a while: how\n"
	"many, how long they take, where their time goes, and the slowest with their\n"
	"stacks.  A unit is what a thread does from one wait of its event loop to the\n"
	"next.  Nothing stays armed.\n"
	"\n"
	"  -p PID              the process PID alone\n"
	"  -e EXE              every process that runs the file EXE (looked for in PATH\n"
	"                      if there is no slash in it)\n"
	"  -- CMD [ARG...]     a program to start, and what it starts; it ends the audit\n"
	"  --duration TIME     end after this time: 10, 500ms, 2m (default: 10 seconds;\n"
	"                      with CMD, when it ends).  CMD is ended with it\n"
	"  --slower-than TIME  look into units that take longer (default: into the\n"
	"                      slowest few a second)\n"
	"  --top N             report the N slowest units (default: 5)\n"
	"  --no-account        do not measure where the time goes: costs less\n"
	"  --json              one JSON object a line; CMD's output goes to stderr\n"
	"  -v, --verbose       say what is done, also when stderr is no terminal\n"
	"  --help              print this text\n"
	"\n"
	"Exit status: 0 ok, 1 failed or nothing to measure, 2 wrong usage, 3 not\n"
	"possible on this machine.\n";

enum {
	OPTION_DURATION = 256,
	OPTION_SLOWER_THAN,
	OPTION_TOP,
	OPTION_NO_ACCOUNT,
	OPTION_JSON,
};

static int parse_option(struct session *session, char **argv, int option)
{
	switch (option) {
	case 'p':
		return cmd_parse_count(argv[0], "-p", optarg,
				       &session->selector.pid);
	case 'e':
		session->selector.exe = optarg;
		return 0;
	case OPTION_DURATION:
		return cmd_parse_duration(argv[0], "--duration", optarg,
					  &session->duration_ns);
	case OPTION_SLOWER_THAN:
		return cmd_parse_duration(argv[0], "--slower-than", optarg,
					  &session->threshold_ns);
	case OPTION_TOP:
		return cmd_parse_count(argv[0], "--top", optarg,
				       &session->nr_slowest);
	case OPTION_NO_ACCOUNT:
		session->has_account = false;
		return 0;
	case OPTION_JSON:
		session->is_json = true;
		return 0;
	case 'v':
		log_set_verbose(true);
		return 0;
	case 'h':
		fputs(help, stdout);
		exit(CMD_OK);
	}
	return cmd_bad_option(argv, option);
}

static int parse(int argc, char **argv, struct session *session)
{
	static const struct option options[] = {
		{ "duration", required_argument, NULL, OPTION_DURATION },
		{ "slower-than", required_argument, NULL, OPTION_SLOWER_THAN },
		{ "top", required_argument, NULL, OPTION_TOP },
		{ "no-account", no_argument, NULL, OPTION_NO_ACCOUNT },
		{ "json", no_argument, NULL, OPTION_JSON },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int option, ret;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "+:p:e:vh", options, NULL)) != -1) {
		ret = parse_option(session, argv, option);
		if (ret)
			return ret;
	}
	if (optind < argc)
		session->selector.command = argv + optind;
	if (!!session->selector.pid + !!session->selector.exe +
		    !!session->selector.command != 1)
		return cmd_usage(argv[0], "give one of -p PID, -e EXE and -- CMD");
	if (!session->duration_ns && !session->selector.command)
		session->duration_ns = DEFAULT_DURATION_NS;
	return 0;
}

int cmd_audit(int argc, char **argv)
{
	struct session session = {
		.has_account = true,
		.nr_slowest = DEFAULT_NR_SLOWEST,
		.signals = -1,
	};
	int ret, finish;

	session.selector.fd = -1;
	ret = parse(argc, argv, &session);
	if (ret)
		return ret;
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
