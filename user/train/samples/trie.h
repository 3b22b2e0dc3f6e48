/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Call paths, each once: a path is a node, its parent the path without the
 * last call.  A call tree is a set of nodes, identified by its leaves.
 */
#ifndef _USER_TRAIN_SAMPLES_TRIE_H
#define _USER_TRAIN_SAMPLES_TRIE_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash-index.h"
#include "data/samples.h"

struct trie {
	struct samples_node *nodes; /* node 0 is the loop */
	uint32_t nr;
	size_t max;
	struct hash_index index; /* of nodes */
	/* For trie_leaves(), by node: since which call it was met last. */
	uint64_t *marks;
	size_t max_marks;
	uint64_t epoch;
};

/* Returns 0 or -ENOMEM. */
int trie_init(struct trie *trie);
void trie_deinit(struct trie *trie);

/* The path of @parent and a call of @function; SAMPLES_NONE if no memory. */
uint32_t trie_child(struct trie *trie, uint32_t parent, uint32_t function);

/*
 * Reduce a list of nodes, in any order and with repetitions, to the leaves
 * among them, rising.  Returns how many are left.
 */
uint32_t trie_leaves(struct trie *trie, uint32_t *nodes, size_t nr);

#endif /* _USER_TRAIN_SAMPLES_TRIE_H */
