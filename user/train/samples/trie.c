// SPDX-License-Identifier: GPL-2.0

#include "train/samples/trie.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

int trie_init(struct trie *trie)
{
	*trie = (struct trie){ 0 };
	return trie_child(trie, 0, SAMPLES_NONE) == SAMPLES_NONE ? -ENOMEM : 0;
}

void trie_deinit(struct trie *trie)
{
	free(trie->nodes);
	free(trie->marks);
	hash_index_deinit(&trie->index);
	*trie = (struct trie){ 0 };
}

uint32_t trie_child(struct trie *trie, uint32_t parent, uint32_t function)
{
	uint64_t hash = hash_mix(0, (uint64_t)parent << 32 | function);
	uint32_t cursor = 0, at;

	while ((at = hash_index_next(&trie->index, hash, &cursor)) != HASH_INDEX_NONE)
		if (trie->nodes[at].parent == parent && trie->nodes[at].function == function)
			return at;
	if (array_grow(trie->nodes, trie->nr, trie->max) ||
	    array_grow(trie->marks, trie->nr, trie->max_marks) ||
	    hash_index_add(&trie->index, hash))
		return SAMPLES_NONE;
	trie->marks[trie->nr] = 0;
	trie->nodes[trie->nr] = (struct samples_node){
		.parent = parent,
		.function = function,
	};
	return trie->nr++;
}

uint32_t trie_leaves(struct trie *trie, uint32_t *nodes, size_t nr)
{
	uint64_t *marks = trie->marks, met = trie->epoch + 1, is_parent = trie->epoch + 2;
	uint32_t leaves = 0;
	bool is_rising = true;
	size_t kept = 0;

	trie->epoch += 2;
	for (size_t i = 0; i < nr; i++) {
		uint32_t node = nodes[i];

		if (marks[node] < met) {
			marks[node] = met;
			nodes[kept++] = node;
		}
		marks[trie->nodes[node].parent] = is_parent;
	}
	for (size_t i = 0; i < kept; i++) {
		if (marks[nodes[i]] == is_parent)
			continue;
		is_rising &= !leaves || nodes[i] > nodes[leaves - 1];
		nodes[leaves++] = nodes[i];
	}
	/* They often are: nodes have the order in which they were met first. */
	if (!is_rising)
		qsort(nodes, leaves, sizeof(*nodes), order_u32);
	return leaves;
}
