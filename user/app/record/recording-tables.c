// SPDX-License-Identifier: GPL-2.0

#include "app/record/recording-tables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "app/common/command.h"
#include "app/common/inline-refusal.h"
#include "base/array.h"
#include "base/hash-index.h"
#include "base/log.h"
#include "base/long-step.h"
#include "base/time.h"
#include "train/trace/life.h"

enum {
	/* A dispatch was at most 200 bytes further in than the loop's frame. */
	NEAR_BYTES = 512,
};

bool recording_is_window(const struct recording *recording, uint32_t function)
{
	return recording->is_inline &&
	       recording->program.functions[function].window.verdict == WINDOW_SITE_FOUND;
}

/* By a jump, if the function's window is wanted, else by a trap. */
static struct perfguard_site site_at(const struct program_function *function, uint32_t id,
				     uint32_t flags)
{
	if (flags & PERFGUARD_SITE_FLAGS_INLINE)
		return (struct perfguard_site){
			.offset = function->window.offset,
			.id = id,
			.sp_delta = function->window.sp_delta,
		};
	return (struct perfguard_site){
		.offset = function->described.site,
		.id = id,
		.sp_delta = function->described.sp_delta,
	};
}

/*
 * Sites of one file at a time.  In the stage of structure, of the functions that have a window only
 * those or only the others, as @flags say.
 */
static int arm_file(struct recording *recording, uint32_t file, const struct recording_site *wanted,
		    uint32_t nr, uint32_t flags)
{
	bool is_inline = flags & PERFGUARD_SITE_FLAGS_INLINE;
	bool is_coverage = flags & PERFGUARD_SITE_FLAGS_ONE_SHOT;
	struct session *session = &recording->session;
	const struct program *program = &recording->program;
	struct perfguard_site *sites = calloc(nr ? nr : 1, sizeof(*sites));
	struct perfguard_site_refusal *refused = NULL;
	uint32_t nr_refused = 0, nr_sites = 0;
	int error;

	if (!sites)
		return cmd_no_memory();
	for (uint32_t i = 0; i < nr; i++) {
		const struct program_function *function = &program->functions[wanted[i].function];

		if (function->file != file ||
		    (!is_coverage &&
		     recording_is_window(recording, wanted[i].function) != is_inline))
			continue;
		sites[nr_sites++] = site_at(function, wanted[i].id, flags);
	}
	error = nr_sites ?
			link_sites_add(session->link, session->target_id, program->files[file].fd,
				       flags, sites, nr_sites, &refused, &nr_refused) :
			0;
	recording->nr_refused += nr_refused;
	free(refused);
	free(sites);
	return error ? recording_failed(recording, error, "cannot arm the functions") : 0;
}

int recording_arm(struct recording *recording, const struct recording_site *sites, uint32_t nr,
		  uint32_t flags)
{
	char what[64];
	int ret = 0;

	snprintf(what, sizeof(what), "putting %" PRIu32 " sites in", nr);
	long_step_begin(what);
	for (uint32_t i = 0; i < recording->program.nr_files && !ret; i++)
		ret = arm_file(recording, i, sites, nr, flags);
	long_step_end();
	return ret;
}

static char *copy_string(const char *string, bool *failed)
{
	char *copy = string ? strdup(string) : NULL;

	*failed |= string && !copy;
	return copy;
}

static bool has_function(const struct trace *trace, uint32_t file)
{
	for (uint32_t i = 0; i < trace->nr_functions; i++)
		if (trace->functions[i].object == file)
			return true;
	return false;
}

/*
 * The fingerprints of a file's code, by which a profile is carried to another build: of those
 * that are trained on, and of the C library, in which waits end.
 */
static void copy_prints(const struct trace *trace, const struct program *program, uint32_t file,
			struct samples_object *to, bool *failed)
{
	const struct foreign_code *code = program->files[file].code;

	if (!code || !code->prints_size ||
	    !(program->files[file].is_runtime ? code->has_syscalls : has_function(trace, file)))
		return;
	to->code = malloc(code->prints_size);
	*failed |= !to->code;
	if (!to->code)
		return;
	memcpy(to->code, code->prints, code->prints_size);
	to->code_size = code->prints_size;
}

