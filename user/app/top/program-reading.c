// SPDX-License-Identifier: GPL-2.0

#include "app/top/program-reading.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/common/command.h"
#include "app/common/replaced.h"
#include "app/watch/profile-cache.h"
#include "base/array.h"
#include "base/time.h"
#include "link/link.h"

/* Of which a reading is made. */
struct armed_all {
	struct target *targets;
	struct armed_profile *armed;
	uint32_t nr_targets;
	uint32_t nr;
};

static void clear_program(struct top_program *program)
{
	link_profiles_free(program->armed, program->armed ? 1 : 0);
	free(program->types);
	free(program->times);
	free(program->requests);
	free(program->notes);
	free(program->exe);
	free(program->cgroup);
}

void program_reading_clear(struct top_reading *reading)
{
	for (uint32_t i = 0; i < reading->nr_programs; i++)
		clear_program(&reading->programs[i]);
	free(reading->programs);
	*reading = (struct top_reading){ 0 };
}

/* Those that are not followed are no error. */
static int read_requests(struct link *link, const struct target *target, struct top_program *program)
{
	int error;

	program->late_requests = target->late_requests;
	program->starved_requests = target->starved_requests;
	program->suppressed_requests = target->suppressed_requests;
	if (!(target->flags & PERFGUARD_TARGET_FLAGS_REQUESTS))
		return 0;
	if (array_new(program->requests, 1))
		return -ENOMEM;
	error = link_requests(link, target->id, program->requests);
	if (!error)
		return 0;
	free(program->requests);
	program->requests = NULL;
	return error == -ENOENT || error == -EOPNOTSUPP ? 0 : error;
}

static int take_target(struct top_program *program, const struct target *target)
{
	program->target_id = target->id;
	program->processes = target->processes;
	program->suppressed = target->suppressed;
	program->untracked = target->untracked;
	program->is_stale = replaced_is_stale(target);
	program->has_uid = target->has_uid;
	program->uid = target->uid;
	program->exe = strdup(target->path);
	program->cgroup = target->cgroup ? strdup(target->cgroup) : NULL;
	return program->exe && !program->cgroup == !target->cgroup ? 0 : -ENOMEM;
}

static int read_program(struct link *link, const struct target *target, struct top_program *program)
{
	uint32_t id = program->armed->id;

	return take_target(program, target) ?:
	       link_types(link, id, &program->types, &program->nr_types) ?:
	       link_times(link, id, &program->times, &program->nr_times) ?:
	       read_requests(link, target, program);
}

static const struct target *find_target(const struct armed_all *all, uint32_t id)
{
	for (uint32_t i = 0; i < all->nr_targets; i++)
		if (all->targets[i].id == id)
			return &all->targets[i];
	return NULL;
}

/* One that was disarmed meanwhile has no answer any more, and is left out. */
static int add_program(struct link *link, const struct armed_all *all,
		       const struct armed_profile *armed, struct top_reading *ret)
{
	struct top_program *program = &ret->programs[ret->nr_programs];
	const struct target *target = find_target(all, armed->target_id);
	int error;

	if (!target)
		return 0;
	if (array_new(program->armed, 1))
		return -ENOMEM;
	*program->armed = *armed;
	program->armed->name = strdup(armed->name);
	ret->nr_programs++;
	if (!program->armed->name)
		return -ENOMEM;
	error = read_program(link, target, program);
	if (error != -ENOENT)
		return error;
	clear_program(program);
	memset(program, 0, sizeof(*program));
	ret->nr_programs--;
	return 0;
}

static int read_programs(struct link *link, const struct armed_all *all, struct top_reading *ret)
{
	int error = 0;

	ret->at_ns = time_now_ns();
	if (array_new(ret->programs, all->nr))
		return -ENOMEM;
	for (uint32_t i = 0; i < all->nr && !error; i++)
		if (all->armed[i].target_id)
			error = add_program(link, all, &all->armed[i], ret);
	ret->nr_others = all->nr_targets - ret->nr_programs;
	return error;
}

int program_reading_take(struct link *link, struct profile_cache *cache, struct top_reading *ret)
{
	struct armed_all all = { 0 };
	int error = cmd_targets(link, &all.targets, &all.nr_targets);

	*ret = (struct top_reading){ 0 };
	if (!error)
		error = link_profiles(link, &all.armed, &all.nr);
	if (!error)
		error = read_programs(link, &all, ret);
	if (!error && cache)
		error = profile_cache_set(cache, all.armed, all.nr);
	link_targets_free(all.targets, all.nr_targets);
	link_profiles_free(all.armed, all.nr);
	return error;
}

static int read_hits(struct link *link, struct top_program *program)
{
	struct armed_guard *guards;
	uint32_t nr;
	int error = link_guards(link, program->armed->id, &guards, &nr);

	if (error)
		return error == -ENOENT ? 0 : error;
	for (uint32_t i = 0; i < nr; i++)
		program->hits += guards[i].hits;
	free(guards);
	return 0;
}

int program_reading_hits(struct link *link, struct top_reading *reading)
{
	int error = 0;

	for (uint32_t i = 0; i < reading->nr_programs && !error; i++)
		error = read_hits(link, &reading->programs[i]);
	return error;
}

int program_reading_note(struct top_program *program, const struct cached_profile *cached)
{
	if (array_new(program->notes, program->nr_types))
		return -ENOMEM;
	for (uint32_t i = 0; i < program->nr_types; i++) {
		const struct cached_type *type = cached_type_find(cached, program->types[i].id);

		if (type)
			program->notes[i] = (struct top_type_note){
				.name = type->name,
				.loop = type->loop,
				.is_slow = type->regression.is_on,
			};
	}
	return 0;
}
