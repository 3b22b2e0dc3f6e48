// SPDX-License-Identifier: GPL-2.0

#include "probe/noted-hits.h"

#include "inline/area.h"
#include "probe/guard.h"
#include "probe/inlining.h"
#include "target/hit-ring.h"
#include "target/image.h"
#include "target/thread.h"
#include "trainstream/stream.h"
#include "unit/unit.h"

/* Returns true if the guards of the thread's profile jump where they can. */
static bool guards_jump(const struct pguard_thread *thread)
{
	return thread->profile->noted && pguard_profile_is_armed(thread->profile);
}

/**
 * pguard_noted_hits_begin() - current has a ring, or has not: hits of its guards are noted there
 * @thread: of current, which has a profile
 *
 * Context: current; does not sleep.
 */
void pguard_noted_hits_begin(struct pguard_thread *thread)
{
	const struct pguard_hit_ring *ring = READ_ONCE(thread->ring);
	bool takes_noted = ring && guards_jump(thread);

	/* It was closed. */
	if (takes_noted && !thread->takes_noted)
		pguard_hit_ring_reset(ring, true);
	thread->takes_noted = takes_noted;
}

/**
 * pguard_noted_hits_look() - see that current's hits are noted, if some of its sites are to jump
 * @thread: of current, whose profile is the one that its target has by now
 * @may_sleep: the context allows it
 *
 * Context: current, in a hooked call on the slow path.
 */
void pguard_noted_hits_look(struct pguard_thread *thread, bool may_sleep)
{
	bool is_to_jump = guards_jump(thread);

	if (is_to_jump)
		pguard_inlining_look(thread);
	if (is_to_jump || pguard_stream_wants_waits(thread->image->target))
		if (may_sleep && thread->image->areas && unlikely(pguard_area_look(thread)))
			pguard_inlining_visit(thread);
	pguard_noted_hits_begin(thread);
}

/* Some of them are to be recorded, or there are many. */
static noinline void hits_take_all(struct pguard_thread *thread, const struct pguard_hit_ring *ring,
				   u32 free, struct pguard_inference *guarded)
{
	/* Else those to record are of another recording. */
	bool is_recorded = pguard_stream_is_open() && pguard_stream_knows(thread);
	struct pguard_hit_run run;
	u32 end;

	for (end = PGUARD_RING_ENTRIES; end > free;) {
		end = pguard_hit_ring_run(ring, end, free, &run);
		if (run.hits && guarded && pguard_stream_wants_units(thread->image->target))
			pguard_guard_record_noted(thread, guarded, &run);
		else if (run.hits && guarded)
			pguard_guard_take_noted(thread, guarded, &run);
		if (run.hits && run.values && is_recorded)
			pguard_stream_put_noted(thread, &run);
	}
	if (is_recorded && !free)
		pguard_stream_lose();
}

static void hits_take(struct pguard_thread *thread, const struct pguard_hit_ring *ring, u32 free)
{
	struct pguard_inference *guarded = NULL;
	struct pguard_hit_run run;
	u64 begun;

	if (thread->counts && thread->counts->noted)
		guarded = pguard_thread_inference(thread);
	begun = pguard_clock();
	if (likely(guarded && !pguard_stream_is_open() && pguard_hit_ring_top(ring, free, &run)))
		pguard_guard_take_noted(thread, guarded, &run);
	else
		hits_take_all(thread, ring, free, guarded);
	if (guarded)
		guarded->checks += pguard_clock() - begun;
}

/**
 * pguard_noted_hits_take() - take what current's landings have noted
 * @thread: of current
 *
 * If nobody wants it the ring is closed.
 *
 * Context: current; does not sleep or fault.
 */
void pguard_noted_hits_take(struct pguard_thread *thread)
{
	/* Who takes it away leaves it to current to give it back. */
	const struct pguard_hit_ring *ring = READ_ONCE(thread->ring);
	bool is_wanted;
	u32 free;

	if (!ring)
		return;
	free = pguard_hit_ring_free(ring);
	if (free == PGUARD_RING_ENTRIES)
		return;
	is_wanted = thread->takes_noted || pguard_stream_is_open();
	if (is_wanted && free < PGUARD_RING_ENTRIES)
		hits_take(thread, ring, free);
	pguard_hit_ring_reset(ring, is_wanted);
}

/**
 * pguard_noted_hits_before() - current ran into the breakpoint of a guard
 * @site: the guard's; of a profile whose guards jump where they can
 *
 * What its landings have noted comes before.
 *
 * Context: current, in the handler of a probe; does not sleep or fault.
 */
void pguard_noted_hits_before(const struct pguard_site *site)
{
	struct pguard_thread *thread = pguard_thread_of_current();

	/* Whoever comes by first has the process jump. */
	if (!thread && pguard_thread_first(site->target))
		thread = pguard_thread_of_current();
	if (!thread || thread->image->target != site->target)
		return;
	pguard_inlining_hit(thread, site);
	pguard_noted_hits_take(thread);
}
