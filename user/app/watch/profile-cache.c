// SPDX-License-Identifier: GPL-2.0

#include "app/watch/profile-cache.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "link/link.h"
#include "out/profile/profile-view.h"
#include "store/profile-file.h"

enum {
	MAX_LABEL = 32, /* columns of a function in a type's name */
	NR_LABELS = 2,
};

/* What is in a profile's file; only taken from. */
struct cached_file {
	struct samples samples;
	struct model model;
	struct training training;
};

struct cached_profile *profile_cache_find(const struct profile_cache *cache, uint32_t profile_id)
{
	for (uint32_t i = 0; i < cache->nr; i++)
		if (cache->profiles[i].id == profile_id)
			return &cache->profiles[i];
	return NULL;
}

static int compare_types(const void *left, const void *right)
{
	const struct cached_type *a = left, *b = right;

	return order_of(a->type.id, b->type.id);
}

struct cached_type *cached_type_find(const struct cached_profile *profile, uint32_t type_id)
{
	const struct cached_type key = { .type.id = type_id };

	if (!profile->nr_types)
		return NULL;
	return bsearch(&key, profile->types, profile->nr_types, sizeof(key), compare_types);
}

static void clear(struct cached_profile *profile)
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
	free(profile->build_id);
	visits_deinit(&profile->visits);
	memset(profile, 0, sizeof(*profile));
}

void profile_cache_deinit(struct profile_cache *cache)
{
	for (uint32_t i = 0; i < cache->nr; i++)
		clear(&cache->profiles[i]);
	free(cache->profiles);
	memset(cache, 0, sizeof(*cache));
}

static int take_guards(struct cached_profile *profile, const struct cached_file *file)
{
	const struct samples *samples = &file->samples;
	const struct model *model = &file->model;

	profile->guards = calloc(model->nr_guards + 1u, sizeof(*profile->guards));
	if (!profile->guards)
		return -ENOMEM;
	for (uint32_t i = 0; i < model->nr_guards; i++) {
		const struct samples_function *function =
			&samples->functions[model->guards[i].function];
		struct cached_guard *guard = &profile->guards[profile->nr_guards++];

		guard->offset = function->offset;
		guard->module = strdup(samples->objects[function->object].path);
		guard->function = function->name ? strdup(function->name) : NULL;
		if (!guard->module || (function->name && !guard->function))
			return -ENOMEM;
	}
	return 0;
}

/* The functions that identify the type best, each once; NULL if there are none. */
static char *type_name(const struct profile_view *view, uint32_t type)
{
	const struct profile_identifying *best = &view->identifying[type * PROFILE_MAX_IDENTIFYING];
	char text[NR_LABELS * (PROFILE_LABEL_MAX + 2)] = "", label[PROFILE_LABEL_MAX];
	uint32_t before = SAMPLES_NONE;
	size_t len = 0;
	int nr = 0;

	for (int i = 0; i < PROFILE_MAX_IDENTIFYING && best[i].lead && nr < NR_LABELS; i++) {
		uint32_t guard = view->model->contexts[best[i].context].guard;

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

static int take_types(struct cached_profile *profile, const struct cached_file *file)
{
	const struct model *model = &file->model;
	struct profile_view view;

	profile->types = calloc(model->nr_types + 1u, sizeof(*profile->types));
	if (!profile->types ||
	    profile_view_init(&view, profile->path, &file->samples, model, &file->training))
		return -ENOMEM;
	for (uint32_t i = 0; i < model->nr_types; i++) {
		const struct model_type *type = &model->types[i];
		struct cached_type *cached = &profile->types[profile->nr_types++];

		cached->index = i;
		cached->loop = type->loop + 1;
		cached->trained.ns[REGRESSION_CPU] = type->mean_ns[SAMPLES_CPU];
		cached->trained.ns[REGRESSION_BLOCKED] = type->mean_ns[SAMPLES_BLOCKED];
		cached->limit_ns = type->limit_ns[SAMPLES_OWN];
		cached->requests = type->requests[REQUEST_PART_ALL].nr;
		for (int part = 0; part < REQUEST_NR_PARTS; part++)
			cached->request_usual_ns[part] = profile_median_ns(&type->requests[part]);
		cached->name = type_name(&view, i);
		cached->type = (struct alert_type){
			.id = type->id,
			.name = cached->name,
			.usual_ns = profile_mean_ns(&type->times),
			.is_rough = type->confidence < MODEL_CONFIDENCE_FIT,
			.is_carried = type->is_carried,
			.accuracy = type->accuracy,
		};
	}
	profile_view_deinit(&view);
	qsort(profile->types, profile->nr_types, sizeof(*profile->types), compare_types);
	return 0;
}

/* Without its file a profile has no names; that is no error. */
static int load(struct cached_profile *profile, uint64_t hash)
{
	char why[PROFILE_WHY_MAX];
	struct cached_file file;
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
		profile->build_id = strdup(file.samples.objects[0].build_id);
		ret = profile->exe && profile->build_id ? 0 : -ENOMEM;
	}
	if (!ret)
		ret = visits_init(&profile->visits, &file.samples, &file.model);
	profile->nr_visited = ret ? 0 : file.model.nr_guards;
	samples_deinit(&file.samples);
	model_deinit(&file.model);
	return ret;
}

static int add(struct profile_cache *cache, const struct armed_profile *armed)
{
	struct cached_profile *profile;
	int ret;

	if (array_resize(cache->profiles, cache->nr + 1UL))
		return -ENOMEM;
	profile = &cache->profiles[cache->nr];
	*profile = (struct cached_profile){
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
	cache->nr++;
	return 0;
}

static void drop_unseen(struct profile_cache *cache)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < cache->nr; i++) {
		if (cache->profiles[i].is_seen)
			cache->profiles[nr++] = cache->profiles[i];
		else
			clear(&cache->profiles[i]);
	}
	cache->nr = nr;
}

