// SPDX-License-Identifier: GPL-2.0

#include "app/watch/status-query.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/common/command.h"
#include "app/common/replaced.h"
#include "base/log.h"
#include "base/long-step.h"
#include "store/profile-file.h"

/* By chance there are not so many standard deviations more (Poisson's, of few, too). */
#define MAX_DEVIATIONS 4
/* Nor is it worth a training below this factor. */
#define MIN_FACTOR 1.5

uint32_t status_plan(const struct status_profile *profile, uint32_t guard)
{
	return guard < profile->loading.nr_guards ? profile->loading.guards[guard].plan : 0;
}

uint32_t status_function(const struct status_profile *profile, const struct armed_guard *guard)
{
	if (guard->index >= profile->loading.nr_guards)
		return SAMPLES_NONE;
	return profile->loading.functions[guard->index];
}

uint32_t status_loop(const struct status_profile *profile, uint32_t loop_id)
{
	if (!loop_id || loop_id > profile->loading.nr_courses)
		return loop_id;
	return profile->loading.loops[loop_id - 1] + 1;
}

double status_expected(const struct status_profile *profile)
{
	if (!profile->is_known || profile->armed->flags & PERFGUARD_PROFILE_FLAGS_PAPER)
		return -1;
	return novelty_floors_novel(&profile->floors, profile->samples.nr_loops);
}

bool status_has_news(const struct status_profile *profile)
{
	double units = (double)profile->armed->units, novel = (double)profile->armed->novel;
	double seen = 0, expected = status_expected(profile);

	if (expected < 0)
		return false;
	for (uint32_t i = 0; i < profile->samples.nr_loops; i++)
		seen += (double)profile->floors.shares[i].units;
	/* none of a few does not say that there is none (Laplace's rule of succession) */
	expected = (expected * seen + 1) / (seen + 2);
	expected *= units;
	return novel > MIN_FACTOR * expected &&
	       novel > expected + MAX_DEVIATIONS * sqrt(expected) +
			       MAX_DEVIATIONS * MAX_DEVIATIONS / 2.0;
}

const struct status_profile *status_profile_of(const struct status *status,
					       const struct target *target)
{
	for (uint32_t i = 0; i < status->nr_profiles; i++)
		if (status->profiles[i].armed->target_id == target->id)
			return &status->profiles[i];
	return NULL;
}

void status_replaced(const struct status *status, const struct target *target,
		     struct replaced *ret)
{
	const struct status_profile *profile = status_profile_of(status, target);
	bool is_known = profile && profile->is_known;

	replaced_find(target, status->processes, status->nr_processes,
		      is_known ? profile->samples.objects[0].build_id : NULL, ret);
}

/* What the file of the profile adds, if it is still what was armed. */
static void read_file(struct status_profile *profile)
{
	char why[PROFILE_WHY_MAX] = "out of memory";
	struct training training;
	const char *wrong;

	if (profile_load_hashed(profile->armed->name, profile->armed->hash, &profile->samples,
				&profile->model, &training, why)) {
		profile->why = strdup(why);
		return;
	}
	if (novelty_floors_init(&profile->floors, &profile->samples, &profile->model))
		return;
	profile->is_known = !loading_init(&profile->loading, &profile->samples, &profile->model,
					  profile->floors.least_final, &wrong);
}

/* One that was disarmed meanwhile has no answer any more. */
static int read_profile(struct link *link, struct status_profile *profile)
{
	uint32_t id = profile->armed->id;
	int error = link_guards(link, id, &profile->guards, &profile->nr_guards) ?:
		    link_types(link, id, &profile->types, &profile->nr_types);

	if (!error)
		read_file(profile);
	return error == -ENOENT ? 0 : error;
}

static int read_profiles(struct link *link, struct status *status)
{
	int error = link_profiles(link, &status->armed, &status->nr_armed);

	if (error)
		return error;
	status->profiles = calloc((size_t)status->nr_armed + 1, sizeof(*status->profiles));
	if (!status->profiles)
		return -ENOMEM;
	for (uint32_t i = 0; i < status->nr_armed && !error; i++) {
		if (!status->armed[i].target_id)
			continue;
		status->profiles[status->nr_profiles].armed = &status->armed[i];
		error = read_profile(link, &status->profiles[status->nr_profiles++]);
	}
	return error;
}

static int read_status(struct link *link, struct status *status)
{
	int error = link_stats(link, &status->stats) ?:
		    cmd_targets(link, &status->targets, &status->nr_targets) ?:
		    link_processes(link, 0, &status->processes, &status->nr_processes) ?:
		    read_profiles(link, status);

	return error ? cmd_link_failed(link, error, "cannot ask the module") : 0;
}

static void clear_status(struct status *status)
{
	for (uint32_t i = 0; i < status->nr_profiles; i++) {
		struct status_profile *profile = &status->profiles[i];

		free(profile->guards);
		free(profile->types);
		free(profile->why);
		loading_deinit(&profile->loading);
		novelty_floors_deinit(&profile->floors);
		samples_deinit(&profile->samples);
		model_deinit(&profile->model);
	}
	free(status->profiles);
	link_profiles_free(status->armed, status->nr_armed);
	free(status->processes);
	link_targets_free(status->targets, status->nr_targets);
	link_stats_clear(&status->stats);
}

int status_print(struct status *status)
{
	struct link *link;
	int ret = cmd_open_link(&link);

	if (ret)
		return ret;
	long_step_begin("reading what is armed");
	ret = read_status(link, status);
	long_step_end();
	link_close(link);
	if (!ret && status->is_json)
		status_json(status);
	else if (!ret)
		status_text(status);
	if (!ret && !status->stats.is_alive)
		log_warning("the hooks no longer reach the module; the kernel's log (dmesg) says why");
	clear_status(status);
	return ret;
}
