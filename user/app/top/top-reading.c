// SPDX-License-Identifier: GPL-2.0

#include "app/top/top-reading.h"

#include <errno.h>

#include "app/common/command.h"
#include "app/top/program-reading.h"
#include "app/top/top-containers.h"
#include "base/duration.h"
#include "base/long-step.h"
#include "base/time.h"

/* Times are shown of the last half minute to minute. */
#define SPAN_NS (30 * NSEC_PER_SEC)

enum { MAX_TRIES = 30 }; /* while the module cannot answer */

void top_reader_init(struct top_reader *reader, struct link *link)
{
	*reader = (struct top_reader){ .link = link };
}

/* @to takes over what @from has. */
static void move_reading(struct top_reading *to, struct top_reading *from)
{
	program_reading_clear(to);
	*to = *from;
	*from = (struct top_reading){ 0 };
}

void top_reader_deinit(struct top_reader *reader)
{
	program_reading_clear(&reader->now);
	program_reading_clear(&reader->before);
	program_reading_clear(&reader->base);
	program_reading_clear(&reader->next_base);
	profile_cache_deinit(&reader->cache);
	*reader = (struct top_reader){ 0 };
}

/* What the profile's file and the readings before say of its types. */
static int note_types(struct top_program *program, struct cached_profile *cached, uint64_t wall_ns)
{
	int error = cached_profile_count(cached, program->types, program->nr_types, wall_ns, NULL, NULL);

	if (error)
		return error;
	starvation_update(&cached->starvation, &cached->sums, wall_ns);
	program->is_starved = cached->starvation.is_on;
	return program_reading_note(program, cached);
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

/* The same target in a reading; NULL if it was not there. */
static const struct top_program *find_program(const struct top_reading *reading, uint32_t target_id)
{
	for (uint32_t i = 0; i < reading->nr_programs; i++)
		if (reading->programs[i].target_id == target_id)
			return &reading->programs[i];
	return NULL;
}

static int read_containers(struct top_reader *reader, struct top_reading *reading)
{
	int error = 0;

	for (uint32_t i = 0; i < reading->nr_programs && !error; i++) {
		struct top_program *program = &reading->programs[i];

		error = top_containers_read(reader->link, program,
					    find_program(&reader->now, program->target_id),
					    reading->at_ns - reader->now.at_ns);
	}
	return error;
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
	int error = program_reading_take(reader->link, &reader->cache, &reading);

	if (!error)
		error = read_containers(reader, &reading);
	if (!error)
		error = note_programs(reader, &reading);
	if (error) {
		program_reading_clear(&reading);
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

int top_reader_read_patiently(struct top_reader *reader)
{
	uint64_t put_off_ns = 0;
	int error;

	long_step_begin("reading the module's counters");
	error = top_reader_read(reader);
	for (int i = 0; error == -EAGAIN && i < MAX_TRIES; i++) {
		cmd_put_off(reader->link, &put_off_ns);
		time_sleep_until(time_now_ns() + NSEC_PER_SEC);
		error = top_reader_read(reader);
	}
	long_step_end();
	return error;
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
