// SPDX-License-Identifier: GPL-2.0

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/common/command.h"
#include "app/learn/learning.h"
#include "app/record/recording.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/time.h"

static const char help[] =
	"usage: pg-collect train -o FILE [OPTION...] -p PID\n"
	"       pg-collect train -o FILE [OPTION...] -e EXE\n"
	"       pg-collect train -o FILE [OPTION...] -- CMD [ARG...]\n"
	"\n"
	"Learn what a program does while it runs under its normal load: its event\n"
	"loops, the types of their units, few guards that tell them apart, and how\n"
	"long each type takes.  In three stages: coverage (which functions run),\n"
	"structure (call trees; the program is much slower meanwhile) and timing\n"
	"(guards only, as later).\n"
	"\n"
	"  -p PID              the process PID alone\n"
	"  -e EXE              every process that runs the file EXE (looked for in PATH\n"
	"                      if there is no slash in it)\n"
	"  -- CMD [ARG...]     a program to start, and what it starts\n"
	"  --duration TIME     how long to train in all (default: 60 seconds)\n"
	"  --workload CMD      a shell command that makes the load: it is run once in\n"
	"                      each stage, and ends it\n"
	"  --runs N            do all of it N times\n"
	LEARNING_HELP
	"  -v, --verbose       say what is done, also when stderr is no terminal\n"
	"  --help              print this text\n"
	"\n"
	"Exit status: 0 ok, 1 failed (a profile that was there is as it was), 2 wrong\n"
	"usage, 3 not possible on this machine.\n";

enum {
	OPTION_DURATION = 256,
	OPTION_WORKLOAD,
	OPTION_RUNS,
};

/* A second one if the first one changed the guards. */
enum {
	MAX_TIMINGS = 2,
};

#define DEFAULT_DURATION_NS (60 * NSEC_PER_SEC)

struct train {
	struct recording recording;
	struct learning learning;
	uint64_t duration_ns;
	uint32_t runs;
};

static int parse_option(struct train *train, char **argv, int option)
{
	switch (option) {
	case 'o':
		train->learning.path = optarg;
		return 0;
	case 'p':
		return cmd_parse_count(argv[0], "-p", optarg,
				       &train->recording.session.selector.pid);
	case 'e':
		train->recording.session.selector.exe = optarg;
		return 0;
	case OPTION_DURATION:
		return cmd_parse_duration(argv[0], "--duration", optarg, &train->duration_ns);
	case OPTION_WORKLOAD:
		train->recording.workload = optarg;
		return 0;
	case OPTION_RUNS:
		return cmd_parse_count(argv[0], "--runs", optarg, &train->runs);
	case 'v':
		log_set_verbose(true);
		return 0;
	case 'h':
		fputs(help, stdout);
		exit(CMD_OK);
	}
	if (option >= LEARNING_OPTION_FIRST && option < LEARNING_OPTION_END)
		return learning_option(&train->learning, argv[0], option, optarg);
	return cmd_bad_option(argv, option);
}

static int parse(int argc, char **argv, struct train *train)
{
	static const struct option options[] = {
		{ "duration", required_argument, NULL, OPTION_DURATION },
		{ "workload", required_argument, NULL, OPTION_WORKLOAD },
		{ "runs", required_argument, NULL, OPTION_RUNS },
		LEARNING_OPTIONS,
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct selector *selector = &train->recording.session.selector;
	int option, ret;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "+:o:p:e:vh", options, NULL)) != -1) {
		ret = parse_option(train, argv, option);
		if (ret)
			return ret;
	}
	if (optind < argc)
		selector->command = argv + optind;
	if (!!selector->pid + !!selector->exe + !!selector->command != 1)
		return cmd_usage(argv[0], "give one of -p PID, -e EXE and -- CMD");
	if (!train->learning.path)
		return cmd_usage(argv[0], "say by -o FILE where the profile goes");
	return learning_check_options(&train->learning, argv[0]);
}

/* Coverage is quick; structure needs most, as the program is slow then. */
static void divide_time(struct train *train)
{
	uint64_t share_ns = train->duration_ns / train->runs / 6;

	train->recording.stage_ns[RECORDING_COVERAGE] = share_ns;
	train->recording.stage_ns[RECORDING_STRUCTURE] = 3 * share_ns;
	train->recording.stage_ns[RECORDING_TIMING] = 2 * share_ns;
}

/* One timing run.  Sets *@ret_timed if the guards at hand were on in a run. */
static int time_units(struct train *train, bool *ret_timed)
{
	struct learning *learning = &train->learning;
	int ret = recording_timing(&train->recording, &learning->samples, &learning->model);

	if (!ret)
		ret = learning_add_timing(learning, &train->recording.trace);
	*ret_timed = !ret && learning_is_timed(learning);
	return ret;
}

/*
 * How many hits the budget allows is known when units have been timed, so the
 * guards can be others after the first timing; then these are timed, too.
 */
static int train_once(struct train *train)
{
	bool is_timed = false;
	int ret = recording_structure(&train->recording);

	if (!ret)
		ret = learning_add_structure(&train->learning, &train->recording.trace);
	for (int turn = 0; turn < MAX_TIMINGS && !ret && !is_timed; turn++)
		ret = time_units(train, &is_timed);
	return ret ? ret : learning_save(&train->learning);
}

static void report(const struct train *train)
{
	const struct model *model = &train->learning.model;

	for (uint32_t i = 0; i < model->nr_predictions; i++) {
		const struct model_prediction *prediction = &model->predictions[i];

		if (!prediction->units)
			continue;
		log_progress("loop %" PRIu32 ": %.1f %% of units recognised at their end, %.2f hits a unit",
			     prediction->loop + 1, 100 * prediction->accuracy_end,
			     prediction->hits);
	}
	recording_tell_lost(&train->recording);
	log_progress("what it knows: pg-collect show %s", train->learning.path);
	log_progress("guard the program by it: pg-collect arm %s", train->learning.path);
}

static int run(struct train *train)
{
	int ret = recording_begin(&train->recording);

	if (!ret)
		ret = learning_open(&train->learning, train->recording.session.selector.path,
				    train->recording.session.selector.build_id);
	for (uint32_t i = 0; i < train->runs && !ret; i++)
		ret = train_once(train);
	if (!ret)
		report(train);
	return ret;
}

int cmd_train(int argc, char **argv)
{
	struct train train = { .duration_ns = DEFAULT_DURATION_NS, .runs = 1 };
	int ret;

	recording_init(&train.recording);
	learning_init(&train.learning);
	ret = parse(argc, argv, &train);
	if (ret)
		return ret;
	divide_time(&train);
	learning_note_settings(&train.learning, argc, argv);
	ret = selector_resolve(&train.recording.session.selector);
	if (!ret)
		ret = run(&train);
	session_finish(&train.recording.session);
	recording_deinit(&train.recording);
	learning_deinit(&train.learning);
	return ret;
}