int profile_cache_set(struct profile_cache *cache, const struct armed_profile *armed, uint32_t nr)
{
	int ret = 0;

	for (uint32_t i = 0; i < cache->nr; i++)
		cache->profiles[i].is_seen = false;
	for (uint32_t i = 0; i < nr && !ret; i++) {
		struct cached_profile *profile = profile_cache_find(cache, armed[i].id);

		if (profile)
			profile->is_seen = true;
		else if (armed[i].target_id)
			ret = add(cache, &armed[i]);
	}
	drop_unseen(cache);
	return ret;
}

int profile_cache_refresh(struct profile_cache *cache, struct link *link)
{
	struct armed_profile *armed;
	uint32_t nr;
	int ret;

	ret = link_profiles(link, &armed, &nr);
	if (ret)
		return ret;
	ret = profile_cache_set(cache, armed, nr);
	link_profiles_free(armed, nr);
	return ret;
}

/* A type that only the module knows, of a profile without its file. */
static struct cached_type *add_type(struct cached_profile *profile, uint32_t id)
{
	if (array_resize(profile->types, profile->nr_types + 1UL))
		return NULL;
	profile->types[profile->nr_types++] = (struct cached_type){
		.type = { .id = id, .accuracy = -1 },
		.index = SAMPLES_NONE,
	};
	qsort(profile->types, profile->nr_types, sizeof(*profile->types), compare_types);
	return cached_type_find(profile, id);
}

static void set_normal(struct cached_type *cached, const struct armed_type *armed)
{
	double nr = (double)armed->units;

	cached->limit_ns = armed->own_limit_ns;
	if (!armed->units)
		return;
	cached->normal = (struct reason_normal){
		.units = armed->units,
		.elapsed_ns = (double)armed->elapsed_ns / nr,
		.cpu_ns = (double)armed->cpu_ns / nr,
		.runqueue_ns = (double)armed->runqueue_ns / nr,
		.block_io_ns = (double)armed->block_io_ns / nr,
		.min_faults = (double)armed->min_faults / nr,
		.maj_faults = (double)armed->maj_faults / nr,
	};
	cached->type.usual_ns = cached->normal.elapsed_ns;
}

static int look_at(struct cached_profile *profile, const struct armed_type *armed, uint64_t now_ns,
		   profile_cache_level_fn fn, void *arg)
{
	struct cached_type *cached = cached_type_find(profile, armed->id);
	const struct regression_sums sums = {
		.units = armed->units + armed->late,
		.late = armed->late,
		.cpu_ns = armed->cpu_ns + armed->late_cpu_ns,
		.blocked_ns = armed->elapsed_ns - armed->cpu_ns - armed->runqueue_ns +
			      armed->late_blocked_ns,
	};

	if (!cached)
		cached = add_type(profile, armed->id);
	if (!cached)
		return -ENOMEM;
	set_normal(cached, armed);
	if (regression_update(&cached->regression, &sums, now_ns, &cached->trained) ==
	    REGRESSION_NONE || !fn)
		return 0;
	return fn(profile, cached, arg);
}

int cached_profile_count(struct cached_profile *profile, const struct armed_type *armed, uint32_t nr,
			 uint64_t now_ns, profile_cache_level_fn fn, void *arg)
{
	int ret = 0;

	profile->sums = (struct starvation_sums){ 0 };
	for (uint32_t i = 0; i < nr && !ret; i++) {
		profile->sums.units += armed[i].units + armed[i].late;
		profile->sums.starved += armed[i].starved;
		ret = look_at(profile, &armed[i], now_ns, fn, arg);
	}
	return ret;
}

int profile_cache_look(struct profile_cache *cache, struct link *link, uint64_t now_ns, profile_cache_level_fn fn,
	       void *arg)
{
	int ret = 0;

	for (uint32_t i = 0; i < cache->nr && !ret; i++) {
		struct armed_type *armed;
		uint32_t nr;

		ret = link_types(link, cache->profiles[i].id, &armed, &nr);
		if (ret == -ENOENT) { /* disarmed meanwhile */
			ret = 0;
			continue;
		}
		if (ret)
			break;
		ret = cached_profile_count(&cache->profiles[i], armed, nr, now_ns, fn, arg);
		free(armed);
	}
	return ret;
}

struct starvation_sums profile_cache_sums(const struct profile_cache *cache)
{
	struct starvation_sums sums = { 0 };

	for (uint32_t i = 0; i < cache->nr; i++) {
		sums.units += cache->profiles[i].sums.units;
		sums.starved += cache->profiles[i].sums.starved;
	}
	return sums;
}

uint64_t profile_cache_step_ns(const struct profile_cache *cache)
{
	const struct regression none = { 0 };
	uint64_t least = regression_step_ns(&none);

	for (uint32_t i = 0; i < cache->nr; i++)
		for (uint32_t j = 0; j < cache->profiles[i].nr_types; j++) {
			uint64_t step = regression_step_ns(&cache->profiles[i].types[j].regression);

			if (step < least)
				least = step;
		}
	return least;
}

struct alert_level cached_type_level(const struct cached_profile *profile,
				     const struct cached_type *type, uint64_t time_ns)
{
	return (struct alert_level){
		.time_ns = time_ns,
		.exe = profile->exe,
		.profile = profile->path,
		.profile_id = profile->id,
		.type = &type->type,
		.limit_ns = type->limit_ns,
		.regression = &type->regression,
	};
}

void cached_profile_met(const struct cached_profile *profile, const struct cached_type *type,
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
