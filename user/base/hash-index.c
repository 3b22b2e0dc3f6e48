// SPDX-License-Identifier: GPL-2.0

#include "base/hash-index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum {
	FIRST_SLOTS = 1024,
};

static void enter(struct hash_index *index, uint32_t element)
{
	uint32_t slot = (uint32_t)(index->hashes[element] >> 32) & (index->nr_slots - 1);

	while (index->slots[slot])
		slot = (slot + 1) & (index->nr_slots - 1);
	index->slots[slot] = element + 1;
}

static int grow(struct hash_index *index)
{
	uint32_t nr_slots = index->nr_slots ? 2 * index->nr_slots : FIRST_SLOTS;
	uint32_t *slots = nr_slots ? calloc(nr_slots, sizeof(*slots)) : NULL;

	if (!slots)
		return -ENOMEM;
	free(index->slots);
	index->slots = slots;
	index->nr_slots = nr_slots;
	for (uint32_t i = 0; i < index->nr; i++)
		enter(index, i);
	return 0;
}

int hash_index_add(struct hash_index *index, uint64_t hash)
{
	if (array_grow(index->hashes, index->nr, index->max))
		return -ENOMEM;
	if (index->nr >= index->nr_slots / 2 && grow(index))
		return -ENOMEM;
	index->hashes[index->nr] = hash;
	enter(index, index->nr++);
	return 0;
}

int hash_index_get(struct hash_index *index, uint64_t hash, uint32_t *ret)
{
	uint32_t cursor = 0;

	*ret = hash_index_next(index, hash, &cursor);
	if (*ret != HASH_INDEX_NONE)
		return 0;
	*ret = index->nr;
	return hash_index_add(index, hash);
}

void hash_index_clear(struct hash_index *index)
{
	if (index->nr)
		memset(index->slots, 0, index->nr_slots * sizeof(*index->slots));
	index->nr = 0;
}

void hash_index_deinit(struct hash_index *index)
{
	free(index->hashes);
	free(index->slots);
	memset(index, 0, sizeof(*index));
}
