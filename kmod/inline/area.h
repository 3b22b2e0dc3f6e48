/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Areas: where the landings of a thread write.
 *
 * A process has one mapping of them.  It begins below 2 GiB, at the same address in all processes
 * of an image.  A landing writes to an address that is fixed except for the base of GS: each thread
 * that is recorded has that of its own area.  The base of all others is 0, which makes them write
 * to the first area, the sink: so nothing faults, whoever comes by a landing.  The ring of the
 * sink is full at all times.
 *
 * The program can write to its areas as well, and does harm to itself alone: what is read from
 * them is checked, or goes to userland as what the program says.
 *
 * A child has the mapping of its parent, and pages of its own.
 */
#ifndef _KMOD_INLINE_AREA_H
#define _KMOD_INLINE_AREA_H

#include <linux/build_bug.h>
#include <linux/mm.h>
#include <linux/types.h>

struct pguard_image;
struct pguard_thread;
struct task_struct;

enum {
	PGUARD_AREA_ENTRIES = 32767,	/* hits between two system calls */
	PGUARD_AREA_FREE = 2 * PGUARD_AREA_ENTRIES,	/* head of an empty ring */
	/* Of an area: twice the number of free entries, 0 of a full ring. */
	PGUARD_AREA_HEAD = 0,			/* u32 */
	/* The last one ends with a page. */
	PGUARD_AREA_PAIRS = PAGE_SIZE + 16,	/* struct pguard_noted_hit */
	PGUARD_AREA_VALUES = PGUARD_AREA_PAIRS + 16 * PGUARD_AREA_ENTRIES + 8,	/* u64 */
	PGUARD_AREA_END = PGUARD_AREA_VALUES + 8 * PGUARD_AREA_ENTRIES,
	PGUARD_AREA_PAGES = PGUARD_AREA_END / PAGE_SIZE,
	/*
	 * Of a process, with the sink, and one that nobody takes: a head of 16 bits may lead from
	 * an area into the next one.
	 */
	PGUARD_NR_AREAS = 512,
};

static_assert(PGUARD_AREA_END % PAGE_SIZE == 0);

bool pguard_gs_is_used(void);
int pguard_areas_map(struct pguard_image *image);
bool pguard_area_look(struct pguard_thread *thread);
void pguard_area_leave(struct pguard_thread *thread);
void pguard_area_drain(struct pguard_thread *thread);
void pguard_area_fork(struct task_struct *child);

#endif /* _KMOD_INLINE_AREA_H */
