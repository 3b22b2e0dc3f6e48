// SPDX-License-Identifier: GPL-2.0
/*
 * From the evidence of one image to its event loops, with numbers that stay
 * the same when the decision is made again on more evidence.
 */

#include "app/audit/discovery.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/time.h"

/* So many waits that never slept may be those of a busy loop. */
#define MANY_WAITS 8

/* Outcome of boundary_find(), with the places it was given. */
struct outcome {
	struct boundary_context *contexts;
	uint32_t nr;
};

/*
 * A few waits that never slept are no loop: a program that starts reads a file
 * or two on its way.
 */
static bool has_recurred(const struct evidence *evidence, uint32_t tid)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < evidence->nr_places; i++) {
		if (evidence->places[i].tid != tid)
			continue;
		if (evidence->details[i].has_slept)
			return true;
		nr += evidence->details[i].nr_waits;
	}
	return nr >= MANY_WAITS;
}

/*
 * A stack that could not be unwound to its end does not compare with others by
 * its outermost frames.  It counts only if its thread has no better one.
 */
static bool is_best(const struct evidence *evidence, uint32_t index)
{
	if (evidence->details[index].is_complete)
		return true;
	for (uint32_t i = 0; i < evidence->nr_places; i++)
		if (evidence->details[i].is_complete &&
		    evidence->places[i].tid == evidence->places[index].tid)
			return false;
	return true;
}

static bool is_usable(const struct evidence *evidence, uint32_t index)
{
	return is_best(evidence, index) &&
	       has_recurred(evidence, evidence->places[index].tid);
}

/* boundary_find() on the usable places, with indices into all of them. */
static int find(const struct evidence *evidence, struct outcome *ret)
{
	uint32_t *to_usable, *to_all;
	struct boundary_place *places;
	struct boundary_wait *waits;
	uint32_t nr_places = 0;
	size_t nr_waits = 0;
	int error = -ENOMEM;

	to_usable = calloc(evidence->nr_places + 1, sizeof(*to_usable));
	to_all = calloc(evidence->nr_places + 1, sizeof(*to_all));
	places = calloc(evidence->nr_places + 1, sizeof(*places));
	waits = calloc(evidence->nr_waits + 1, sizeof(*waits));
	if (!to_usable || !to_all || !places || !waits)
		goto out;
	for (uint32_t i = 0; i < evidence->nr_places; i++) {
		to_usable[i] = UINT32_MAX;
		if (!is_usable(evidence, i))
			continue;
		places[nr_places] = evidence->places[i];
		places[nr_places].is_own = evidence->details[i].loop_id != 0;
		to_all[nr_places] = i;
		to_usable[i] = nr_places++;
	}
	for (uint32_t i = 0; i < evidence->nr_waits; i++) {
		if (to_usable[evidence->waits[i].place] == UINT32_MAX)
			continue;
		waits[nr_waits] = evidence->waits[i];
		empty_poll_renumber(&waits[nr_waits].poll, to_usable);
		waits[nr_waits++].place = to_usable[evidence->waits[i].place];
	}
	error = boundary_find(places, nr_places, waits, nr_waits,
			      &ret->contexts, &ret->nr);
	for (uint32_t i = 0; !error && i < ret->nr; i++)
		ret->contexts[i].place = to_all[ret->contexts[i].place];
out:
	free(to_usable);
	free(to_all);
	free(places);
	free(waits);
	return error;
}

static bool has_context(const struct outcome *outcome, const struct boundary_context *context)
{
	for (uint32_t i = 0; i < outcome->nr; i++) {
		const struct boundary_context *its = &outcome->contexts[i];

		if (its->syscall == context->syscall && its->distance == context->distance &&
		    its->return_address == context->return_address)
			return true;
	}
	return false;
}

/* All waits with an equal return address are of one loop. */
static uint32_t loop_of_address(const struct outcome *outcome, uint64_t return_address)
{
	uint32_t last = 0;

	for (uint32_t i = 0; i < outcome->nr; i++) {
		if (outcome->contexts[i].return_address == return_address)
			return outcome->contexts[i].loop_id;
		last = outcome->contexts[i].loop_id > last ? outcome->contexts[i].loop_id : last;
	}
	return last + 1;
}

