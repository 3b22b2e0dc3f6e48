// SPDX-License-Identifier: GPL-2.0

#include "app/watch/profile-cache.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "link/link.h"
#include "out/profile/profile-view.h"
#include "store/profile-hash.h"

enum {
	MAX_LABEL = 32, /* columns of a function in a type's name */
	NR_LABELS = 2,
};

/* What is in a profile's file; only taken from. */
struct file {
	struct samples samples;
	struct model model;
	struct training training;
};

struct known_profile *known_find(const struct known *known, uint32_t profile_id)
{
	for (uint32_t i = 0; i < known->nr; i++)
		if (known->profiles[i].id == profile_id)
			return &known->profiles[i];
	return NULL;
}

struct known_type *known_type(const struct known_profile *profile, uint32_t type_id)
{
	uint32_t low = 0, high = profile->nr_types;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (profile->types[middle].type.id < type_id)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == profile->nr_types || profile->types[low].type.id != type_id)
		return NULL;
	return &profile->types[low];
}

static int compare_types(const void *left, const void *right)
{
	const struct known_type *a = left, *b = right;

	return (a->type.id > b->type.id) - (a->type.id < b->type.id);
}

static void clear(struct known_profile *profile)
{
	for (uint32_t i = 0; i < profile->nr_types; i++)
		free(profile->types[i].name);
	for (uint32_t i = 0; i < profile->nr_guards; i++) {
		free(profile->guards[i].module);
		free(profile->guards[i].function);
	}
	free(profile->types);
	free(profile->guards);
	free(profile->path);
	free(profile->exe);
	visits_deinit(&profile->visits);
	memset(profile, 0, sizeof(*profile));
}

void known_deinit(struct known *known)
{
	for (uint32_t i = 0; i < known->nr; i++)
		clear(&known->profiles[i]);
	free(known->profiles);
	memset(known, 0, sizeof(*known));
}

static int take_guards(struct known_profile *profile, const struct file *file)
{
	const struct samples *samples = &file->samples;
	const struct model *model = &file->model;

	profile->guards = calloc(model->nr_guards + 1u, sizeof(*profile->guards));
	if (!profile->guards)
		return -ENOMEM;
	for (uint32_t i = 0; i < model->nr_guards; i++) {
		const struct samples_function *function =
			&samples->functions[model->guards[i].function];
		struct known_guard *guard = &profile->guards[profile->nr_guards++];

		guard->offset = function->offset;
		guard->module = strdup(samples->objects[function->object].path);
		guard->function = function->name ? strdup(function->name) : NULL;
		if (!guard->module || (function->name && !guard->function))
			return -ENOMEM;
	}
	return 0;
}

/* The functions that tell the type best, each once; NULL if there are none. */
static char *type_name(const struct profile_view *view, uint32_t type)
{
	const struct profile_telling *telling = &view->telling[type * PROFILE_MAX_TELLING];
	char text[NR_LABELS * (PROFILE_LABEL_MAX + 2)] = "", label[PROFILE_LABEL_MAX];
	uint32_t before = SAMPLES_NONE;
	size_t len = 0;
	int nr = 0;

	for (int i = 0; i < PROFILE_MAX_TELLING && telling[i].lead && nr < NR_LABELS; i++) {
		uint32_t guard = view->model->contexts[telling[i].context].guard;

		if (guard == before)
			continue;
		profile_function_label(view->samples, view->model->guards[guard].function,
				       MAX_LABEL, label);
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", nr++ ? ", " : "",
					label);
		before = guard;
	}
	return nr ? strdup(text) : NULL;
}

static int take_types(struct known_profile *profile, const struct file *file)
{
	const struct model *model = &file->model;
	struct profile_view view;

	profile->types = calloc(model->nr_types + 1u, sizeof(*profile->types));
	if (!profile->types ||
	    profile_view_init(&view, profile->path, &file->samples, model, &file->training))
		return -ENOMEM;
	for (uint32_t i = 0; i < model->nr_types; i++) {
		const struct model_type *type = &model->types[i];
		struct known_type *known = &profile->types[profile->nr_types++];

		known->index = i;
		known->trained_ns = profile_mean_ns(&type->times);
		known->threshold_ns = type->threshold_ns;
		known->name = type_name(&view, i);
		known->type = (struct alert_type){
			.id = type->id,
			.name = known->name,
			.usual_ns = known->trained_ns,
			.is_rough = type->confidence != MODEL_CONFIDENCE_FULL,
			.accuracy = type->accuracy,
		};
	}
	profile_view_deinit(&view);
	qsort(profile->types, profile->nr_types, sizeof(*profile->types), compare_types);
	return 0;
}

/* Without its file a profile has no names; that is no error. */
static int load(struct known_profile *profile, uint64_t hash)
{
	char why[PROFILE_WHY_MAX];
	struct file file;
	int ret;

	if (profile_load_hashed(profile->path, hash, &file.samples, &file.model, &file.training,
				why)) {
		log_warning("types and functions of a profile have no names: %s", why);
		return 0;
	}
	ret = take_guards(profile, &file);
	if (!ret)
		ret = take_types(profile, &file);
	if (!ret && file.samples.nr_objects) {
		profile->exe = strdup(file.samples.objects[0].path);
		ret = profile->exe ? 0 : -ENOMEM;
	}
	if (!ret)
		ret = visits_init(&profile->visits, &file.samples, &file.model);
	profile->nr_visited = ret ? 0 : file.model.nr_guards;
	samples_deinit(&file.samples);
	model_deinit(&file.model);
	return ret;
}

