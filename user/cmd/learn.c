// SPDX-License-Identifier: GPL-2.0

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/common/command.h"
#include "app/learn/learning.h"
#include "base/log.h"
#include "store/trace-file.h"

static const char help[] =
	"usage: pg-collect learn -o FILE [OPTION...] [TRACE...]\n"
	"\n"
	"Learn from traces that pg-collect record wrote.  Without a trace, derive the\n"
	"profile anew from all that it knows, as for another budget.\n"
	"\n"
	LEARNING_HELP
	"  -v, --verbose       say what is done, also when stderr is no terminal\n"
	"  --help              print this text\n"
	"\n"
	"Exit status: 0 ok, 1 failed (a profile that was there is as it was), 2 wrong\n"
	"usage.\n";

static int parse_option(struct learning *learning, char **argv, int option)
{
	switch (option) {
	case 'o':
		learning->path = optarg;
		return 0;
	case 'v':
		log_set_verbose(true);
		return 0;
	case 'h':
		fputs(help, stdout);
		exit(CMD_OK);
	}
	if (option >= LEARNING_OPTION_FIRST && option < LEARNING_OPTION_END)
		return learning_option(learning, argv[0], option, optarg);
	return cmd_bad_option(argv, option);
}

static int parse(int argc, char **argv, struct learning *learning)
{
	static const struct option options[] = {
		LEARNING_OPTIONS,
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int option, ret;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":o:vh", options, NULL)) != -1) {
		ret = parse_option(learning, argv, option);
		if (ret)
			return ret;
	}
	if (!learning->path)
		return cmd_usage(argv[0], "say by -o FILE where the profile is");
	return learning_check_options(learning, argv[0]);
}

static int learn_from(struct learning *learning, const char *path)
{
	char why[TRACE_FILE_WHY_MAX];
	struct trace trace;
	int ret;

	if (trace_file_load(path, &trace, why)) {
		log_error("%s", why);
		return CMD_FAILED;
	}
	ret = learning_check(learning, &trace);
	if (!ret)
		ret = trace.stage == TRACE_STAGE_TIMING ?
			      learning_add_timing(learning, &trace) :
			      learning_add_structure(learning, &trace);
	trace_deinit(&trace);
	return ret;
}

int cmd_learn(int argc, char **argv)
{
	struct learning learning;
	int ret;

	learning_init(&learning);
	ret = parse(argc, argv, &learning);
	if (ret)
		return ret;
	learning_note_settings(&learning, argc, argv);
	ret = learning_load(&learning);
	for (int i = optind; i < argc && !ret; i++)
		ret = learn_from(&learning, argv[i]);
	if (!ret && optind == argc)
		ret = learning_derive(&learning);
	if (!ret)
		ret = learning_save(&learning);
	learning_deinit(&learning);
	return ret;
}
