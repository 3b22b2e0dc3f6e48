// SPDX-License-Identifier: GPL-2.0

#include "trie.h"

#include <errno.h>
#include <stdlib.h>

int trie_init(struct trie *trie)
{
	*trie = (struct trie){
		.max = 1024,
		.nr = 1,
		.nr_slots = 4096,
	};
	trie->nodes = calloc(trie->max, sizeof(*trie->nodes));
	trie->slots = calloc(trie->nr_slots, sizeof(*trie->slots));
	if (trie->nodes && trie->slots) {
		trie->nodes[0].function = SAMPLES_NONE;
		return 0;
	}
	trie_deinit(trie);
	return -ENOMEM;
}

void trie_deinit(struct trie *trie)
{
	free(trie->nodes);
	free(trie->slots);
	*trie = (struct trie){ 0 };
}

static uint32_t slot_of(const struct trie *trie, uint32_t parent, uint32_t function)
{
	uint64_t hash = (((uint64_t)parent << 32) | function) * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t slot = (uint32_t)(hash >> 32) & (trie->nr_slots - 1);

	while (trie->slots[slot]) {
		const struct samples_node *node = &trie->nodes[trie->slots[slot]];

		if (node->parent == parent && node->function == function)
			break;
		slot = (slot + 1) & (trie->nr_slots - 1);
	}
	return slot;
}

static bool grow(struct trie *trie)
{
	struct samples_node *nodes = reallocarray(trie->nodes, trie->max * 2, sizeof(*nodes));
	uint32_t *slots;

	if (!nodes)
		return false;
	trie->nodes = nodes;
	slots = calloc((size_t)trie->nr_slots * 2, sizeof(*slots));
	if (!slots)
		return false;
	trie->max *= 2;
	free(trie->slots);
	trie->slots = slots;
	trie->nr_slots *= 2;
	for (uint32_t i = 1; i < trie->nr; i++)
		slots[slot_of(trie, nodes[i].parent, nodes[i].function)] = i;
	return true;
}

uint32_t trie_child(struct trie *trie, uint32_t parent, uint32_t function)
{
	uint32_t slot = slot_of(trie, parent, function);

	if (trie->slots[slot])
		return trie->slots[slot];
	if (trie->nr == trie->max) {
		if (trie->nr_slots > UINT32_MAX / 8 || !grow(trie))
			return SAMPLES_NONE;
		slot = slot_of(trie, parent, function);
	}
	trie->nodes[trie->nr] = (struct samples_node){
		.parent = parent,
		.function = function,
	};
	trie->slots[slot] = trie->nr;
	return trie->nr++;
}

static int by_rising(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return left < right ? -1 : left > right;
}

uint32_t trie_leaves(const struct trie *trie, uint32_t *nodes, size_t nr)
{
	uint32_t kept = 0, leaves = 0;

	qsort(nodes, nr, sizeof(*nodes), by_rising);
	for (size_t i = 0; i < nr; i++)
		if (!i || nodes[i] != nodes[i - 1])
			nodes[kept++] = nodes[i];
	/* A parent is smaller than its children: mark from the end, by the top bit. */
	for (uint32_t i = kept; i-- > 0;) {
		uint32_t node = nodes[i] & INT32_MAX;
		uint32_t parent = trie->nodes[node].parent, low = 0, high = i;

		while (low < high) {
			uint32_t middle = low + (high - low) / 2;

			if ((nodes[middle] & INT32_MAX) < parent)
				low = middle + 1;
			else
				high = middle;
		}
		if (low < i && (nodes[low] & INT32_MAX) == parent)
			nodes[low] |= UINT32_C(1) << 31;
	}
	for (uint32_t i = 0; i < kept; i++)
		if (!(nodes[i] >> 31))
			nodes[leaves++] = nodes[i];
	return leaves;
}
