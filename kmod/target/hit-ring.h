/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ring of hits that the landings of a thread have noted since they were taken last.
 *
 * It is filled from its end down.  What one hit notes lies next to each other: first the pair
 * that each does, in an array of their own the words that some do.  The program can write
 * to it as well.  Only the thread itself takes the hits; others may look at them, in an RCU
 * section, and what they find may be of two moments.
 */
#ifndef _KMOD_TARGET_HIT_RING_H
#define _KMOD_TARGET_HIT_RING_H

#include "lib/noted-hit.h"

#include <linux/compiler.h>
#include <linux/mm.h>

enum {
	PGUARD_RING_ENTRIES = 32767,	/* hits between two system calls */
	PGUARD_RING_FREE = 2 * PGUARD_RING_ENTRIES,	/* head of an empty ring */
	/* Twice the number of free entries; 0 of a full ring. */
	PGUARD_RING_HEAD = 0,			/* u32 */
	/* The last one ends with a page. */
	PGUARD_RING_PAIRS = PAGE_SIZE + 16,	/* struct pguard_noted_hit */
	PGUARD_RING_VALUES = PGUARD_RING_PAIRS + 16 * PGUARD_RING_ENTRIES + 8,	/* u64 */
	PGUARD_RING_END = PGUARD_RING_VALUES + 8 * PGUARD_RING_ENTRIES,
	PGUARD_RING_PAGES = PGUARD_RING_END / PAGE_SIZE,
};

static_assert(PGUARD_RING_END % PAGE_SIZE == 0);

/**
 * struct pguard_hit_ring - the memory of a ring
 * @pages: their addresses, as they were touched; the first one is there from the start
 */
struct pguard_hit_ring {
	void *pages[PGUARD_RING_PAGES];
};

/**
 * struct pguard_hit_run - hits whose pairs are in one page
 * @hits: the last one first
 * @values: a word of each; NULL if none has noted one
 * @nr: how many; at least one
 */
struct pguard_hit_run {
	const struct pguard_noted_hit *hits;
	const u64 *values;
	u32 nr;
};

static inline u32 *pguard_hit_ring_head(const struct pguard_hit_ring *ring)
{
	return ring->pages[0] + PGUARD_RING_HEAD;
}

/* How many entries are free; more than there are if the program has written there. */
static inline u32 pguard_hit_ring_free(const struct pguard_hit_ring *ring)
{
	return READ_ONCE(*pguard_hit_ring_head(ring)) / 2;
}

/* Have it empty, or closed: full, so that nothing is noted.  The thread itself. */
static inline void pguard_hit_ring_reset(const struct pguard_hit_ring *ring, bool is_open)
{
	WRITE_ONCE(*pguard_hit_ring_head(ring), is_open ? PGUARD_RING_FREE : 0);
}

enum { PGUARD_RING_TOP = PAGE_SIZE / sizeof(struct pguard_noted_hit) };

/**
 * pguard_hit_ring_top() - all hits that there are, if they are no more than a page takes
 * @ring: the ring; no @values are of interest
 * @free: pguard_hit_ring_free()
 * @ret: filled in
 *
 * Context: as the next.
 * Return: false if there are more, or it cannot be.
 */
static __always_inline bool pguard_hit_ring_top(const struct pguard_hit_ring *ring, u32 free,
						struct pguard_hit_run *ret)
{
	const struct pguard_noted_hit *top = READ_ONCE(ring->pages[PGUARD_RING_VALUES / PAGE_SIZE - 1]);
	u32 nr = PGUARD_RING_ENTRIES - free;

	ret->hits = top + PGUARD_RING_TOP - nr;
	ret->values = NULL;
	ret->nr = nr;
	return nr <= PGUARD_RING_TOP && top;
}

u32 pguard_hit_ring_run(const struct pguard_hit_ring *ring, u32 end, u32 free,
			struct pguard_hit_run *ret);

#endif /* _KMOD_TARGET_HIT_RING_H */