/* Name the program's files in the trace; some are mapped while it is recorded. */
static int name_objects(struct recording *recording)
{
	const struct program *program = &recording->program;
	struct trace *trace = &recording->trace;
	bool failed = false;

	if (array_resize(trace->objects, program->nr_files + 1UL))
		return cmd_no_memory();
	for (; trace->nr_objects < program->nr_files; trace->nr_objects++) {
		const struct program_file *file = &program->files[trace->nr_objects];

		trace->objects[trace->nr_objects] = (struct samples_object){
			.path = copy_string(file->path, &failed),
			.build_id = copy_string(file->code ? file->code->build_id : "",
						&failed),
		};
		copy_prints(trace, program, trace->nr_objects, &trace->objects[trace->nr_objects],
			    &failed);
	}
	return failed ? cmd_no_memory() : 0;
}

/* A trace without events: all files, and these functions of the program. */
static int begin_trace(struct recording *recording, const uint32_t *functions, uint32_t nr)
{
	const struct program *program = &recording->program;
	struct trace *trace = &recording->trace;
	bool failed = false;

	trace_deinit(trace);
	free(recording->source);
	trace->stage = TRACE_STAGE_STRUCTURE;
	trace->is_inline = recording->is_inline;
	trace->functions = calloc(nr + 1, sizeof(*trace->functions));
	recording->source = calloc(nr + 1, sizeof(*recording->source));
	if (!trace->functions || !recording->source)
		return cmd_no_memory();
	trace->nr_functions = nr;
	for (uint32_t i = 0; i < nr; i++) {
		const struct program_function *function = &program->functions[functions[i]];

		recording->source[i] = functions[i];
		trace->functions[i] = function->described;
		if (recording_is_window(recording, functions[i]))
			trace->functions[i].cost |= SAMPLES_COST_WINDOW;
		trace->functions[i].name = copy_string(function->described.name, &failed);
	}
	/* What the existing threads sent when they were first met. */
	failed |= trace_add(trace, recording->starts, recording->nr_starts) != 0;
	return failed ? cmd_no_memory() : name_objects(recording);
}

/* Traps serve where jumps must not be: a library that forbids them may be mapped later. */
static void judge_inline(struct recording *recording)
{
	const struct program_file *file = program_without_windows(&recording->program);

	if (!recording->is_inline || !file)
		return;
	log_warning("%s %s; functions are recorded by traps", file->path,
		    file->code ? "uses the base of gs, by which jumps find where to record" :
				 "cannot be read, and may use the base of gs");
	recording->is_inline = false;
}

int recording_waits(const struct recording *recording, uint64_t *ret)
{
	const struct session *session = &recording->session;
	struct target *targets;
	uint32_t nr;
	int error = link_targets(session->link, &targets, &nr);

	*ret = 0;
	if (error)
		return cmd_link_failed(session->link, error, "cannot ask the module");
	for (uint32_t i = 0; i < nr; i++)
		if (targets[i].id == session->target_id)
			*ret = targets[i].waits;
	link_targets_free(targets, nr);
	return 0;
}

int recording_report_inline(const struct recording *recording)
{
	const struct session *session = &recording->session;
	struct target *targets;
	uint32_t nr;
	int error;

	if (!recording->is_inline)
		return 0;
	error = link_targets(session->link, &targets, &nr);
	if (error)
		return cmd_link_failed(session->link, error, "cannot ask the module");
	for (uint32_t i = 0; i < nr; i++)
		if (targets[i].id == session->target_id && targets[i].inline_refusal)
			log_warning("functions of process %" PRIu32 " were recorded by traps: %s",
				    targets[i].inline_refused_pid,
				    inline_refusal_text(targets[i].inline_refusal));
	link_targets_free(targets, nr);
	return 0;
}

int recording_arm_trace(struct recording *recording)
{
	uint32_t nr = recording->trace.nr_functions;
	struct recording_site *sites = calloc(nr + 1, sizeof(*sites));
	int ret;

	if (!sites)
		return cmd_no_memory();
	for (uint32_t i = 0; i < nr; i++)
		sites[i] = (struct recording_site){ .function = recording->source[i], .id = i };
	judge_inline(recording);
	ret = recording_arm(recording, sites, nr, 0);
	if (!ret && recording->is_inline)
		ret = recording_arm(recording, sites, nr, PERFGUARD_SITE_FLAGS_INLINE);
	recording->armed_ns = time_now_ns();
	recording->disarmed_ns = 0;
	free(sites);
	return ret;
}

