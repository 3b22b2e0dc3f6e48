// SPDX-License-Identifier: GPL-2.0

#include "out/metrics/metrics-memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void metrics_memory_deinit(struct metrics_memory *memory)
{
	for (uint32_t i = 0; i < memory->nr; i++)
		free(memory->programs[i].types);
	free(memory->programs);
	*memory = (struct metrics_memory){ 0 };
}

static const struct armed_times *find_times(const struct top_program *program, uint32_t at,
					    uint32_t id)
{
	if (at < program->nr_times && program->times[at].id == id)
		return &program->times[at];
	for (uint32_t i = 0; i < program->nr_times; i++)
		if (program->times[i].id == id)
			return &program->times[i];
	return NULL;
}

static void take_times(struct remembered_type *type, const struct armed_times *times)
{
	const uint32_t *nr = times->nr[PERFGUARD_TIMES_OWN - 1];

	if (!type->has_times || type->first != times->first) {
		memset(type->read, 0, sizeof(type->read));
		memset(type->nr, 0, sizeof(type->nr));
	}
	type->has_times = true;
	type->first = times->first;
	for (uint32_t i = 0; i < PERFGUARD_TIMES_BUCKETS; i++) {
		type->nr[i] += (uint32_t)(nr[i] - type->read[i]);
		type->read[i] = nr[i];
	}
}

/* A part may have come before the time that it is of. */
static void take_sums(struct remembered_type *type, const struct armed_type *armed)
{
	uint64_t others_ns = armed->cpu_ns + armed->runqueue_ns;
	uint64_t blocked_ns = top_sums_of(armed).part_ns[TOP_BLOCKED];

	if (armed->elapsed_ns < others_ns)
		blocked_ns = armed->late_blocked_ns;
	if (blocked_ns > type->blocked_ns)
		type->blocked_ns = blocked_ns;
}

static void take_types(struct remembered_program *memory, const struct top_program *program)
{
	for (uint32_t i = 0; i < memory->nr_types; i++) {
		const struct armed_type *armed = &program->types[i];
		const struct armed_times *times = find_times(program, i, armed->id);
		struct remembered_type *type = &memory->types[i];

		if (type->id != armed->id)
			*type = (struct remembered_type){ .id = armed->id };
		take_sums(type, armed);
		if (times)
			take_times(type, times);
	}
}

static void take_container(struct remembered_container *now, const struct top_container *container,
			   const struct remembered_program *before)
{
	*now = (struct remembered_container){ 0 };
	memcpy(now->id, container->id, sizeof(now->id));
	for (uint32_t i = 0; i < before->nr_containers; i++)
		if (!strcmp(before->containers[i].id, now->id))
			*now = before->containers[i];
	if (container->units > now->read)
		now->nr += container->units - now->read;
	now->read = container->units;
}

static void take_containers(struct remembered_program *memory, const struct top_program *program)
{
	const struct remembered_program before = *memory;

	for (uint32_t i = 0; i < program->nr_containers; i++)
		take_container(&memory->containers[i], &program->containers[i], &before);
	memory->nr_containers = program->nr_containers;
}

static void count_starved(struct starvation *starvation, const struct top_program *program,
			  uint64_t now_ns)
{
	struct starvation_sums sums = { 0 };

	for (uint32_t i = 0; i < program->nr_types; i++) {
		sums.units += program->types[i].units + program->types[i].late;
		sums.starved += program->types[i].starved;
	}
	starvation_update(starvation, &sums, now_ns);
}

static struct remembered_program *find(const struct metrics_memory *memory,
				       const struct top_program *program)
{
	for (uint32_t i = 0; i < memory->nr; i++)
		if (memory->programs[i].profile_id == program->armed->id &&
		    memory->programs[i].nr_types == program->nr_types)
			return &memory->programs[i];
	return NULL;
}

/* For programs that are new; those that are known are taken from @memory afterwards. */
static int make_room(struct metrics_memory *ret, const struct metrics_memory *memory,
		     const struct top_reading *reading)
{
	if (array_new(ret->programs, reading->nr_programs))
		return -ENOMEM;
	for (uint32_t i = 0; i < reading->nr_programs; i++) {
		const struct top_program *program = &reading->programs[i];
		struct remembered_program *now = &ret->programs[ret->nr++];

		now->profile_id = program->armed->id;
		now->nr_types = program->nr_types;
		if (!find(memory, program) && array_new(now->types, program->nr_types))
			return -ENOMEM;
	}
	return 0;
}

int metrics_memory_update(struct metrics_memory *memory, const struct top_reading *reading)
{
	struct metrics_memory now = { 0 };

	if (make_room(&now, memory, reading)) {
		metrics_memory_deinit(&now);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < now.nr; i++) {
		const struct top_program *program = &reading->programs[i];
		struct remembered_program *known = find(memory, program);

		if (known) {
			now.programs[i] = *known;
			known->types = NULL;
		}
		take_types(&now.programs[i], program);
		take_containers(&now.programs[i], program);
		count_starved(&now.programs[i].starvation, program, reading->at_ns);
	}
	metrics_memory_deinit(memory);
	*memory = now;
	return 0;
}
