// SPDX-License-Identifier: GPL-2.0

#include "place.h"

#include "compat.h"
#include "image.h"

/* pguard_place_word_is() without faulting: -EFAULT if the page is not mapped now. */
static int user_word_peek(u64 address, u64 wanted)
{
	u64 word;
	int ret;

	pagefault_disable();
	ret = get_user(word, (const u64 __user *)address);
	pagefault_enable();
	return ret ?: word == wanted;
}

enum {
	/* How far two paths of one library function lie apart. */
	PATHS_CODE = 512,
	PATHS_STACK = 256,
};

static bool is_near(u64 a, u64 b, u64 distance)
{
	return a - b + distance <= 2 * distance;
}

/*
 * Does the place belong to the context?  The call must be the same, and the
 * return address stand at the context's distance.  Or, if this is the library
 * function in which the thread's loop waited before, on another path: where
 * the return address stood then, for a loop frame does not move.  (A wait call
 * goes deeper once the process has a second thread.)
 */
static int context_fits(struct pguard_task *state, struct pguard_place *place,
			const struct pguard_context *context)
{
	int ret;

	if (context->syscall != place->syscall)
		return 0;
	place->slot = place->sp + context->distance;
	/* Within an RCU section it must not fault. */
	ret = user_word_peek(place->slot, context->return_address);
	if (ret)
		return ret;
	if (!is_near(place->ip, state->home_ip, PATHS_CODE) ||
	    !is_near(place->slot, state->home, PATHS_STACK))
		return 0;
	place->slot = state->home;
	return user_word_peek(place->slot, context->return_address);
}

/*
 * Look a place up in the image's contexts, from number *@from on.  -EFAULT if
 * the page at place->slot is not mapped just now; *@from is the context then,
 * and the look-up is to go on with it or, if there is no such page, behind it.
 */
static int place_look_up(struct pguard_task *state, struct pguard_place *place, u32 *from)
{
	struct pguard_contexts *contexts;
	u32 generation;
	int ret = 0;

	/* Pairs with the store in pguard_image_set_contexts(). */
	generation = smp_load_acquire(&state->image->generation);
	if (place->generation != generation)
		*from = 0;
	place->generation = generation;
	place->loop = NULL;
	rcu_read_lock();
	contexts = rcu_dereference(state->image->contexts);
	for (; contexts && *from < contexts->nr; ++*from) {
		const struct pguard_context *context = &contexts->context[*from];

		ret = context_fits(state, place, context);
		if (ret < 0)
			break;
		if (!ret)
			continue;
		place->loop = context->loop;
		place->return_address = context->return_address;
		state->home = place->slot;
		state->home_ip = place->ip;
		break;
	}
	rcu_read_unlock();
	return min(ret, 0);
}

/*
 * Settle what a place is.  Its stack may be swapped out, or unmapped for a
 * moment by NUMA balancing: that says nothing about the place.  A context of
 * another loop may point beyond the end of this stack: then it is not its.
 */
static noinline void place_classify(struct pguard_task *state, struct pguard_place *place,
				    bool may_sleep)
{
	u32 from = 0, tries = 2 * PGUARD_MAX_CONTEXTS;
	bool doubt = false;
	u64 word;

	while (tries-- && place_look_up(state, place, &from)) {
		if (may_sleep && !get_user(word, (const u64 __user *)place->slot))
			continue;
		doubt = !may_sleep;
		from++;
	}
	if (doubt && !place->loop)
		place->generation--; /* ask again next time */
}

enum {
	/* Waits to record after a new place was seen. */
	MORE_RECORDS = 16,
};

/* A place not seen lately takes the slot that was used longest ago. */
static noinline struct pguard_place *place_new(struct pguard_task *state,
					       const struct pt_regs *regs, bool may_sleep)
{
	struct pguard_place *place;

	state->oldest = (state->oldest + 1) % PGUARD_NR_PLACES;
	place = &state->places[state->oldest];
	place->ip = regs->ip;
	place->sp = regs->sp;
	place->syscall = pguard_place_syscall(regs);
	place->fresh = true;
	/* Some more records show how the place stands to the others. */
	state->records_left = max_t(u16, state->records_left, MORE_RECORDS);
	place_classify(state, place, may_sleep);
	return place;
}

/**
 * pguard_place_get() - the place current waits in
 * @state: of current
 * @regs: its user registers
 * @may_sleep: whether the context allows to fault
 *
 * Context: current; sleeps only as @may_sleep says.
 * Return: the place, settled for the contexts there are; it is state->place.
 */
struct pguard_place *pguard_place_get(struct pguard_task *state, const struct pt_regs *regs,
				      bool may_sleep)
{
	struct pguard_place *place = pguard_place_find(state, regs);

	if (!place)
		place = place_new(state, regs, may_sleep);
	state->place = place;
	if (!pguard_place_is_settled(state, place))
		place_classify(state, place, may_sleep);
	return place;
}

/**
 * pguard_place_is_boundary() - is a wait in this place the loop's own
 *
 * The stack is asked each time: another chain of calls may lead to the place.
 *
 * Context: as pguard_place_get().
 */
bool pguard_place_is_boundary(struct pguard_task *state, struct pguard_place *place,
			      bool may_sleep)
{
	int ret;

	if (!place->loop)
		return false;
	if (may_sleep)
		ret = pguard_place_word_is(place->slot, place->return_address);
	else
		ret = user_word_peek(place->slot, place->return_address);
	if (likely(ret > 0))
		return true;
	/* Another chain of calls led here this time. */
	if (!ret)
		place_classify(state, place, may_sleep);
	return !ret && place->loop;
}
