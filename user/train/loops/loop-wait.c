// SPDX-License-Identifier: GPL-2.0

#include "train/loops/loop-wait.h"

#include <errno.h>
#include <stdlib.h>

enum {
	MAX_WAITS = 1024, /* over all loops; what is beyond is rare */
	SHARE = 200, /* one of so many waits of its kin is no accident */
};

static bool is_same(const struct own_wait *a, const struct own_wait *b)
{
	return a->loop == b->loop && a->kin == b->kin && a->boundary.syscall == b->boundary.syscall &&
	       a->boundary.object == b->boundary.object &&
	       a->boundary.return_offset == b->boundary.return_offset &&
	       a->boundary.distance == b->boundary.distance;
}

static bool is_chain(const struct course *course, const struct walk_frame *frame)
{
	for (uint32_t i = 0; i < course->nr_chains; i++)
		if (course->chains[i].object == frame->object &&
		    course->chains[i].offset == frame->return_offset)
			return true;
	return false;
}

/*
 * The context that the wait was told by, if its return address stands where
 * that of the outermost frame did; else NULL.  The module has compared it.  The
 * frame's is older where the loop's function calls what has no site, as the C
 * library's wait functions: nothing tells then that the frame is gone.
 */
static const struct trace_context *told_by(const struct pass *pass)
{
	uint32_t index = pass_context(pass);
	const struct trace_context *context;

	if (index == TRACE_NONE)
		return NULL;
	context = &pass->input->trace->contexts[index];
	return pass->event->sp + context->distance == pass->walk.frames[0].sp ? context : NULL;
}

int own_waits_note(struct own_waits *waits, const struct course *course,
		   const struct pass *pass, uint32_t kin)
{
	const struct walk_frame *frame = pass->walk.frames;
	const struct trace_context *context;
	struct own_wait wait, *grown;

	if (!pass->walk.nr_frames || !pass->loop_sp)
		return 0;
	context = told_by(pass);
	if (!context && !is_chain(course, frame))
		return 0;
	wait = (struct own_wait){
		.loop = pass->loop,
		.kin = kin,
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

bool own_waits_counts(const struct own_waits *waits, const struct own_wait *wait)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < waits->nr; i++)
		if (waits->entries[i].loop == wait->loop && waits->entries[i].kin == wait->kin)
			all += waits->entries[i].seen;
	return wait->seen >= all / SHARE;
}

void own_waits_deinit(struct own_waits *waits)
{
	free(waits->entries);
	*waits = (struct own_waits){ 0 };
}