static int add(struct known *known, const struct armed_profile *armed)
{
	struct known_profile *profile;
	int ret;

	profile = reallocarray(known->profiles, known->nr + 1u, sizeof(*profile));
	if (!profile)
		return -ENOMEM;
	known->profiles = profile;
	profile += known->nr;
	*profile = (struct known_profile){
		.id = armed->id,
		.target_id = armed->target_id,
		.path = strdup(armed->name),
		.is_seen = true,
	};
	ret = profile->path ? load(profile, armed->hash) : -ENOMEM;
	if (ret) {
		clear(profile);
		return ret;
	}
	known->nr++;
	return 0;
}

static void drop_unseen(struct known *known)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < known->nr; i++) {
		if (known->profiles[i].is_seen)
			known->profiles[nr++] = known->profiles[i];
		else
			clear(&known->profiles[i]);
	}
	known->nr = nr;
}

int known_refresh(struct known *known, struct link *link)
{
	struct armed_profile *armed;
	uint32_t nr;
	int ret;

	ret = link_profiles(link, &armed, &nr);
	if (ret)
		return ret;
	for (uint32_t i = 0; i < known->nr; i++)
		known->profiles[i].is_seen = false;
	for (uint32_t i = 0; i < nr && !ret; i++) {
		struct known_profile *profile = known_find(known, armed[i].id);

		if (profile)
			profile->is_seen = true;
		else if (armed[i].target_id)
			ret = add(known, &armed[i]);
	}
	drop_unseen(known);
	link_profiles_free(armed, nr);
	return ret;
}

/* A type that only the module knows, of a profile without its file. */
static struct known_type *add_type(struct known_profile *profile, uint32_t id)
{
	struct known_type *types;

	types = reallocarray(profile->types, profile->nr_types + 1u, sizeof(*types));
	if (!types)
		return NULL;
	profile->types = types;
	types[profile->nr_types++] = (struct known_type){
		.type = { .id = id, .accuracy = -1 },
		.index = SAMPLES_NONE,
	};
	qsort(types, profile->nr_types, sizeof(*types), compare_types);
	return known_type(profile, id);
}

static void set_normal(struct known_type *known, const struct armed_type *armed)
{
	double nr = (double)armed->units;

	known->threshold_ns = armed->threshold_ns;
	if (!armed->units)
		return;
	known->normal = (struct reason_normal){
		.units = armed->units,
		.elapsed_ns = (double)armed->elapsed_ns / nr,
		.cpu_ns = (double)armed->cpu_ns / nr,
		.runqueue_ns = (double)armed->runqueue_ns / nr,
		.block_io_ns = (double)armed->block_io_ns / nr,
		.min_faults = (double)armed->min_faults / nr,
		.maj_faults = (double)armed->maj_faults / nr,
	};
	known->type.usual_ns = known->normal.elapsed_ns;
}

static int look_at(struct known_profile *profile, const struct armed_type *armed, uint64_t now_ns,
		   known_level_fn fn, void *arg)
{
	struct known_type *known = known_type(profile, armed->id);
	const struct drift_sums sums = {
		.units = armed->units,
		.late = armed->late,
		.elapsed_ns = armed->elapsed_ns,
		.late_elapsed_ns = armed->late_elapsed_ns,
	};

	if (!known)
		known = add_type(profile, armed->id);
	if (!known)
		return -ENOMEM;
	set_normal(known, armed);
	if (drift_look(&known->drift, &sums, now_ns, known->trained_ns) == DRIFT_NONE)
		return 0;
	return fn(profile, known, arg);
}

int known_look(struct known *known, struct link *link, uint64_t now_ns, known_level_fn fn,
	       void *arg)
{
	int ret = 0;

	for (uint32_t i = 0; i < known->nr && !ret; i++) {
		struct armed_type *armed;
		uint32_t nr;

		ret = link_types(link, known->profiles[i].id, &armed, &nr);
		if (ret == -ENOENT) { /* disarmed meanwhile */
			ret = 0;
			continue;
		}
		if (ret)
			break;
		for (uint32_t j = 0; j < nr && !ret; j++)
			ret = look_at(&known->profiles[i], &armed[j], now_ns, fn, arg);
		free(armed);
	}
	return ret;
}

bool known_has_level(const struct known *known)
{
	for (uint32_t i = 0; i < known->nr; i++)
		for (uint32_t j = 0; j < known->profiles[i].nr_types; j++)
			if (known->profiles[i].types[j].drift.is_on)
				return true;
	return false;
}

void known_met(const struct known_profile *profile, const struct known_type *type,
	       const struct perfguard_met *met, struct alert_met *ret)
{
	const struct visit *visit;

	*ret = (struct alert_met){
		.depth = met->depth,
		.context = { .hits = met->hits, .is_known = met->in_profile != 0 },
	};
	if (met->guard < profile->nr_guards) {
		ret->module = profile->guards[met->guard].module;
		ret->function = profile->guards[met->guard].function;
		ret->offset = profile->guards[met->guard].offset;
	}
	/* A guard that only begins events has no contexts. */
	if (met->guard >= profile->nr_visited)
		ret->context.is_known = true;
	if (!type || type->index == SAMPLES_NONE || met->guard >= profile->nr_visited)
		return;
	ret->context.units = profile->visits.units[type->index];
	visit = visits_find(&profile->visits, type->index, met->guard, met->depth);
	if (!visit)
		return;
	ret->context.visits = visit->units;
	ret->context.sum = visit->hits;
	ret->context.most = visit->most;
}