/* In place of boundary_find(): the operator knows. */
static int take_named(const struct evidence *evidence, const struct named_waits *named,
		      struct outcome *ret)
{
	if (array_new(ret->contexts, evidence->nr_places))
		return -ENOMEM;
	for (uint32_t i = 0; i < evidence->nr_places; i++) {
		const struct boundary_place *place = &evidence->places[i];
		uint32_t frame = named_waits_frame(named, place->syscall, evidence->details[i].frames,
						   place->nr_frames);
		struct boundary_context context = { .syscall = place->syscall, .place = i };

		/* The innermost frame has no return slot: its caller has the call's. */
		if (frame == NAMED_WAIT_NONE || place->frames[frame].slot < place->sp ||
		    place->frames[frame].slot - place->sp > UINT32_MAX)
			continue;
		context.frame = frame;
		context.return_address = place->frames[frame].pc;
		context.distance = (uint32_t)(place->frames[frame].slot - place->sp);
		if (has_context(ret, &context))
			continue;
		context.loop_id = loop_of_address(ret, context.return_address);
		ret->contexts[ret->nr++] = context;
	}
	return 0;
}

static const struct frame *frame_of(const struct evidence *evidence,
				    const struct boundary_context *context)
{
	return &evidence->details[context->place].frames[context->frame];
}

static bool is_same_function(const struct frame *a, const struct frame *b)
{
	return a->module && b->module && a->start && a->start == b->start &&
	       !strcmp(a->module, b->module);
}

/* Ways to know a loop again, the surest first. */
enum match {
	MATCH_ADDRESS, /* it waits at the same address */
	MATCH_PLACE, /* the place belonged to it before */
	MATCH_FUNCTION, /* it waits in the same function */
	NR_MATCHES,
};

static bool is_match(const struct evidence *evidence,
		     const struct boundary_context *context,
		     const struct known_loop *loop, enum match match)
{
	switch (match) {
	case MATCH_ADDRESS:
		return loop->wait.pc == context->return_address;
	case MATCH_PLACE:
		return evidence->details[context->place].loop_id == loop->id;
	default:
		return is_same_function(&loop->wait,
					frame_of(evidence, context));
	}
}

/* The loop as it was known before; taken once, as a function may have two. */
static struct known_loop *match_loop(struct image *image,
				     const struct outcome *outcome,
				     uint32_t loop_id, enum match match)
{
	for (uint32_t i = 0; i < outcome->nr; i++) {
		if (outcome->contexts[i].loop_id != loop_id)
			continue;
		for (uint32_t j = 0; j < image->nr_loops; j++)
			if (!image->loops[j].is_used &&
			    is_match(&image->evidence, &outcome->contexts[i],
				     &image->loops[j], match))
				return &image->loops[j];
	}
	return NULL;
}

static struct known_loop *add_loop(struct image *image)
{
	struct known_loop *loop;

	if (array_resize(image->loops, image->nr_loops + 1UL))
		return NULL;
	loop = &image->loops[image->nr_loops++];
	*loop = (struct known_loop){ .id = image->nr_loops, .since_ns = time_now_ns() };
	return loop;
}

/* True if a stack leads through code that was made at run time. */
static bool is_generated(const struct evidence *evidence, uint32_t place)
{
	for (uint32_t i = 0; i < evidence->places[place].nr_frames; i++)
		if (evidence->details[place].frames[i].region)
			return true;
	return false;
}

/* All contexts of one loop of the outcome get the loop's number. */
static void name_loop(struct image *image, const struct outcome *outcome,
		      uint32_t first, struct known_loop *loop,
		      struct context *contexts)
{
	const struct boundary_context *context = &outcome->contexts[first];
	const struct evidence *evidence = &image->evidence;

	loop->is_used = true;
	loop->successor = 0;
	loop->syscall = context->syscall;
	loop->wait = *frame_of(evidence, context);
	loop->example = context->place;
	loop->is_generated = is_generated(evidence, context->place);
	memcpy(loop->comm, evidence->details[context->place].comm,
	       sizeof(loop->comm));
	for (uint32_t i = first; i < outcome->nr; i++)
		if (outcome->contexts[i].loop_id == context->loop_id)
			contexts[i].loop_id = loop->id;
}

/* Give the outcome's loops the numbers they are known by, or new ones. */
static int number_loops(struct image *image, const struct outcome *outcome,
			struct context *contexts)
{
	for (uint32_t i = 0; i < image->nr_loops; i++)
		image->loops[i].is_used = false;

