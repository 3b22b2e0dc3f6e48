// SPDX-License-Identifier: GPL-2.0
/*
 * The stage of timing: the module guards the target by the profile that is being
 * made, as it will later, but nothing is late and no guard is shed.
 */

#include "app/record/recording-tables.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/arm/arming.h"
#include "app/common/command.h"
#include "base/log.h"
#include "base/long-step.h"
#include "base/time.h"
#include "binary/file/elf.h"
#include "train/model/loading.h"

/* What a profile goes by in 'status' that is only there to be timed. */
#define NAME "training"

/* Nothing is late, nothing is shed, and what fits no type is no news. */
static int make_tables(const struct samples *samples, const struct model *model,
		       struct loading *loading)
{
	int16_t *least_final = malloc((model->nr_types + 1) * sizeof(*least_final));
	const char *why = NULL;
	int error;

	if (!least_final)
		return cmd_no_memory();
	for (uint32_t i = 0; i < model->nr_types; i++)
		least_final[i] = INT16_MIN;
	error = loading_init(loading, samples, model, least_final, &why);
	free(least_final);
	if (error == -ENOMEM)
		return cmd_no_memory();
	if (error) {
		log_error("cannot time units: the profile %s", why ? why : strerror(-error));
		return CMD_FAILED;
	}
	for (uint32_t i = 0; i < loading->nr_types; i++) {
		struct perfguard_type *type = &loading->types[i];

		type->threshold_ns = type->own_ns = type->cpu_ns = 0;
		type->blocked_ns = type->block_io_ns = 0;
	}
	loading_forget_requests(loading);
	for (uint32_t i = 0; i < loading->nr_guards; i++)
		loading->guards[i].plan = 0;
	return 0;
}

static bool is_object(const char *path, const char *build_id, const struct samples_object *object)
{
	if (*build_id || *object->build_id)
		return !strcmp(build_id, object->build_id);
	return !strcmp(path, object->path);
}

/* A file of the running program; NULL if it has not that one, or not of that build. */
static const struct program_file *find_file(const struct program *program,
					    const struct samples_object *object)
{
	for (uint32_t i = 0; i < program->nr_files; i++) {
		const struct program_file *file = &program->files[i];

		if (file->code && is_object(file->path, file->code->build_id, object))
			return file;
	}
	return NULL;
}

/* To where the guards may jump, of files that the program has mapped. */
static void move_guards(const struct program *program, const struct samples *samples,
			struct loading *loading)
{
	for (uint32_t i = 0; i < loading->nr_objects; i++) {
		uint32_t object = loading->objects[i];
		const struct program_file *file = find_file(program, &samples->objects[object]);

		if (file)
			arming_move_guards(loading, samples, object, file->code);
	}
}

