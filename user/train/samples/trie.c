// SPDX-License-Identifier: GPL-2.0

#include "train/samples/trie.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

int trie_init(struct trie *trie)
{
	*trie = (struct trie){
		.max = 1024,
		.nr = 1,
		.nr_slots = 4096,
	};
	trie->nodes = calloc(trie->max, sizeof(*trie->nodes));
	trie->slots = calloc(trie->nr_slots, sizeof(*trie->slots));
	trie->marks = calloc(trie->max, sizeof(*trie->marks));
	if (trie->nodes && trie->slots && trie->marks) {
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
	free(trie->marks);
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
	uint64_t *marks;
	uint32_t *slots;

	if (!nodes)
		return false;
	trie->nodes = nodes;
	marks = reallocarray(trie->marks, trie->max * 2, sizeof(*marks));
	if (!marks)
		return false;
	memset(marks + trie->max, 0, trie->max * sizeof(*marks));
	trie->marks = marks;
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
