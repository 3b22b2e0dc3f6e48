// SPDX-License-Identifier: GPL-2.0

#include "train/loops/loop-wait.h"

#include <errno.h>
#include <stdlib.h>

enum {
	MAX_WAITS = 1024, /* over all loops; what is beyond is rare */
	SHARE = 200, /* one of so many waits of its class is no accident */
};

static bool is_same(const struct loop_wait *a, const struct loop_wait *b)
{
	return a->loop == b->loop && a->class == b->class &&
	       a->boundary.syscall == b->boundary.syscall &&
	       a->boundary.object == b->boundary.object &&
	       a->boundary.return_offset == b->boundary.return_offset &&
	       a->boundary.distance == b->boundary.distance;
}

static bool is_wait_call(const struct loop_shape *shape, const struct call_frame *frame)
{
	for (uint32_t i = 0; i < shape->nr_wait_calls; i++)
		if (shape->wait_calls[i].object == frame->object &&
		    shape->wait_calls[i].offset == frame->return_offset)
			return true;
	return false;
}

/*
 * The context that the wait was told by, if its return address stands where
 * that of the outermost frame did; else NULL.  The module has compared it.  The
 * frame's is older where the loop's function calls what has no site, as the C
 * library's wait functions: nothing tells then that the frame is gone.
 */
static const struct trace_context *told_by(const struct trace_pass *pass)
{
	uint32_t index = trace_pass_context(pass);
	const struct trace_context *context;

	if (index == TRACE_NONE)
		return NULL;
	context = &pass->input->trace->contexts[index];
	return pass->event->sp + context->distance == pass->stack.frames[0].sp ? context : NULL;
}

int loop_waits_note(struct loop_waits *waits, const struct loop_shape *shape,
		    const struct trace_pass *pass, uint32_t class)
{
	const struct call_frame *frame = pass->stack.frames;
	const struct trace_context *context;
	struct loop_wait wait, *grown;

	if (!pass->stack.nr_frames || !pass->loop_sp)
		return 0;
	context = told_by(pass);
	if (!context && !is_wait_call(shape, frame))
		return 0;
	wait = (struct loop_wait){
		.loop = pass->loop,
		.class = class,
		.boundary = {
			.role = SAMPLES_ROLE_WAIT,
			.syscall = trace_number(pass->event) & TRACE_SYSCALL_MASK,
			.object = context ? context->object : frame->object,
			.return_offset = context ? context->return_offset :
						   frame->return_offset,
			.distance = (uint32_t)(frame->sp - pass->event->sp),
			.rise = (uint32_t)(pass->loop_sp - pass->event->sp),
			.function = SAMPLES_NONE,
		},
		.seen = 1,
	};
	for (uint32_t i = 0; i < waits->nr; i++) {
		if (!is_same(&waits->entries[i], &wait))
			continue;
		waits->entries[i].seen++;
		return 0;
	}
	if (waits->nr == MAX_WAITS)
		return 0;
	grown = reallocarray(waits->entries, waits->nr + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	waits->entries = grown;
	grown[waits->nr++] = wait;
	return 0;
}

bool loop_waits_counts(const struct loop_waits *waits, const struct loop_wait *wait)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < waits->nr; i++)
		if (waits->entries[i].loop == wait->loop && waits->entries[i].class == wait->class)
			all += waits->entries[i].seen;
	return wait->seen >= all / SHARE;
}

void loop_waits_deinit(struct loop_waits *waits)
{
	free(waits->entries);
	*waits = (struct loop_waits){ 0 };
}
