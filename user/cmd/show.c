// SPDX-License-Identifier: GPL-2.0

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cmd.h"
#include "out/profile-text.h"
#include "out/profile-view.h"
#include "store/profile.h"

#define DEFAULT_MAX_TYPES 10

static const char help[] =
	"usage: pg-collect show [OPTION...] FILE\n"
	"\n"
	"Show what a profile knows of a program: its event loops, the types of their\n"
	"units with what they cost and when one is late, the guards that tell the types\n"
	"apart, and what to expect of them.\n"
	"\n"
	"  --types N    show N types of each loop, the most costly first (default: 10)\n"
	"  --hits       show every guard with its contexts and their weights\n"
	"  --help       print this text\n"
	"\n"
	"Exit status: 0 ok, 1 failed, 2 wrong usage.\n";

enum {
	OPTION_TYPES = 256,
	OPTION_HITS,
};

struct show {
	const char *path;
	uint32_t max_types;
	bool has_hits;
};

static int parse_option(struct show *show, char **argv, int option)
{
	switch (option) {
	case OPTION_TYPES:
		return cmd_parse_count(argv[0], "--types", optarg, &show->max_types);
	case OPTION_HITS:
		show->has_hits = true;
		return 0;
	case 'h':
		fputs(help, stdout);
		exit(CMD_OK);
	}
	return cmd_bad_option(argv, option);
}

static int parse(int argc, char **argv, struct show *show)
{
	static const struct option options[] = {
		{ "types", required_argument, NULL, OPTION_TYPES },
		{ "hits", no_argument, NULL, OPTION_HITS },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int option, ret;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		ret = parse_option(show, argv, option);
		if (ret)
			return ret;
	}
	if (optind + 1 != argc)
		return cmd_usage(argv[0], "give one profile");
	show->path = argv[optind];
	return 0;
}

static int print(const struct show *show, const struct profile_view *view)
{
	profile_text(stdout, view, show->max_types, show->has_hits);
	return CMD_OK;
}

int cmd_show(int argc, char **argv)
{
	struct show show = { .max_types = DEFAULT_MAX_TYPES };
	char why[PROFILE_WHY_MAX];
	struct training training;
	struct profile_view view;
	struct samples samples;
	struct model model;
	int ret = parse(argc, argv, &show);

	if (ret)
		return ret;
	if (profile_load(show.path, &samples, &model, &training, why)) {
		log_error("%s", why);
		return CMD_FAILED;
	}
	if (profile_view_init(&view, show.path, &samples, &model, &training)) {
		log_error("out of memory");
		ret = CMD_FAILED;
	} else {
		ret = print(&show, &view);
		profile_view_deinit(&view);
	}
	samples_deinit(&samples);
	model_deinit(&model);
	return ret;
}
