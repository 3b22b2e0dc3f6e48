// SPDX-License-Identifier: GPL-2.0

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/common/command.h"
#include "base/log.h"
#include "out/profile/profile-json.h"
#include "out/profile/profile-text.h"
#include "out/profile/profile-view.h"
#include "out/profile/tree-dot.h"
#include "out/profile/tree-svg.h"
#include "out/profile/tree-text.h"
#include "out/profile/tree.h"
#include "store/profile-file.h"
#include "train/guards/novelty-floor.h"

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
	"  --tree TYPE  show the call tree that most units of a type have\n"
	"  --svg TYPE   the same as a picture (SVG)\n"
	"  --dot TYPE   the same as a graph for Graphviz\n"
	"  --json       print one JSON object\n"
	"  --help       print this text\n"
	"\n"
	"Exit status: 0 ok, 1 failed, 2 wrong usage.\n";

enum {
	OPTION_TYPES = 256,
	OPTION_HITS,
	OPTION_TREE,
	OPTION_SVG,
	OPTION_DOT,
	OPTION_JSON,
};

/* What can be looked at, or printed, of a tree. */
enum {
	MAX_TEXT_NODES = 400,
	MAX_GRAPH_NODES = 160,
};

struct show {
	const char *path;
	uint32_t max_types;
	uint32_t type; /* number of the type whose tree is shown; 0: none */
	int tree; /* the option that asked for it */
	bool has_hits;
	bool is_json;
};

static int parse_tree(struct show *show, const char *verb, int option, const char *name)
{
	if (show->tree)
		return cmd_usage(verb, "give one of --tree, --svg and --dot");
	show->tree = option;
	return cmd_parse_count(verb, name, optarg, &show->type);
}

static int parse_option(struct show *show, char **argv, int option)
{
	switch (option) {
	case OPTION_TYPES:
		return cmd_parse_count(argv[0], "--types", optarg, &show->max_types);
	case OPTION_HITS:
		show->has_hits = true;
		return 0;
	case OPTION_TREE:
		return parse_tree(show, argv[0], option, "--tree");
	case OPTION_SVG:
		return parse_tree(show, argv[0], option, "--svg");
	case OPTION_DOT:
		return parse_tree(show, argv[0], option, "--dot");
	case OPTION_JSON:
		show->is_json = true;
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
		{ "tree", required_argument, NULL, OPTION_TREE },
		{ "svg", required_argument, NULL, OPTION_SVG },
		{ "dot", required_argument, NULL, OPTION_DOT },
		{ "json", no_argument, NULL, OPTION_JSON },
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
	if (show->is_json && (show->tree == OPTION_SVG || show->tree == OPTION_DOT))
		return cmd_usage(argv[0], "--json goes with --tree only");
	show->path = argv[optind];
	return 0;
}

static int refuse_type(const struct show *show, const struct profile_view *view)
{
	uint32_t least = UINT32_MAX, most = 0;

	if (!view->model->nr_types) {
		log_error("%s has no types: nothing was learnt from it yet", show->path);
		return CMD_FAILED;
	}
	for (uint32_t i = 0; i < view->model->nr_types; i++) {
		least = view->model->types[i].id < least ? view->model->types[i].id : least;
		most = view->model->types[i].id > most ? view->model->types[i].id : most;
	}
	log_error("%s has no type %" PRIu32 "; it has %" PRIu32 " to %" PRIu32, show->path,
		  show->type, least, most);
	return CMD_FAILED;
}

static int print_tree(const struct show *show, const struct tree *tree)
{
	switch (show->tree) {
	case OPTION_TREE:
		return tree_text(stdout, tree);
	case OPTION_SVG:
		return tree_svg(stdout, tree);
	}
	tree_dot(stdout, tree);
	return 0;
}

static int print_type(const struct show *show, const struct profile_view *view, uint32_t type)
{
	uint32_t max = show->tree == OPTION_TREE ? MAX_TEXT_NODES : MAX_GRAPH_NODES;
	struct tree tree;
	int ret = tree_init(&tree, view, type, show->is_json ? UINT32_MAX : max);

	if (ret == -ENOENT) {
		log_error("type %" PRIu32 " has no call tree in %s", show->type, show->path);
		return CMD_FAILED;
	}
	if (!ret) {
		ret = show->is_json ? profile_json(stdout, view, show->has_hits, &tree) :
				      print_tree(show, &tree);
		tree_deinit(&tree);
	}
	return ret;
}

static int print(const struct show *show, const struct profile_view *view)
{
	uint32_t type = SAMPLES_NONE;
	int ret = 0;

	if (show->type) {
		type = profile_find_type(view->model, show->type);
		if (type == SAMPLES_NONE)
			return refuse_type(show, view);
		ret = print_type(show, view, type);
	} else if (show->is_json) {
		ret = profile_json(stdout, view, show->has_hits, NULL);
	} else {
		profile_text(stdout, view, show->max_types, show->has_hits);
	}
	if (ret == -ENOMEM)
		log_error("out of memory");
	return ret ? CMD_FAILED : CMD_OK;
}

/* How many of the units held back fit no type; NULL if the model has none, or no sound ones. */
static double *find_novel(const struct samples *samples, const struct model *model)
{
	struct novelty_floors floors;
	double *novel;

	if (!model->nr_types || novelty_floors_init(&floors, samples, model))
		return NULL;
	novel = novelty_floors_by_loop(&floors, samples->nr_loops);
	novelty_floors_deinit(&floors);
	return novel;
}

int cmd_show(int argc, char **argv)
{
	struct show show = { .max_types = DEFAULT_MAX_TYPES };
	char why[PROFILE_WHY_MAX];
	struct training training;
	struct profile_view view;
	struct samples samples;
	struct model model;
	double *novel;
	int ret = parse(argc, argv, &show);

	if (ret)
		return ret;
	if (profile_load(show.path, &samples, &model, &training, why)) {
		log_error("%s", why);
		return CMD_FAILED;
	}
	novel = find_novel(&samples, &model);
	if (profile_view_init(&view, show.path, &samples, &model, &training)) {
		log_error("out of memory");
		ret = CMD_FAILED;
	} else {
		view.novel = novel;
		ret = print(&show, &view);
		profile_view_deinit(&view);
	}
	free(novel);
	samples_deinit(&samples);
	model_deinit(&model);
	return ret;
}
