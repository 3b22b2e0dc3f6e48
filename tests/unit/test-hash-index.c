// SPDX-License-Identifier: GPL-2.0
/* Arrays that grow, and the index of their elements by hashes. */

#include <stdlib.h>

#include "base/array.h"
#include "base/hash-index.h"
#include "tap.h"

enum {
	NR = 100000, /* far more than the first room, in arrays and indices */
};

static void test_grow(void)
{
	size_t max = 0, nr_wrong = 0;
	uint32_t *array = NULL;

	for (uint32_t i = 0; i < NR; i++) {
		if (array_grow(array, i, max))
			exit(1);
		array[i] = i;
	}
	for (uint32_t i = 0; i < NR; i++)
		nr_wrong += array[i] != i;
	ok(!nr_wrong && max >= NR && max < 2 * NR, "an array grows by doubling");
	max = 0; /* as of an array that was read from a file */
	ok(!array_grow(array, NR, max) && max > NR, "also one whose room was not known");
	ok(!array_reserve(array, 10 * NR, max) && max == 10 * NR, "or by several at once");
	free(array);
}

/* Each key has one number, in the order of their first uses, and the next round the same. */
static void test_index(const char *name, struct hash_index *index)
{
	size_t nr_wrong = 0;

	for (uint64_t i = 0; i < 2 * NR; i++) {
		uint32_t at;

		if (hash_index_get(index, hash_mix(0, (i % NR) << 32), &at))
			exit(1);
		nr_wrong += at != i % NR;
	}
	ok(!nr_wrong && index->nr == NR, "%s", name);
}

int main(void)
{
	struct hash_index index = { 0 };
	uint32_t cursor = 0;

	plan(7);
	test_grow();
	hash_index_clear(&index);
	ok(hash_index_next(&index, 1, &cursor) == HASH_INDEX_NONE, "nothing is in an empty index");
	test_index("an index numbers keys", &index);
	hash_index_clear(&index);
	cursor = 0;
	ok(hash_index_next(&index, hash_mix(0, 0), &cursor) == HASH_INDEX_NONE,
	   "none of them is left when it is cleared");
	test_index("and numbers them again", &index);
	hash_index_deinit(&index);
	return tap_status();
}
