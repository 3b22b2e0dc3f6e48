// SPDX-License-Identifier: GPL-2.0

#include "app/audit/wait-evidence.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define MAX_PLACES 2048
#define MAX_WAITS_OF_PLACE 64
/* With so many in all, the first few of a place have to do. */
#define MANY_WAITS 16384
#define FEW_WAITS_OF_PLACE 4
#define MAX_THREADS 4096

/* Returns true if the copied stack holds every return address where the place has it. */
static bool has_stack(const struct boundary_place *place,
		      const struct slice *slice)
{
	for (uint32_t i = 1; i < place->nr_frames; i++) {
		uint64_t offset = place->frames[i].slot - place->sp;
		uint64_t word;

		if (offset > slice->size || slice->size - offset < sizeof(word))
			return false;
		memcpy(&word, slice->bytes + offset, sizeof(word));
		if (word != place->frames[i].pc)
			return false;
	}
	return true;
}

int64_t evidence_find(const struct evidence *evidence,
		      const struct evidence_wait *wait,
		      const struct slice *slice)
{
	for (uint32_t i = evidence->nr_places; i-- > 0;) {
		const struct boundary_place *place = &evidence->places[i];

		if (place->tid == wait->tid && place->sp == wait->sp &&
		    place->syscall == wait->syscall && place->nr_frames &&
		    place->frames[0].pc == wait->ip &&
		    (!slice || has_stack(place, slice)))
			return i;
	}
	return -1;
}

static void free_place(struct evidence *evidence, uint32_t index)
{
	free((void *)evidence->places[index].frames);
	free(evidence->details[index].frames);
}

/* Forget the older half of the places, but the examples, with their waits. */
static void forget_half(struct evidence *evidence)
{
	uint32_t moved_to[MAX_PLACES];
	uint32_t half = evidence->nr_places / 2, kept = 0, nr_waits = 0;

	for (uint32_t i = 0; i < evidence->nr_places; i++) {
		if (i < half && !evidence->details[i].is_example) {
			free_place(evidence, i);
			moved_to[i] = UINT32_MAX;
			continue;
		}
		evidence->places[kept] = evidence->places[i];
		evidence->details[kept] = evidence->details[i];
		moved_to[i] = kept++;
	}
	for (uint32_t i = 0; i < evidence->nr_waits; i++) {
		uint32_t place = moved_to[evidence->waits[i].place];

		if (place == UINT32_MAX)
			continue;
		evidence->waits[nr_waits] = evidence->waits[i];
		empty_poll_renumber(&evidence->waits[nr_waits].poll, moved_to);
		evidence->waits[nr_waits++].place = place;
	}
	for (uint32_t i = 0; i < evidence->nr_threads; i++)
		empty_poll_renumber(&evidence->threads[i].poll, moved_to);
	evidence->nr_places = kept;
	evidence->nr_waits = nr_waits;
}

int64_t evidence_add_place(struct evidence *evidence,
			   const struct evidence_wait *wait,
			   const struct frame *frames, uint32_t nr_frames,
			   bool is_complete)
{
	struct boundary_frame *bare;
	struct evidence_place *details;
	struct frame *copy;
	uint32_t index;

	if (evidence->nr_places == MAX_PLACES)
		forget_half(evidence);
	if (evidence->nr_places == MAX_PLACES)
		return -ENOMEM;
	if (array_grow(evidence->places, evidence->nr_places, evidence->max_places) ||
	    array_grow(evidence->details, evidence->nr_places, evidence->max_details))
		return -ENOMEM;
	bare = calloc(nr_frames ? nr_frames : 1, sizeof(*bare));
	copy = calloc(nr_frames ? nr_frames : 1, sizeof(*copy));
	if (!bare || !copy) {
		free(bare);
		free(copy);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < nr_frames; i++) {
		copy[i] = frames[i];
		bare[i].pc = frames[i].pc;
		/* The stack address that holds the return address. */
		bare[i].slot = i ? frames[i].sp - sizeof(uint64_t) : 0;
		bare[i].function = frames[i].start;
	}
	index = evidence->nr_places++;
	evidence->places[index] = (struct boundary_place) {
		.tid = wait->tid,
		.pid = wait->pid,
		.syscall = wait->syscall,
		.sp = wait->sp,
		.lock = wait->lock,
		.nr_frames = nr_frames,
		.frames = bare,
	};
	details = &evidence->details[index];
	*details = (struct evidence_place){
		.pid = wait->pid,
		.is_complete = is_complete,
		.frames = copy,
	};
	strncpy(details->comm, wait->comm, sizeof(details->comm) - 1);
	return index;
}

/* The thread, made if it was not heard of yet; NULL without memory. */
static struct empty_poll_thread *get_thread(struct evidence *evidence, uint32_t tid)
{
	for (uint32_t i = evidence->nr_threads; i-- > 0;)
		if (evidence->threads[i].tid == tid)
			return &evidence->threads[i];
	if (evidence->nr_threads == MAX_THREADS)
		evidence->nr_threads = 0; /* most of them have ended */
	if (array_resize(evidence->threads, evidence->nr_threads + 1UL))
		return NULL;
	empty_poll_begin(&evidence->threads[evidence->nr_threads], tid);
	return &evidence->threads[evidence->nr_threads++];
}

int evidence_add_wait(struct evidence *evidence, uint32_t place,
		      const struct evidence_wait *wait)
{
	uint32_t max_of_place = evidence->nr_waits < MANY_WAITS ?
					MAX_WAITS_OF_PLACE : FEW_WAITS_OF_PLACE;
	struct boundary_wait added = {
		.place = place,
		.blocked_ns = wait->blocked_ns,
		.enter_ns = wait->enter_ns,
		.is_empty = wait->is_empty,
	};
	struct empty_poll_thread *thread = get_thread(evidence, wait->tid);

	if (!thread)
		return -ENOMEM;
	empty_poll_follow(thread, &added);
	if (evidence->details[place].nr_waits >= max_of_place)
		return 0;
	if (array_grow(evidence->waits, evidence->nr_waits, evidence->max_waits))
		return -ENOMEM;
	evidence->details[place].nr_waits++;
	evidence->details[place].has_slept |= wait->blocked_ns > 0;
	evidence->waits[evidence->nr_waits++] = added;
	return 1;
}

bool evidence_is_in(uint32_t syscall, const struct frame *frames, uint32_t nr_frames,
		    const struct context *context)
{
	if (syscall != context->syscall)
		return false;
	for (uint32_t i = 1; i < nr_frames; i++)
		if (frames[i].pc == context->return_address &&
		    frames[i].sp - sizeof(uint64_t) - frames[0].sp == context->distance)
			return true;
	return false;
}

void evidence_deinit(struct evidence *evidence)
{
	for (uint32_t i = 0; i < evidence->nr_places; i++)
		free_place(evidence, i);
	free(evidence->places);
	free(evidence->details);
	free(evidence->waits);
	free(evidence->threads);
	memset(evidence, 0, sizeof(*evidence));
}
