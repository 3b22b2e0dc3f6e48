// SPDX-License-Identifier: GPL-2.0

#include "target/hit-ring.h"

/* What is there, NULL if its page was never touched. */
static const void *ring_at(const struct pguard_hit_ring *ring, unsigned long offset)
{
	const void *page = READ_ONCE(ring->pages[offset / PAGE_SIZE]);

	return page ? page + offset % PAGE_SIZE : NULL;
}

/**
 * pguard_hit_ring_run() - the hits below an entry, in the order in which they came
 * @ring: the ring
 * @end: the entry; PGUARD_RING_ENTRIES at first
 * @free: pguard_hit_ring_free(), below @end
 * @ret: filled in; no @hits if no landing has noted them
 *
 * Context: current, whose ring it is; else an RCU section.
 * Return: the next @end.
 */
u32 pguard_hit_ring_run(const struct pguard_hit_ring *ring, u32 end, u32 free,
			struct pguard_hit_run *ret)
{
	u32 in_page = PGUARD_RING_TOP - (PGUARD_RING_ENTRIES - end) % PGUARD_RING_TOP;
	u32 begin = end - free > in_page ? end - in_page : free;

	*ret = (struct pguard_hit_run){
		.hits = ring_at(ring, PGUARD_RING_PAIRS + sizeof(*ret->hits) * begin),
		.values = ring_at(ring, PGUARD_RING_VALUES + sizeof(*ret->values) * begin),
		.nr = end - begin,
	};
	return begin;
}
