// SPDX-License-Identifier: GPL-2.0

#include "app/common/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "binary/stack/unwind.h"

static int unwind_one(struct unwinder *unwinder, const struct record *record,
		      const struct slice *slice, struct alert_stack *stack)
{
	struct frame frames[UNWIND_MAX_FRAMES];
	uint64_t start_ns = record->at_ns - record->account.elapsed_ns;
	enum unwind_end end;
	int nr;

	nr = unwind_slice(unwinder, record->is_gone ? 0 : record->pid, slice, frames, UNWIND_MAX_FRAMES, &end);
	if (nr < 0)
		return nr;
	stack->frames = malloc((size_t)(nr ? nr : 1) * sizeof(*frames));
	if (!stack->frames)
		return -ENOMEM;
	memcpy(stack->frames, frames, (size_t)nr * sizeof(*frames));
	stack->nr_frames = (uint32_t)nr;
	stack->at_ns = slice->at_ns;
	stack->state = slice->state;
	stack->tid = slice->tid;
	stack->syscall = slice->syscall;
	stack->lock = slice->lock;
	stack->holder = slice->holder;
	stack->end = end == UNWIND_COMPLETE ? NULL : unwind_end_name(end);
	/* The wall clock may have been set meanwhile. */
	if (slice->at_ns > start_ns && slice->at_ns - start_ns <= 2 * record->account.elapsed_ns)
		stack->into_ns = slice->at_ns - start_ns;
	return 0;
}

int stacks_unwind(struct unwinder *unwinder, const struct record *record, struct alert_stack **ret,
		  uint32_t *ret_nr)
{
	struct alert_stack *stacks;
	int error;

	stacks = calloc(record->nr_stacks ? record->nr_stacks : 1, sizeof(*stacks));
	if (!stacks)
		return -ENOMEM;
	for (uint32_t i = 0; i < record->nr_stacks; i++) {
		error = unwind_one(unwinder, record, &record->stacks[i], &stacks[i]);
		if (error) {
			stacks_free(stacks, i);
			return error;
		}
	}
	*ret = stacks;
	*ret_nr = record->nr_stacks;
	return 0;
}

int stacks_append(struct alert_stack **all, uint32_t *nr_all, struct alert_stack *stacks,
		  uint32_t nr)
{
	if (array_resize(*all, *nr_all + nr + 1UL)) {
		stacks_free(stacks, nr);
		return -ENOMEM;
	}
	memcpy(*all + *nr_all, stacks, nr * sizeof(*stacks));
	free(stacks);
	*nr_all += nr;
	return 0;
}

uint32_t stacks_own(const struct alert_stack *stacks, uint32_t nr, struct hotpath_stack *ret)
{
	uint32_t nr_own = 0;

	for (uint32_t i = 0; i < nr; i++)
		if (!stacks[i].tid)
			ret[nr_own++] = (struct hotpath_stack){
				.at_ns = stacks[i].at_ns,
				.frames = stacks[i].frames,
				.nr_frames = stacks[i].nr_frames,
				.is_blocked = stacks[i].state == PERFGUARD_STACK_STATE_BLOCKED,
			};
	return nr_own;
}

void stacks_free(struct alert_stack *stacks, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		free(stacks[i].frames);
	free(stacks);
}
