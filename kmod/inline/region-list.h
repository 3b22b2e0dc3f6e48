/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All regions that are mapped, and when that may end.
 *
 * Once nothing jumps to a region, nobody comes into it any more, except by return from a signal
 * that came upon a thread within.  So it may be unmapped where each thread has been seen outside and
 * no such signal came.
 */
#ifndef _KMOD_INLINE_REGION_LIST_H
#define _KMOD_INLINE_REGION_LIST_H

#include <linux/types.h>

struct mm_struct;
struct pguard_region;

void pguard_region_list_add(struct pguard_region *region);
void pguard_region_list_del(struct pguard_region *region);
bool pguard_region_list_is_empty(void);
bool pguard_region_list_has(const struct mm_struct *mm);
void pguard_region_list_signal(unsigned long ip);
bool pguard_region_list_unmap(void);

#endif /* _KMOD_INLINE_REGION_LIST_H */