/* A library that is not mapped now may be later. */
static int open_library(const struct samples_object *object)
{
	int fd = open(object->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct elf_identity identity;
	const char *why;

	if (fd < 0 || (!elf_identify(fd, &identity, &why) &&
		       is_object(object->path, identity.build_id, object)))
		return fd;
	close(fd);
	return -1;
}

static int open_objects(const struct recording *recording, const struct samples *samples,
			const struct loading *loading, int *fds)
{
	for (uint32_t i = 0; i < loading->nr_objects; i++) {
		const struct samples_object *object = &samples->objects[loading->objects[i]];
		const struct program_file *file = find_file(&recording->program, object);

		fds[i] = file ? fcntl(file->fd, F_DUPFD_CLOEXEC, 0) : open_library(object);
		if (fds[i] < 0) {
			log_error("cannot time units: %s is not there as the profile knows it",
				  object->path);
			return CMD_FAILED;
		}
	}
	return 0;
}

/* A trace without events, with the samples' objects and the functions of the guards. */
static int begin_trace(struct recording *recording, const struct samples *samples,
		       const struct loading *loading)
{
	struct trace *trace = &recording->trace;
	struct samples_function *functions;
	struct samples copy = { 0 };
	int error;

	trace_deinit(trace);
	trace->stage = TRACE_STAGE_TIMING;
	functions = calloc(loading->nr_guards + 1, sizeof(*functions));
	trace->loops = calloc(loading->nr_courses + 1, sizeof(*trace->loops));
	if (!functions || !trace->loops) {
		free(functions);
		return cmd_no_memory();
	}
	for (uint32_t i = 0; i < loading->nr_guards; i++)
		functions[i] = samples->functions[loading->functions[i]];
	for (uint32_t i = 0; i < loading->nr_courses; i++)
		trace->loops[loading->courses[i].id - 1] = samples->loops[loading->loops[i]].hash;
	trace->nr_loops = loading->nr_courses;
	error = samples_copy_code(&copy, samples->objects, samples->nr_objects, functions,
				  loading->nr_guards);
	free(functions);
	if (error) {
		samples_deinit(&copy);
		return cmd_no_memory();
	}
	trace->objects = copy.objects;
	trace->nr_objects = copy.nr_objects;
	trace->functions = copy.functions;
	trace->nr_functions = copy.nr_functions;
	if (trace_add(trace, recording->starts, recording->nr_starts))
		return cmd_no_memory();
	return 0;
}

int recording_set_flags(struct recording *recording, uint32_t flags)
{
	struct session *session = &recording->session;

	flags |= PERFGUARD_TARGET_FLAGS_OWNED;
	if (session->child.pid)
		flags |= PERFGUARD_TARGET_FLAGS_INHERIT;
	return link_target_set_flags(session->link, session->target_id, flags);
}

static int arm(struct recording *recording, const struct loading *loading, const int *fds)
{
	uint32_t flags = recording->is_inline ? PERFGUARD_PROFILE_FLAGS_INLINE : 0;
	struct session *session = &recording->session;
	uint32_t id;
	int error = link_profile_new(session->link, NAME, 0, flags, &id);

	if (!error)
		error = arming_upload(session->link, id, loading, fds);
	if (error)
		return recording_failed(recording, error, "cannot time units");
	recording->profile_id = id;
	/* As it will be: with accounts, and nobody looks for loops. */
	error = recording_set_flags(recording, PERFGUARD_TARGET_FLAGS_UNITS | PERFGUARD_TARGET_FLAGS_ACCOUNT |
				     (recording->follows_requests
					      ? PERFGUARD_TARGET_FLAGS_REQUESTS : 0));
	if (!error)
		error = recording_set_loops(recording, true);
	/* Before any unit is cut: so all of them are whole. */
	recording->armed_ns = time_now_ns();
	recording->disarmed_ns = 0;
	if (!error)
		error = link_profile_arm_target(session->link, id, session->target_id);
	return error ? recording_failed(recording, error, "cannot time units") : 0;
}

static int load_guards(struct recording *recording, const struct samples *samples,
		       const struct model *model)
{
	struct loading loading;
	int *fds, ret;

	ret = make_tables(samples, model, &loading);
	if (ret)
		return ret;
	fds = malloc((loading.nr_objects + 1) * sizeof(*fds));
	for (uint32_t i = 0; fds && i < loading.nr_objects; i++)
		fds[i] = -1;
	ret = fds ? open_objects(recording, samples, &loading, fds) :
		    cmd_no_memory();
	if (!ret)
		ret = begin_trace(recording, samples, &loading);
	if (!ret && recording->is_inline)
		move_guards(&recording->program, samples, &loading);
	if (!ret)
		ret = arm(recording, &loading, fds);
	for (uint32_t i = 0; fds && i < loading.nr_objects; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	free(fds);
	loading_deinit(&loading);
	return ret;
}

int recording_arm_guards(struct recording *recording, const struct samples *samples,
			 const struct model *model)
{
	int ret;

	long_step_begin("putting the guards on, for their units to be timed");
	ret = load_guards(recording, samples, model);
	long_step_end();
	return ret;
}

int recording_disarm_guards(struct recording *recording)
{
	struct session *session = &recording->session;
	uint32_t id = recording->profile_id;
	int error;

	if (!id)
		return 0;
	recording->profile_id = 0;
	recording->disarmed_ns = time_now_ns();
	long_step_begin("taking the guards off");
	error = link_profile_del(session->link, id);
	if (!error)
		error = recording_set_flags(recording, session->target_flags |
						     PERFGUARD_TARGET_FLAGS_DISCOVER);
	long_step_end();
	return error ? recording_failed(recording, error, "cannot take the guards off") : 0;
}
