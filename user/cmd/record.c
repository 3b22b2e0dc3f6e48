// SPDX-License-Identifier: GPL-2.0

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/common/command.h"
#include "app/learn/learning.h"
#include "app/record/recording.h"
#include "base/duration.h"
#include "base/log.h"
#include "store/trace-file.h"

static const char help[] =
	"usage: pg-collect record -o TRACE [OPTION...] -p PID\n"
	"       pg-collect record -o TRACE [OPTION...] -e EXE\n"
	"       pg-collect record -o TRACE [OPTION...] -- CMD [ARG...]\n"
	"\n"
	"Record what training needs of a program, for pg-collect learn on another\n"
	"machine: first its call trees; and, with the profile that was learnt from\n"
	"them, how long its units take.\n"
	"\n"
	"  -o TRACE            the file to write\n"
	"  --timing PROFILE    guard the program by this profile, and record the times\n"
	"  -p PID              the process PID alone\n"
	"  -e EXE              every process that runs the file EXE (looked for in PATH\n"
	"                      if there is no slash in it)\n"
	"  -- CMD [ARG...]     a program to start, and what it starts\n"
	"  --duration TIME     how long to record in all (default: 40 seconds)\n"
	"  --workload CMD      a shell command that makes the load: it is run once in\n"
	"                      each stage, and ends it\n"
	"  -v, --verbose       say what is done, also when stderr is no terminal\n"
	"  --help              print this text\n"
	"\n"
	"Exit status: 0 ok, 1 failed, 2 wrong usage, 3 not possible on this machine.\n";

enum {
	OPTION_DURATION = 256,
	OPTION_WORKLOAD,
	OPTION_TIMING,
};

#define DEFAULT_DURATION_NS (40 * NSEC_PER_SEC)

struct record_verb {
	struct recording recording;
	struct learning learning; /* of the profile, for timing */
	const char *path;
	uint64_t duration_ns;
};

static int parse_option(struct record_verb *verb, char **argv, int option)
{
	switch (option) {
	case 'o':
		verb->path = optarg;
		return 0;
	case 'p':
		return cmd_parse_count(argv[0], "-p", optarg,
				       &verb->recording.session.selector.pid);
	case 'e':
		verb->recording.session.selector.exe = optarg;
		return 0;
	case OPTION_DURATION:
		return cmd_parse_duration(argv[0], "--duration", optarg, &verb->duration_ns);
	case OPTION_WORKLOAD:
		verb->recording.workload = optarg;
		return 0;
	case OPTION_TIMING:
		verb->learning.path = optarg;
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

static int parse(int argc, char **argv, struct record_verb *verb)
{
	static const struct option options[] = {
		{ "duration", required_argument, NULL, OPTION_DURATION },
		{ "workload", required_argument, NULL, OPTION_WORKLOAD },
		{ "timing", required_argument, NULL, OPTION_TIMING },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct selector *selector = &verb->recording.session.selector;
	int option, ret;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "+:o:p:e:vh", options, NULL)) != -1) {
		ret = parse_option(verb, argv, option);
		if (ret)
			return ret;
	}
	if (optind < argc)
		selector->command = argv + optind;
	if (!!selector->pid + !!selector->exe + !!selector->command != 1)
		return cmd_usage(argv[0], "give one of -p PID, -e EXE and -- CMD");
	if (!verb->path)
		return cmd_usage(argv[0], "say by -o TRACE where the trace goes");
	return 0;
}

/* Coverage is quick; timing needs none. */
static void divide_time(struct record_verb *verb)
{
	uint64_t share_ns = verb->duration_ns / 4;

	verb->recording.stage_ns[RECORDING_COVERAGE] = share_ns;
	verb->recording.stage_ns[RECORDING_STRUCTURE] = 3 * share_ns;
	verb->recording.stage_ns[RECORDING_TIMING] = verb->duration_ns;
}

static int load_profile(struct record_verb *verb)
{
	const struct selector *selector = &verb->recording.session.selector;
	int ret = learning_open(&verb->learning, selector->path,
				selector->build_id);

	if (!ret && !verb->learning.model.nr_types) {
		log_error("%s has no guards yet: pg-collect learn makes them",
			  verb->learning.path);
		ret = CMD_FAILED;
	}
	return ret;
}

static int record_timing(struct record_verb *verb)
{
	int ret = load_profile(verb);

	return ret ? ret : recording_timing(&verb->recording, &verb->learning.samples,
					    &verb->learning.model);
}

static int run(struct record_verb *verb)
{
	char why[TRACE_FILE_WHY_MAX];
	int ret;

	ret = recording_begin(&verb->recording);
	if (!ret)
		ret = verb->learning.path ? record_timing(verb) :
					    recording_structure(&verb->recording);
	if (ret)
		return ret;
	if (trace_file_save(verb->path, &verb->recording.trace, why)) {
		log_error("%s", why);
		return CMD_FAILED;
	}
	recording_tell_lost(&verb->recording);
	log_progress("%zu events in %s", verb->recording.trace.nr_events, verb->path);
	return 0;
}

int cmd_record(int argc, char **argv)
{
	struct record_verb verb = { .duration_ns = DEFAULT_DURATION_NS };
	int ret;

	recording_init(&verb.recording);
	learning_init(&verb.learning);
	ret = parse(argc, argv, &verb);
	if (ret)
		return ret;
	divide_time(&verb);
	ret = selector_resolve(&verb.recording.session.selector);
	if (!ret)
		ret = run(&verb);
	session_finish(&verb.recording.session);
	recording_deinit(&verb.recording);
	learning_deinit(&verb.learning);
	return ret;
}
