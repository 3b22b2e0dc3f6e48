// SPDX-License-Identifier: GPL-2.0

#include "train/loops/loop-wait.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "train/trace/life.h"

enum {
	MAX_WAITS = 1024, /* over all loops; what is beyond is rare */
	SHARE = 200, /* one of so many waits of its class is no accident */
};

int loop_waits_init(struct loop_waits *waits, const struct trace_pass_input *input)
{
	*waits = (struct loop_waits){
		.input = input,
		.waited = calloc((size_t)input->trace->nr_contexts + 1, sizeof(*waits->waited)),
		.unsure = calloc((size_t)input->contexts.nr_loops + 1, sizeof(*waits->unsure)),
	};
	return waits->waited && waits->unsure ? 0 : -ENOMEM;
}

void loop_waits_deinit(struct loop_waits *waits)
{
	free(waits->entries);
	free(waits->waited);
	free(waits->unsure);
	*waits = (struct loop_waits){ 0 };
}

static uint64_t call_bit(uint32_t syscall)
{
	return UINT64_C(1) << syscall % 64;
}

/*
 * The wait as the loop's frame shows it.  The return address is the context's,
 * which the module has compared, if it stands where that of the outermost frame
 * did: the frame's is older where the loop's function calls what has no site, as
 * the C library's wait functions, and nothing shows then that the frame is gone.
 */
static bool find_wait(const struct loop_shape *shape, const struct trace_pass *pass,
		      uint32_t index, struct samples_boundary *ret)
{
	const struct trace_context *context = &pass->input->trace->contexts[index];
	const struct call_frame *frame = pass->stack.frames;
	bool is_at_frame;

	if (!pass->stack.nr_frames || !pass->loop_sp)
		return false;
	is_at_frame = pass->event->sp + context->distance == frame->sp;
	if (!is_at_frame && !loop_shape_leads_to_wait(shape, frame))
		return false;
	*ret = (struct samples_boundary){
		.role = SAMPLES_ROLE_WAIT,
		.syscall = trace_syscall(pass->event),
		.object = is_at_frame ? context->object : frame->object,
		.return_offset = is_at_frame ? context->return_offset : frame->return_offset,
		.distance = (uint32_t)(frame->sp - pass->event->sp),
		.rise = (uint32_t)(pass->loop_sp - pass->event->sp),
		.function = SAMPLES_NONE,
	};
	return true;
}

int loop_waits_note(struct loop_waits *waits, const struct loop_shape *shape,
		    const struct trace_pass *pass, uint32_t index)
{
	const struct trace_context *context = &waits->input->trace->contexts[index];
	struct loop_wait wait = {
		.loop = pass->loop,
		.class = waits->input->contexts.class_of[index],
		.seen = 1,
	};

	if (trace_pass_is_called_from(pass, context))
		waits->waited[wait.class] = true;
	else
		waits->unsure[pass->loop] |= call_bit(context->syscall);
	if (!find_wait(shape, pass, index, &wait.boundary))
		return 0;
	for (uint32_t i = 0; i < waits->nr; i++) {
		struct loop_wait *known = &waits->entries[i];

		if (known->loop == wait.loop && known->class == wait.class &&
		    samples_is_same_boundary(&known->boundary, &wait.boundary)) {
			known->seen++;
			return 0;
		}
	}
	if (waits->nr == MAX_WAITS)
		return 0;
	if (array_grow(waits->entries, waits->nr, waits->max))
		return -ENOMEM;
	waits->entries[waits->nr++] = wait;
	return 0;
}

/* It was seen often enough to be no accident. */
static bool is_frequent(const struct loop_waits *waits, const struct loop_wait *wait)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < waits->nr; i++)
		if (waits->entries[i].loop == wait->loop && waits->entries[i].class == wait->class)
			all += waits->entries[i].seen;
	return wait->seen >= all / SHARE;
}

/* A wait may have been in context @index, or in another of its class. */
static bool has_waited(const struct loop_waits *waits, uint32_t index)
{
	const struct context_classes *contexts = &waits->input->contexts;
	const struct trace_context *context = &waits->input->trace->contexts[index];

	return waits->waited[contexts->class_of[index]] ||
	       waits->unsure[contexts->loop_of[index]] & call_bit(context->syscall);
}

/* A context as it is, without what its waits show of the loop's frame. */
static struct samples_boundary boundary_of(const struct trace *trace,
					   const struct trace_context *context)
{
	if (life_is_context(context))
		return (struct samples_boundary){
			.role = SAMPLES_ROLE_START_SITE,
			.object = context->object,
			.function = life_function(trace, context),
		};
	return (struct samples_boundary){
		.role = SAMPLES_ROLE_WAIT,
		.syscall = context->syscall,
		.object = context->object,
		.return_offset = context->return_offset,
		.distance = context->distance,
		.function = SAMPLES_NONE,
	};
}

int loop_waits_add(const struct loop_waits *waits, const bool *dropped, struct samples_loop *loops)
{
	const struct trace *trace = waits->input->trace;
	int error = 0;

	for (uint32_t i = 0; i < waits->nr && !error; i++)
		if (is_frequent(waits, &waits->entries[i]))
			error = samples_add_boundary(&loops[waits->entries[i].loop],
						     &waits->entries[i].boundary);
	for (uint32_t i = 0; i < trace->nr_contexts && !error; i++) {
		const struct trace_context *context = &trace->contexts[i];
		struct samples_loop *loop = &loops[waits->input->contexts.loop_of[i]];
		struct samples_boundary boundary;

		if (!loop->comm[0])
			memcpy(loop->comm, context->comm, sizeof(loop->comm));
		if (dropped[i] || (loop->nr_boundaries && loop->boundaries[0].rise &&
				   has_waited(waits, i)))
			continue;
		boundary = boundary_of(trace, context);
		if (life_is_context(context) && boundary.function == TRACE_NONE)
			return -EBADMSG;
		error = samples_add_boundary(loop, &boundary);
	}
	return error;
}