int recording_begin_covered(struct recording *recording)
{
	uint32_t *functions = calloc(recording->nr_known + 1, sizeof(*functions));
	uint32_t nr = 0;
	int ret;

	if (!functions)
		return cmd_no_memory();
	for (uint32_t i = 0; i < recording->nr_known; i++)
		if (recording->covered[i])
			functions[nr++] = i;
	ret = begin_trace(recording, functions, nr);
	free(functions);
	return ret;
}

static int by_image_and_start(const void *a, const void *b)
{
	const struct trace_mapping *left = a, *right = b;

	return order_of(left->image, right->image) ?: order_of(left->start, right->start);
}

static int copy_mappings(struct recording *recording)
{
	const struct program *program = &recording->program;
	struct trace *trace = &recording->trace;

	free(trace->mappings);
	trace->mappings = calloc(program->nr_mappings + 1, sizeof(*trace->mappings));
	if (!trace->mappings)
		return cmd_no_memory();
	if (program->nr_mappings)
		memcpy(trace->mappings, program->mappings,
		       program->nr_mappings * sizeof(*trace->mappings));
	trace->nr_mappings = program->nr_mappings;
	qsort(trace->mappings, trace->nr_mappings, sizeof(*trace->mappings), by_image_and_start);
	return 0;
}

static int add_context(struct trace *trace, const struct trace_context *context)
{
	if (array_resize(trace->contexts, trace->nr_contexts + 1UL))
		return -ENOMEM;
	trace->contexts[trace->nr_contexts++] = *context;
	return 0;
}

/* The event loops of an image, as they were found. */
static int describe_image(struct trace *trace, const struct image *image)
{
	int error = 0;

	for (uint32_t i = 0; i < image->nr_contexts && !error; i++) {
		const struct context *found = &image->contexts[i];
		struct trace_context context = {
			.image = image->id,
			.loop = found->loop_id,
			.syscall = found->syscall,
			.distance = found->distance,
		};

		/* Code of no file: nothing that could be known again. */
		if (!trace_locate(trace, image->id, found->return_address, &context.object,
				  &context.return_offset))
			continue;
		if (found->loop_id && found->loop_id <= image->nr_loops)
			memcpy(context.comm, image->loops[found->loop_id - 1].comm,
			       sizeof(context.comm));
		error = add_context(trace, &context);
	}
	return error;
}

/* A return address; the flag is set if it was seen near an event loop's frame. */
struct return_address {
	struct trace_call call;
	bool is_near;
};

/* A set of them. */
struct returns {
	struct return_address *entries;
	size_t max;
	struct hash_index index; /* by object and offset */
};

static int returns_add(struct returns *returns, uint32_t object, uint64_t offset, bool is_near)
{
	uint64_t hash = hash_mix(hash_mix(0, object), offset);
	uint32_t nr = returns->index.nr, cursor = 0, i;

	while ((i = hash_index_next(&returns->index, hash, &cursor)) != HASH_INDEX_NONE &&
	       (returns->entries[i].call.object != object ||
		returns->entries[i].call.offset != offset))
		;
	if (i == HASH_INDEX_NONE) {
		if (array_grow(returns->entries, nr, returns->max) ||
		    hash_index_add(&returns->index, hash))
			return -ENOMEM;
		i = nr;
		returns->entries[i] = (struct return_address){
			.call = {
				.object = object,
				.offset = offset,
				.caller = TRACE_NONE,
				.callee = TRACE_NONE,
			},
		};
	}
	returns->entries[i].is_near |= is_near;
	return 0;
}

/*
 * All return addresses in the events, each once.  Near a loop's frame are those
 * further out than its wait, or hardly further in.
 */
static int gather_returns(const struct trace *trace, struct returns *returns)
{
	uint32_t image = 0, tid = 0, object;
	uint64_t offset, wait_sp = 0;
	int error = 0;

	for (size_t i = 0; i < trace->nr_events && !error; i++) {
		const struct perfguard_event *event = &trace->events[i];

		if (event->tid != tid) {
			tid = event->tid;
			image = 0;
			wait_sp = 0;
		}
		switch (trace_kind(event)) {
		case PERFGUARD_EVENT_KIND_START:
			image = (uint32_t)(event->value >> 32);
			break;
		case PERFGUARD_EVENT_KIND_ENTER:
			if (trace_number(event) >> TRACE_LOOP_SHIFT)
				wait_sp = event->sp;
			break;
		case PERFGUARD_EVENT_KIND_HIT:
			if (trace_locate(trace, image, event->value, &object, &offset))
				error = returns_add(returns, object, offset,
						    wait_sp && event->sp + NEAR_BYTES > wait_sp);
			break;
		default:
			break;
		}
	}
	return error;
}

