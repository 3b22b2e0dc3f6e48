// SPDX-License-Identifier: GPL-2.0

#include "pool.h"

#include <linux/rcupdate.h>
#include <linux/slab.h>

enum {
	STEP = 32,
	/* Above it, and up to the largest; for others kmalloc() serves. */
	BASE = 256,
	LARGEST = 1536,
	NR_CACHES = (LARGEST - BASE) / STEP,
};

static struct kmem_cache *caches[NR_CACHES];
static char names[NR_CACHES][24];

/* The cache for objects of this size, or NULL if none is for them. */
static struct kmem_cache *cache_of(u32 size)
{
	return size > BASE && size <= LARGEST ? caches[(size - BASE - 1) / STEP] : NULL;
}

/**
 * pguard_pool_alloc() - zeroed memory for what is kept of a thread
 * @size: bytes
 * @gfp: as the caller's context allows
 *
 * Return: the memory, to be given to pguard_pool_free(); or NULL.
 */
void *pguard_pool_alloc(u32 size, gfp_t gfp)
{
	struct kmem_cache *cache = cache_of(size);

	return cache ? kmem_cache_zalloc(cache, gfp) : kzalloc(size, gfp);
}

/**
 * pguard_pool_free() - give memory back
 * @memory: of pguard_pool_alloc()
 * @size: the same as there
 *
 * Context: any but NMI.
 */
void pguard_pool_free(void *memory, u32 size)
{
	struct kmem_cache *cache = cache_of(size);

	if (cache)
		kmem_cache_free(cache, memory);
	else
		kfree(memory);
}

int __init pguard_pool_init(void)
{
	u32 i, size = BASE;

	for (i = 0; i < NR_CACHES; i++) {
		size += STEP;
		snprintf(names[i], sizeof(names[i]), "perfguard-%u", size);
		caches[i] = kmem_cache_create(names[i], size, 0, 0, NULL);
		if (!caches[i]) {
			pguard_pool_deinit();
			return -ENOMEM;
		}
	}
	return 0;
}

/* All memory was given back, some of it perhaps by an RCU callback that is yet to run. */
void pguard_pool_deinit(void)
{
	u32 i;

	rcu_barrier();
	for (i = 0; i < NR_CACHES; i++)
		kmem_cache_destroy(caches[i]);
}
