// SPDX-License-Identifier: GPL-2.0
/*
 * The alerts come as watch would print them, without folding; once they are all there the
 * counters are read as top reads them.
 */

#include "app/report/live-page.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/common/command.h"
#include "app/report/page-file.h"
#include "app/top/top-reading.h"
#include "app/watch/alert-stream.h"
#include "base/array.h"
#include "base/long-step.h"
#include "base/time.h"
#include "out/page/live-types.h"
#include "out/page/page.h"
#include "train/samples/live-times.h"

struct live_page {
	struct page_stream lines;
	struct alert_sink sink;
	struct top_reader reader;
	struct live_programs programs;
	int error; /* of reading the counters; an enum cmd_exit */
};

/* The lines go straight to the page. */
static int take(struct alert_sink *sink, const struct sunk_alert *alert)
{
	(void)alert;
	return fflush(sink->json) ? -ENOMEM : 0;
}

static int begin(struct alert_stream *stream, void *arg)
{
	struct live_page *live = arg;

	live->sink = (struct alert_sink){ .json = live->lines.file, .take = take };
	stream->watching.sink = &live->sink;
	return 0;
}

static bool take_signal(int signal, void *arg)
{
	(void)arg;
	return signal != SIGCHLD; /* of who reads files of programs */
}

/* It ends when all that the module has was read. */
static uint64_t turn(struct alert_stream *stream, void *arg)
{
	(void)arg;
	if (!stream->has_more && !stream->is_put_off)
		stream->is_interrupted = true;
	return 0;
}

static int order_types(const void *a, const void *b)
{
	const struct live_type *one = a, *other = b;

	return order_of(other->time_ns, one->time_ns) ?: order_of(one->id, other->id);
}

static const struct armed_times *times_of(const struct top_program *program, uint32_t id)
{
	for (uint32_t i = 0; i < program->nr_times; i++)
		if (program->times[i].id == id)
			return &program->times[i];
	return NULL;
}

/* @parts is empty, and is so again afterwards. */
static void set_type(struct live_type *type, const struct top_program *program, uint32_t index,
		     struct samples_parts *parts)
{
	const struct armed_type *armed = &program->types[index];
	const struct armed_times *times = times_of(program, armed->id);

	*type = (struct live_type){
		.id = armed->id,
		.units = armed->units + armed->late,
		.late = armed->late,
		.time_ns = armed->elapsed_ns + armed->late_elapsed_ns,
		.limit_ns = armed->own_limit_ns,
	};
	if (program->notes) {
		type->name = program->notes[index].name;
		type->loop = program->notes[index].loop;
	}
	if (!times)
		return;
	live_times_add(parts, times);
	type->times = parts->of[SAMPLES_OWN];
	type->least_ns = live_times_least(times);
	*parts = (struct samples_parts){ 0 };
}

static int set_program(struct live_program *to, const struct top_program *program)
{
	struct samples_parts *parts;

	*to = (struct live_program){
		.exe = program->exe,
		.armed_ns = program->armed->armed_ns,
	};
	if (array_new(to->types, program->nr_types) || array_new(parts, 1))
		return -ENOMEM;
	for (uint32_t i = 0; i < program->nr_types; i++)
		if (program->types[i].units || program->types[i].late)
			set_type(&to->types[to->nr_types++], program, i, parts);
	free(parts);
	qsort(to->types, to->nr_types, sizeof(*to->types), order_types);
	return 0;
}

static int read_types(struct live_page *live, struct link *link)
{
	const struct top_reading *now = &live->reader.now;
	int error;

	top_reader_init(&live->reader, link);
	error = top_reader_read_patiently(&live->reader);
	if (error)
		return cmd_failed(link, error, "cannot read the counters");
	live->programs.now_ns = time_wall_ns();
	if (array_new(live->programs.of, now->nr_programs))
		return cmd_no_memory();
	for (uint32_t i = 0; i < now->nr_programs && !error; i++)
		error = set_program(&live->programs.of[live->programs.nr++], &now->programs[i]);
	return error ? cmd_no_memory() : CMD_OK;
}

static void end(struct alert_stream *stream, void *arg)
{
	struct live_page *live = arg;

	live->error = read_types(live, stream->link);
}

static void live_page_deinit(struct live_page *live)
{
	for (uint32_t i = 0; i < live->programs.nr; i++)
		free(live->programs.of[i].types);
	free(live->programs.of);
	top_reader_deinit(&live->reader);
}

int live_page_write(const char *output)
{
	static struct alert_stream stream;
	struct live_page live = { 0 };
	const struct alert_stream_owner owner = { begin, take_signal, turn, end, &live };
	int ret = page_stream_open(&live.lines, output), closed;

	if (ret)
		return ret;
	stream = (struct alert_stream){ .is_json = true, .has_since = true, .is_waited_for = true,
				       .owner = &owner };
	long_step_begin("reading the alerts and the counters of the module");
	ret = alert_stream_run(&stream) ?: live.error;
	long_step_end();
	page_set_live(live.lines.page, &live.programs);
	closed = page_stream_close(&live.lines, ret ? NULL : output);
	live_page_deinit(&live);
	return ret ?: closed;
}
