/* SPDX-License-Identifier: GPL-2.0 */
/* Where threads are in user mode. */
#ifndef _KMOD_INLINE_THREAD_PLACE_H
#define _KMOD_INLINE_THREAD_PLACE_H

#include <linux/types.h>

struct mm_struct;

bool pguard_threads_are_in(const struct mm_struct *mm, unsigned long start, unsigned long size);

#endif /* _KMOD_INLINE_THREAD_PLACE_H */
