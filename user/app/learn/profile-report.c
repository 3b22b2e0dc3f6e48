// SPDX-License-Identifier: GPL-2.0

#include "app/learn/profile-report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/common/command.h"
#include "base/log.h"
#include "out/profile/profile-view.h"
#include "out/profile/tree.h"
#include "store/profile-file.h"
#include "train/guards/novelty-floor.h"

/* How many nodes of a tree can be read as text, or in a picture. */
enum {
	MAX_TEXT_NODES = 400,
	MAX_GRAPH_NODES = 160,
};

static int refuse_type(const struct profile_report *report, const struct model *model)
{
	uint32_t least = UINT32_MAX, most = 0;

	if (!model->nr_types) {
		log_error("%s has no types: nothing was learnt from it yet", report->path);
		return CMD_FAILED;
	}
	for (uint32_t i = 0; i < model->nr_types; i++) {
		least = model->types[i].id < least ? model->types[i].id : least;
		most = model->types[i].id > most ? model->types[i].id : most;
	}
	log_error("%s has no type %" PRIu32 "; it has %" PRIu32 " to %" PRIu32, report->path,
		  report->type, least, most);
	return CMD_FAILED;
}

static int print_tree(const struct profile_report *report, const struct tree *tree)
{
	switch (report->form[0]) {
	case 't':
		return tree_text(stdout, tree);
	case 's':
		return tree_svg(stdout, tree);
	}
	tree_dot(stdout, tree);
	return 0;
}

static int print_type(const struct profile_report *report, const struct profile_view *view)
{
	uint32_t max = report->form[0] == 't' ? MAX_TEXT_NODES : MAX_GRAPH_NODES;
	uint32_t type = model_find_type(view->model, report->type);
	struct tree tree;
	int ret;

	if (type == SAMPLES_NONE)
		return refuse_type(report, view->model);
	ret = tree_init(&tree, view, type, report->is_json ? UINT32_MAX : max);
	if (ret == -ENOENT) {
		log_error("type %" PRIu32 " has no call tree in %s", report->type, report->path);
		return CMD_FAILED;
	}
	if (!ret) {
		ret = report->is_json ? profile_json(stdout, view, report->has_hits, &tree) :
					print_tree(report, &tree);
		tree_deinit(&tree);
	}
	return ret;
}

static int print(const struct profile_report *report, const struct profile_view *view)
{
	int ret = 0;

	if (report->form)
		ret = print_type(report, view);
	else if (report->is_json)
		ret = profile_json(stdout, view, report->has_hits, NULL);
	else
		profile_text(stdout, view, report->max_types, report->has_hits);
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

int profile_report_print(const struct profile_report *report)
{
	char why[PROFILE_WHY_MAX];
	struct training training;
	struct profile_view view;
	struct samples samples;
	struct model model;
	int ret = CMD_FAILED;
	double *novel;

	if (profile_load(report->path, &samples, &model, &training, why)) {
		log_error("%s", why);
		return CMD_FAILED;
	}
	novel = find_novel(&samples, &model);
	if (profile_view_init(&view, report->path, &samples, &model, &training)) {
		log_error("out of memory");
	} else {
		view.novel = novel;
		ret = print(report, &view);
		profile_view_deinit(&view);
	}
	free(novel);
	samples_deinit(&samples);
	model_deinit(&model);
	return ret;
}
