/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Finds the elements of an array by their hashes (open addressing).  The array
 * is the caller's; elements are added to the index in the order of the array.
 */
#ifndef _USER_BASE_HASH_INDEX_H
#define _USER_BASE_HASH_INDEX_H

#include <stddef.h>
#include <stdint.h>

enum {
	HASH_INDEX_NONE = UINT32_MAX,
};

struct hash_index {
	uint64_t *hashes; /* by element */
	size_t max;
	uint32_t *slots; /* element + 1, 0 if free; a power of two, at most half full */
	uint32_t nr_slots;
	uint32_t nr;
};

/* Of two values with the same @hash, no two have the same result. */
static inline uint64_t hash_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ (hash >> 32);
}

/* FNV-1a, 64 bits; the hash of nothing is HASH_FNV1A. */
#define HASH_FNV1A UINT64_C(0xcbf29ce484222325)
static inline uint64_t hash_fnv1a(uint64_t hash, const void *bytes, size_t len)
{
	for (const unsigned char *at = bytes; len; at++, len--)
		hash = (hash ^ *at) * UINT64_C(0x100000001b3);
	return hash;
}

/*
 * The elements with this hash one by one, HASH_INDEX_NONE after the last;
 * *@cursor is 0 at first.
 */
static inline uint32_t hash_index_next(const struct hash_index *index, uint64_t hash,
				       uint32_t *cursor)
{
	while (index->nr) {
		uint32_t slot = ((uint32_t)(hash >> 32) + (*cursor)++) & (index->nr_slots - 1);
		uint32_t element = index->slots[slot];

		if (!element)
			break;
		if (index->hashes[element - 1] == hash)
			return element - 1;
	}
	return HASH_INDEX_NONE;
}

/* Add element index->nr.  Returns 0 or -ENOMEM. */
int hash_index_add(struct hash_index *index, uint64_t hash);

/* The only element with @hash, added if there is none.  Returns 0 or -ENOMEM. */
int hash_index_get(struct hash_index *index, uint64_t hash, uint32_t *ret);

/* Remove all elements; the room for them stays. */
void hash_index_clear(struct hash_index *index);

void hash_index_deinit(struct hash_index *index);

#endif /* _USER_BASE_HASH_INDEX_H */
