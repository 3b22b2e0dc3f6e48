// SPDX-License-Identifier: GPL-2.0

#include "app/learn/comparing.h"

#include <errno.h>
#include <stdlib.h>

#include "app/common/command.h"
#include "app/learn/live-reading.h"
#include "base/array.h"
#include "base/log.h"
#include "base/long-step.h"
#include "link/link.h"
#include "out/profile/difference-view.h"
#include "store/profile-file.h"
#include "train/guards/timed.h"
#include "train/model/compare.h"
#include "train/samples/live-times.h"
#include "train/samples/times.h"

/* A profile from its file. */
struct compared {
	struct samples samples;
	struct model model;
	struct samples_parts *times; /* by type */
};

/* What the module has counted of the types of a profile. */
struct counted {
	struct samples_parts *times; /* by type */
	uint64_t *least_ns;
};

/* The times of both halves. */
static int join_times(struct compared *compared)
{
	struct timed timed;
	int ret;

	if (array_new(compared->times, compared->model.nr_types))
		return -ENOMEM;
	ret = timed_init(&timed, &compared->samples, &compared->model);
	if (ret)
		return ret;
	for (uint32_t i = 0; i < compared->model.nr_types; i++)
		for (int half = 0; half < 2; half++)
			times_merge_parts(&compared->times[i], &timed.types[half][i]);
	timed_deinit(&timed);
	return 0;
}

static int load(struct compared *compared, const char *path)
{
	char why[PROFILE_WHY_MAX];
	struct training training;
	int ret;

	if (profile_load(path, &compared->samples, &compared->model, &training, why)) {
		log_error("%s", why);
		return CMD_FAILED;
	}
	if (!compared->model.nr_types) {
		log_error("%s has no types: nothing was learnt from it yet", path);
		return CMD_FAILED;
	}
	ret = join_times(compared);
	if (ret)
		log_error("cannot compare %s: %s", path,
			  ret == -ENOMEM ? "out of memory" : "its times are not sound");
	return ret ? CMD_FAILED : 0;
}

static void compared_deinit(struct compared *compared)
{
	samples_deinit(&compared->samples);
	model_deinit(&compared->model);
	free(compared->times);
}

static struct difference_profile shown(const char *path, const struct compare_side *side)
{
	struct difference_profile ret = {
		.path = path, .samples = side->samples, .model = side->model,
	};

	for (uint32_t i = 0; i < side->model->nr_types; i++)
		ret.timed += side->times[i].of[SAMPLES_OWN].nr;
	return ret;
}

static int print(const struct comparing *comparing, const struct compare_side *before,
		 const struct compare_side *after)
{
	struct difference difference;
	struct difference_view view = {
		.before = shown(comparing->before, before),
		.after = shown(comparing->after, after),
		.difference = &difference,
	};
	int ret;

	long_step_begin("comparing");
	ret = compare_profiles(before, after, &difference);
	long_step_end();

	if (!ret) {
		ret = comparing->is_json ? difference_json(stdout, &view) :
					   difference_text(stdout, &view);
		difference_deinit(&difference);
	}
	if (ret == -ENOMEM)
		log_error("out of memory");
	else if (ret == -E2BIG)
		log_error("the profiles are too large to be compared");
	return ret ? CMD_FAILED : CMD_OK;
}

static struct compare_side side_of(const struct compared *compared)
{
	return (struct compare_side){
		.samples = &compared->samples,
		.model = &compared->model,
		.times = compared->times,
	};
}

static int compare_files(const struct comparing *comparing, const struct compared *before)
{
	struct compare_side a = side_of(before), b;
	struct compared after = { 0 };
	int ret = load(&after, comparing->after);

	if (!ret) {
		b = side_of(&after);
		ret = print(comparing, &a, &b);
	}
	compared_deinit(&after);
	return ret;
}

static int read_counts(const char *path, const struct model *model, struct counted *ret)
{
	struct live_reading reading;
	struct link *link;
	int error = cmd_open_link(&link);

	if (error)
		return error;
	error = live_reading_take(link, path, &reading);
	link_close(link);
	if (error)
		return error;
	for (uint32_t i = 0; i < model->nr_types; i++) {
		const struct armed_times *times = live_reading_times(&reading, model->types[i].id);

		if (!times)
			continue;
		live_times_add(&ret->times[i], times);
		ret->least_ns[i] = live_times_least(times);
	}
	live_reading_deinit(&reading);
	return 0;
}

static int compare_live(const struct comparing *comparing, const struct compared *before)
{
	struct compare_side a = side_of(before), b = a;
	struct counted counted = { 0 };
	int ret;

	if (array_new(counted.times, before->model.nr_types) ||
	    array_new(counted.least_ns, before->model.nr_types))
		ret = cmd_no_memory();
	else
		ret = read_counts(comparing->before, &before->model, &counted);
	if (!ret) {
		b.times = counted.times;
		b.least_ns = counted.least_ns;
		ret = print(comparing, &a, &b);
	}
	free(counted.times);
	free(counted.least_ns);
	return ret;
}

int comparing_run(const struct comparing *comparing)
{
	struct compared before = { 0 };
	int ret = load(&before, comparing->before);

	if (!ret)
		ret = comparing->is_live ? compare_live(comparing, &before) :
					   compare_files(comparing, &before);
	compared_deinit(&before);
	return ret;
}
