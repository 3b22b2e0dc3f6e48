// SPDX-License-Identifier: GPL-2.0
/*
 * Record, of a guarded program, all calls of the functions in its profile,
 * together with the inference of its guards.
 *
 * usage: record-guards SECONDS PROFILE TRACE [PROFILE TRACE]...
 *
 * Each profile is armed, one after the other.  Its trace has, for each thread,
 * the calls and system calls of a structure run, and each guard hit and unit as
 * the module saw it.  Its functions are those of the profile, so its call trees
 * are comparable.
 *
 * Exit: 0 ok, 1 not so, 2 usage
 */

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "base/duration.h"
#include "base/log.h"
#include "app/arm/arming.h"
#include "app/record/recording-tables.h"
#include "app/record/recording.h"
#include "link/stream-reader.h"
#include "store/trace-file.h"

enum { BATCH = 16384 };

/* The module sends its events within 50 ms. */
#define DRAIN_NS (200 * NSEC_PER_MSEC)

static const struct armed_prices no_budget;
static const struct armed_scope all_processes;

static int fail(const char *what, const char *why)
{
	log_error("%s: %s", what, why);
	return 1;
}

/* Guard by this profile: the target, and what its flags are otherwise. */
static int arm(struct recording *recording, const char *path, struct arming *arming,
	       uint32_t *ret_flags)
{
	struct session *session = &recording->session;
	struct target *targets;
	uint32_t nr;
	int ret = arming_read(arming, path, false) ?: arming_open(arming);

	if (!ret)
		ret = arming_arm(arming, session->link, &no_budget, &all_processes);
	if (ret)
		return ret;
	session->target_id = arming->target_id;
	if (link_targets(session->link, &targets, &nr))
		return fail("targets", link_error(session->link));
	for (uint32_t i = 0; i < nr; i++)
		if (targets[i].id == session->target_id)
			*ret_flags = targets[i].flags;
	link_targets_free(targets, nr);
	return 0;
}

/* Reading the program's files takes long, so it is done once. */
static int look_at_program(struct recording *recording)
{
	struct session *session = &recording->session;
	struct process *processes;
	int error = 0;
	uint32_t nr;

	if (recording->program.nr_files)
		return 0;
	if (link_processes(session->link, session->target_id, &processes, &nr))
		return fail("processes", link_error(session->link));
	for (uint32_t i = 0; i < nr && !error; i++)
		error = program_look(&recording->program, processes[i].pid,
				     processes[i].image_id);
	free(processes);
	return error ? fail("the program", strerror(-error)) : 0;
}

static bool is_same_function(const struct program *program, const struct program_function *function,
			     const struct samples *samples, const struct samples_function *known)
{
	const struct foreign_code *code = program->files[function->file].code;

	return function->described.offset == known->offset &&
	       !strcmp(code->build_id, samples->objects[known->object].build_id);
}

/* Cover what the profile knows. */
static int choose_functions(struct recording *recording, const struct samples *samples)
{
	const struct program *program = &recording->program;

	free(recording->covered);
	recording->nr_covered = 0;
	recording->covered = calloc(program->nr_functions + 1, sizeof(*recording->covered));
	if (!recording->covered)
		return fail("functions", strerror(ENOMEM));
	recording->nr_known = program->nr_functions;
	for (uint32_t i = 0; i < samples->nr_functions; i++) {
		uint32_t j = 0;

		while (j < program->nr_functions &&
		       !is_same_function(program, &program->functions[j], samples,
					 &samples->functions[i]))
			j++;
		if (j == program->nr_functions) {
			log_warning("%s+%#" PRIx64 " is not in the program",
				    samples->objects[samples->functions[i].object].path,
				    samples->functions[i].offset);
			continue;
		}
		recording->covered[j] = true;
		recording->nr_covered++;
	}
	return 0;
}

/* While sites come, call trees have holes. */
static size_t drop_early(const struct recording *recording, struct perfguard_event *events,
			 size_t nr)
{
	size_t kept = 0;

	for (size_t i = 0; i < nr; i++)
		if (trace_kind(&events[i]) == PERFGUARD_EVENT_KIND_START ||
		    events[i].time_ns >= recording->armed_ns)
			events[kept++] = events[i];
	return kept;
}

static int read_events(struct recording *recording, uint64_t end_ns)
{
	static struct perfguard_event events[BATCH];
	struct pollfd fd = { .fd = stream_fd(recording->stream), .events = POLLIN };

	while (time_now_ns() < end_ns && recording->trace.nr_events < recording->max_events) {
		int nr = stream_read(recording->stream, events, BATCH);

		if (nr < 0)
			return fail("stream", stream_error(recording->stream));
		for (int i = 0; i < nr; i++)
			if (trace_kind(&events[i]) == PERFGUARD_EVENT_KIND_LOST)
				recording->trace.lost += events[i].value;
		if (trace_add(&recording->trace, events,
			      drop_early(recording, events, (size_t)nr)))
			return fail("events", strerror(ENOMEM));
		if (nr < BATCH / 2)
			poll(&fd, 1, 20);
	}
	return 0;
}

