// SPDX-License-Identifier: GPL-2.0

#include "app/top/top-reading.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/common/command.h"
#include "base/array.h"
#include "base/duration.h"
#include "base/time.h"

/* Times are shown of the last half minute to minute. */
#define SPAN_NS (30 * NSEC_PER_SEC)

void top_reader_init(struct top_reader *reader, struct link *link)
{
	*reader = (struct top_reader){ .link = link };
}

static void clear_program(struct top_program *program)
{
	link_profiles_free(program->armed, program->armed ? 1 : 0);
	free(program->types);
	free(program->times);
	free(program->requests);
	free(program->notes);
	free((char *)program->exe);
}

static void clear_reading(struct top_reading *reading)
{
	for (uint32_t i = 0; i < reading->nr_programs; i++)
		clear_program(&reading->programs[i]);
	free(reading->programs);
	*reading = (struct top_reading){ 0 };
}

/* @to takes over what @from has. */
static void move_reading(struct top_reading *to, struct top_reading *from)
{
	clear_reading(to);
	*to = *from;
	*from = (struct top_reading){ 0 };
}

void top_reader_deinit(struct top_reader *reader)
{
	clear_reading(&reader->now);
	clear_reading(&reader->before);
	clear_reading(&reader->base);
	clear_reading(&reader->next_base);
	link_targets_free(reader->targets, reader->nr_targets);
	profile_cache_deinit(&reader->cache);
	*reader = (struct top_reader){ 0 };
}

/* Those that are not followed are no error. */
static int read_requests(struct link *link, const struct target *target, struct top_program *program)
{
	int error;

	program->late_requests = target->late_requests;
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

static int read_program(struct link *link, const struct target *target, struct top_program *program)
{
	uint32_t id = program->armed->id;

	program->target_id = target->id;
	program->processes = target->processes;
	program->exe = strdup(target->path);
	if (!program->exe)
		return -ENOMEM;
	return link_types(link, id, &program->types, &program->nr_types) ?:
	       link_times(link, id, &program->times, &program->nr_times) ?:
	       read_requests(link, target, program);
}

static const struct target *find_target(const struct top_reader *reader, uint32_t id)
{
	for (uint32_t i = 0; i < reader->nr_targets; i++)
		if (reader->targets[i].id == id)
			return &reader->targets[i];
	return NULL;
}

/* One that was disarmed meanwhile has no answer any more, and is left out. */
static int add_program(struct top_reader *reader, struct armed_profile *armed,
		       struct top_reading *ret)
{
	struct top_program *program = &ret->programs[ret->nr_programs];
	const struct target *target = find_target(reader, armed->target_id);
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
	error = read_program(reader->link, target, program);
	if (error != -ENOENT)
		return error;
	clear_program(program);
	memset(program, 0, sizeof(*program));
	ret->nr_programs--;
	return 0;
}

static int read_programs(struct top_reader *reader, struct armed_profile *armed, uint32_t nr,
			 struct top_reading *ret)
{
	int error = 0;

	ret->at_ns = time_now_ns();
	if (array_new(ret->programs, nr))
		return -ENOMEM;
	for (uint32_t i = 0; i < nr && !error; i++)
		if (armed[i].target_id)
			error = add_program(reader, &armed[i], ret);
	if (!error)
		error = profile_cache_set(&reader->cache, armed, nr);
	return error;
}

static int read_all(struct top_reader *reader, struct top_reading *ret)
{
	struct target *targets;
	struct armed_profile *armed;
	uint32_t nr;
	int error = cmd_targets(reader->link, &targets, &nr);

	if (error)
		return error;
	link_targets_free(reader->targets, reader->nr_targets);
	reader->targets = targets;
	reader->nr_targets = nr;
	error = link_profiles(reader->link, &armed, &nr);
	if (error)
		return error;
	error = read_programs(reader, armed, nr, ret);
	link_profiles_free(armed, nr);
	reader->nr_others = reader->nr_targets - (error ? 0 : ret->nr_programs);
	return error;
}

/* What the profile's file and the readings before say of its types. */
static int note_types(struct top_program *program, struct cached_profile *cached, uint64_t wall_ns)
{
	const struct starvation_sums *sums = &cached->sums;

	if (array_new(program->notes, program->nr_types) ||
	    cached_profile_count(cached, program->types, program->nr_types, wall_ns, NULL, NULL))
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
	starvation_update(&cached->starvation, sums, wall_ns);
	program->is_starved = cached->starvation.is_on;
	return 0;
}

static int note_programs(struct top_reader *reader, struct top_reading *reading)
{
	uint64_t wall_ns = time_wall_ns();
	int ret = 0;

	for (uint32_t i = 0; i < reading->nr_programs && !ret; i++) {
		struct top_program *program = &reading->programs[i];
		struct cached_profile *cached = profile_cache_find(&reader->cache, program->armed->id);

		if (cached)
			ret = note_types(program, cached, wall_ns);
	}
	return ret;
}

/* A reading leaves: it may be the one that the next span begins with. */
static void retire(struct top_reader *reader)
{
	if (!reader->before.at_ns)
		return;
	if (!reader->next_base.at_ns) {
		move_reading(&reader->next_base, &reader->before);
	} else if (reader->before.at_ns - reader->next_base.at_ns >= SPAN_NS) {
		move_reading(&reader->base, &reader->next_base);
		move_reading(&reader->next_base, &reader->before);
	}
}

int top_reader_read(struct top_reader *reader)
{
	struct top_reading reading = { 0 };
	int error = read_all(reader, &reading);

	if (!error)
		error = note_programs(reader, &reading);
	if (error) {
		clear_reading(&reading);
		if (error == -EAGAIN)
			reader->put_off_ns = time_now_ns();
		return error;
	}
	reader->put_off_ns = 0;
	retire(reader);
	move_reading(&reader->before, &reader->now);
	move_reading(&reader->now, &reading);
	return 0;
}

int top_reader_table(const struct top_reader *reader, struct top_table *ret)
{
	return top_table_init(ret, &reader->now, reader->before.at_ns ? &reader->before : NULL,
			      reader->base.at_ns ? &reader->base : NULL);
}

uint64_t top_reader_span_ns(const struct top_reader *reader)
{
	return reader->base.at_ns ? reader->now.at_ns - reader->base.at_ns : 0;
}
