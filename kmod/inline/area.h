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
 * The program can write to its areas as well, and does harm to itself alone.
 *
 * A child has the mapping of its parent, and pages of its own.
 */
#ifndef _KMOD_INLINE_AREA_H
#define _KMOD_INLINE_AREA_H

#include <linux/types.h>

struct mm_struct;
struct pguard_image;
struct pguard_thread;
struct task_struct;

enum {
	/*
	 * Of a process, with the sink, and one that nobody takes: a head of 16 bits may lead from
	 * an area into the next one.
	 */
	PGUARD_NR_AREAS = 512,
};

bool pguard_area_has_base(u64 base);
int pguard_areas_map(struct pguard_image *image);
u32 pguard_area_look(struct pguard_thread *thread);
void pguard_area_leave(struct pguard_thread *thread);
void pguard_areas_count_jumps(const struct mm_struct *mm, s32 more);
u32 pguard_areas_jumps(const struct mm_struct *mm);
bool pguard_areas_unmap(void);
void pguard_area_fork(struct task_struct *child);

#endif /* _KMOD_INLINE_AREA_H */