static int by_object_and_offset(const void *a, const void *b)
{
	const struct trace_call *left = a, *right = b;

	return order_of(left->object, right->object) ?: order_of(left->offset, right->offset);
}

/* The trace's functions by the program's; TRACE_NONE for those without a site. */
static uint32_t *index_functions(const struct recording *recording)
{
	uint32_t *of = malloc((recording->program.nr_functions + 1) * sizeof(*of));

	if (!of)
		return NULL;
	for (uint32_t i = 0; i < recording->program.nr_functions; i++)
		of[i] = TRACE_NONE;
	for (uint32_t i = 0; i < recording->trace.nr_functions; i++)
		of[recording->source[i]] = i;
	return of;
}

/* @number: of a function of the file, among those that are listed; or FOREIGN_CODE_NONE. */
static uint32_t site_of(const struct program_file *file, const uint32_t *of, uint32_t number)
{
	/* functions of the C runtime are not listed */
	return number < file->nr_sites ? of[file->first_function + number] : TRACE_NONE;
}

/* Control flow is costly to find, and matters near the loop's frame only. */
static int describe_call(const struct recording *recording, const uint32_t *of,
			 const struct return_address *address, struct trace_call *ret)
{
	const struct program_file *file = &recording->program.files[address->call.object];
	struct foreign_call found;
	int error;

	*ret = address->call;
	if (!file->code)
		return 0;
	error = foreign_code_call(file->code, ret->offset, address->is_near, &found);
	if (error)
		return error;
	ret->caller = site_of(file, of, found.caller);
	if (!address->is_near)
		return 0;
	ret->callee = site_of(file, of, found.callee);
	ret->is_indirect = found.is_indirect;
	ret->is_in_loop = found.is_in_loop;
	return 0;
}

static int describe_calls(struct recording *recording)
{
	struct trace *trace = &recording->trace;
	uint32_t *of = index_functions(recording);
	struct returns returns = { 0 };
	int error = of ? gather_returns(trace, &returns) : -ENOMEM;

	if (!error) {
		trace->calls = calloc(returns.index.nr + 1, sizeof(*trace->calls));
		error = trace->calls ? 0 : -ENOMEM;
	}
	for (uint32_t i = 0; i < returns.index.nr && !error; i++)
		error = describe_call(recording, of, &returns.entries[i],
				      &trace->calls[trace->nr_calls++]);
	if (!error && trace->nr_calls)
		qsort(trace->calls, trace->nr_calls, sizeof(*trace->calls), by_object_and_offset);
	free(returns.entries);
	hash_index_deinit(&returns.index);
	free(of);
	return error;
}

int recording_describe(struct recording *recording)
{
	struct discovery *discovery = &recording->session.discovery;
	struct trace *trace = &recording->trace;
	int ret = name_objects(recording);
	int error = 0;

	if (!ret)
		ret = copy_mappings(recording);
	if (ret)
		return ret;
	for (uint32_t i = 0; i < discovery->nr_images && !error; i++)
		error = describe_image(trace, &discovery->images[i]);
	if (!error)
		error = trace_sort(trace);
	if (!error)
		error = lives_add(trace);
	if (!error)
		error = describe_calls(recording);
	return error ? cmd_no_memory() : 0;
}

int recording_set_loops(struct recording *recording, bool keeps)
{
	struct session *session = &recording->session;
	int error = 0;

	if (!keeps && !session->keeps_loops)
		return 0;
	session->keeps_loops = keeps;
	for (uint32_t i = 0; i < session->discovery.nr_images && !error; i++) {
		const struct image *image = &session->discovery.images[i];

		if (!image->is_gone && !image->is_ignored && image->nr_contexts)
			error = link_loop_set(session->link, image->id,
					      keeps ? NULL : image->contexts,
					      keeps ? 0 : image->nr_contexts);
		/* Its last process may be gone. */
		error = error == -ENOENT ? 0 : error;
	}
	return error;
}
