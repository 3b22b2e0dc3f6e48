/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory for what is kept of each thread.
 *
 * kmalloc() rounds sizes above 256 bytes up to a power of two, and of a thousand
 * threads that would be more than what they need.  Here sizes go in small steps.
 */
#ifndef _PGUARD_POOL_H
#define _PGUARD_POOL_H

#include <linux/types.h>

void *pguard_pool_alloc(u32 size, gfp_t gfp);
void pguard_pool_free(void *memory, u32 size);

int pguard_pool_init(void);
void pguard_pool_deinit(void);

#endif /* _PGUARD_POOL_H */