	/* Sure matches first, so that nobody else takes their loops. */
	for (enum match match = 0; match <= NR_MATCHES; match++) {
		for (uint32_t i = 0; i < outcome->nr; i++) {
			struct known_loop *loop;

			if (contexts[i].loop_id)
				continue;
			if (match < NR_MATCHES)
				loop = match_loop(image, outcome,
						  outcome->contexts[i].loop_id,
						  match);
			else
				loop = add_loop(image);
			if (loop)
				name_loop(image, outcome, i, loop, contexts);
			else if (match == NR_MATCHES)
				return -ENOMEM;
		}
	}
	return 0;
}

static int compare_contexts(const void *left, const void *right)
{
	const struct context *a = left, *b = right;

	return order_of(a->loop_id, b->loop_id) ?: order_of(a->return_address, b->return_address) ?:
	       order_of(a->distance, b->distance) ?: order_of(a->syscall, b->syscall);
}

static bool is_same_set(const struct image *image,
			const struct context *contexts, uint32_t nr)
{
	if (image->nr_contexts != nr)
		return false;
	for (uint32_t i = 0; i < nr; i++)
		if (compare_contexts(&image->contexts[i], &contexts[i]))
			return false;
	return true;
}

/* Keep @pids rising and without duplicates. */
static int add_pid(struct known_loop *loop, uint32_t pid)
{
	uint32_t at;

	for (at = 0; at < loop->nr_pids && loop->pids[at] < pid; at++)
		;
	if (at < loop->nr_pids && loop->pids[at] == pid)
		return 0;
	if (array_resize(loop->pids, loop->nr_pids + 1UL))
		return -ENOMEM;
	memmove(loop->pids + at + 1, loop->pids + at, (loop->nr_pids - at) * sizeof(*loop->pids));
	loop->pids[at] = pid;
	loop->nr_pids++;
	return 0;
}

static uint32_t loop_of(const struct image *image, uint32_t place)
{
	const struct evidence *evidence = &image->evidence;

	for (uint32_t i = 0; i < image->nr_contexts; i++)
		if (evidence_is_in(evidence->places[place].syscall,
				   evidence->details[place].frames,
				   evidence->places[place].nr_frames, &image->contexts[i]))
			return image->contexts[i].loop_id;
	return 0;
}

/* Which threads were seen in which loop. */
static int count_threads(struct image *image)
{
	struct evidence *evidence = &image->evidence;

	for (uint32_t i = 0; i < image->nr_loops; i++)
		image->loops[i].threads = 0;
	for (uint32_t i = 0; i < evidence->nr_places; i++) {
		uint32_t before = evidence->details[i].loop_id;
		uint32_t id = loop_of(image, i);
		bool is_first = true;

		evidence->details[i].loop_id = id;
		if (!id)
			continue;
		if (before && !image->loops[before - 1].is_used)
			image->loops[before - 1].successor = id;
		if (add_pid(&image->loops[id - 1], evidence->details[i].pid))
			return -ENOMEM;
		for (uint32_t j = 0; j < i && is_first; j++)
			is_first = evidence->details[j].loop_id != id ||
				   evidence->places[j].tid !=
					   evidence->places[i].tid;
		image->loops[id - 1].threads += is_first;
	}
	return 0;
}

static void mark_examples(struct image *image, const struct outcome *outcome)
{
	struct evidence *evidence = &image->evidence;

	for (uint32_t i = 0; i < evidence->nr_places; i++)
		evidence->details[i].is_example = false;
	for (uint32_t i = 0; i < outcome->nr; i++)
		evidence->details[outcome->contexts[i].place].is_example = true;
}

int decision_make(struct image *image, const struct named_waits *named)
{
	struct outcome outcome = { 0 };
	struct context *contexts;
	bool is_changed;
	int ret;

	ret = named->nr ? take_named(&image->evidence, named, &outcome) :
			  find(&image->evidence, &outcome);
	if (ret)
		return ret;
	contexts = calloc(outcome.nr ? outcome.nr : 1, sizeof(*contexts));
	if (!contexts || number_loops(image, &outcome, contexts)) {
		free(contexts);
		free(outcome.contexts);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < outcome.nr; i++) {
		contexts[i].syscall = outcome.contexts[i].syscall;
		contexts[i].distance = outcome.contexts[i].distance;
		contexts[i].return_address = outcome.contexts[i].return_address;
	}
	mark_examples(image, &outcome);
	qsort(contexts, outcome.nr, sizeof(*contexts), compare_contexts);
	is_changed = !is_same_set(image, contexts, outcome.nr);
	free(image->contexts);
	image->contexts = contexts;
	image->nr_contexts = outcome.nr;
	free(outcome.contexts);
	ret = count_threads(image);
	return ret ? ret : is_changed;
}