static uint32_t find_object(const struct trace *trace, const struct samples_object *object)
{
	for (uint32_t i = 0; i < trace->nr_objects; i++)
		if (!strcmp(trace->objects[i].build_id, object->build_id))
			return i;
	return TRACE_NONE;
}

/* A wait of the profile, by the id that its loop has when armed. */
static void add_wait(struct trace *trace, const struct samples *samples, uint32_t image,
		     const struct perfguard_loop *course, const struct samples_loop *loop,
		     const struct samples_boundary *wait)
{
	struct trace_context *context = &trace->contexts[trace->nr_contexts];

	*context = (struct trace_context){
		.image = image,
		.loop = course->id,
		.syscall = wait->syscall,
		.object = find_object(trace, &samples->objects[wait->object]),
		.return_offset = wait->return_offset,
		.distance = wait->distance,
	};
	memcpy(context->comm, loop->comm, sizeof(context->comm));
	trace->nr_contexts += context->object != TRACE_NONE;
}

static void add_waits(struct trace *trace, const struct arming *arming, uint32_t image)
{
	const struct loading *loading = &arming->loading;

	for (uint32_t i = 0; i < loading->nr_courses; i++) {
		const struct samples_loop *loop = &arming->samples.loops[loading->loops[i]];

		for (uint32_t j = 0; j < loop->nr_boundaries; j++)
			if (loop->boundaries[j].role == SAMPLES_ROLE_WAIT)
				add_wait(trace, &arming->samples, image, &loading->courses[i], loop,
					 &loop->boundaries[j]);
	}
}

static int describe_waits(struct recording *recording, const struct arming *arming)
{
	const struct program *program = &recording->program;
	struct trace *trace = &recording->trace;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < arming->samples.nr_loops; i++)
		nr += arming->samples.loops[i].nr_boundaries;
	free(trace->contexts);
	trace->nr_contexts = 0;
	trace->contexts = calloc((size_t)nr * program->nr_images + 1, sizeof(*trace->contexts));
	if (!trace->contexts)
		return fail("waits", strerror(ENOMEM));
	for (uint32_t i = 0; i < program->nr_images; i++)
		add_waits(trace, arming, program->images[i]);
	return 0;
}

static void end_at(struct trace *trace, uint64_t end_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < trace->nr_events; i++)
		if (trace->events[i].time_ns < end_ns)
			trace->events[kept++] = trace->events[i];
	trace->nr_events = kept;
}

static int record(struct recording *recording, const struct arming *arming, uint32_t flags,
		  uint64_t duration_ns)
{
	struct session *session = &recording->session;
	uint64_t end_ns;
	int ret;

	if (link_target_set_flags(session->link, session->target_id,
				  flags | PERFGUARD_TARGET_FLAGS_RECORD))
		return fail("flags", link_error(session->link));
	ret = recording_begin_covered(recording) ?: recording_arm_trace(recording);
	if (ret)
		return ret;
	ret = read_events(recording, recording->armed_ns + duration_ns);
	if (ret)
		return ret;
	end_ns = time_now_ns();
	if (link_sites_del(session->link, session->target_id) ||
	    link_target_set_flags(session->link, session->target_id, flags))
		return fail("sites", link_error(session->link));
	/* Events written before the sites were removed. */
	ret = read_events(recording, time_now_ns() + DRAIN_NS);
	end_at(&recording->trace, end_ns);
	if (!ret)
		ret = describe_waits(recording, arming);
	return ret ? ret : recording_describe(recording);
}

/* From arming to the trace in its file. */
static int record_profile(struct recording *recording, const char *profile, const char *path,
			  uint64_t duration_ns)
{
	char why[TRACE_FILE_WHY_MAX];
	struct arming arming = { 0 };
	uint32_t flags = 0;
	int ret = arm(recording, profile, &arming, &flags);

	if (!ret)
		ret = look_at_program(recording);
	if (!ret)
		ret = choose_functions(recording, &arming.samples);
	if (!ret && stream_open(&recording->stream))
		ret = fail("stream", stream_error(recording->stream));
	if (!ret)
		ret = record(recording, &arming, flags, duration_ns);
	if (!ret && trace_file_save(path, &recording->trace, why))
		ret = fail("trace", why);
	printf("%s: %zu events, %" PRIu64 " lost, %" PRIu32 " functions, %" PRIu32 " refused\n",
	       profile, recording->trace.nr_events, recording->trace.lost,
	       recording->nr_covered, recording->nr_refused);
	stream_close(recording->stream);
	recording->stream = NULL;
	arming_deinit(&arming);
	return ret;
}

int main(int argc, char **argv)
{
	static struct recording recording;
	uint64_t duration_ns;
	int ret = 0;

	if (argc < 4 || argc % 2) {
		fputs("usage: record-guards SECONDS PROFILE TRACE [PROFILE TRACE]...\n", stderr);
		return 2;
	}
	log_set_verbose(true);
	recording_init(&recording);
	duration_ns = (uint64_t)(atof(argv[1]) * NSEC_PER_SEC);
	if (link_open(&recording.session.link))
		return fail("module", link_error(recording.session.link));
	for (int i = 2; i < argc && !ret; i += 2)
		ret = record_profile(&recording, argv[i], argv[i + 1], duration_ns);
	recording_deinit(&recording);
	return ret;
}
