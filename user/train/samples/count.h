/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counts units: distinct call trees, variants with equal hits, and how well
 * depth identifies where a call comes from.
 */
#ifndef _USER_TRAIN_SAMPLES_COUNT_H
#define _USER_TRAIN_SAMPLES_COUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash-index.h"
#include "data/samples.h"
#include "train/samples/extract.h"

/* A context: a function at a depth. */
struct unit_counts_key {
	uint32_t function;
	uint32_t depth;
	uint32_t node; /* the first path it was met on */
	bool is_ambiguous; /* it was met on others */
	uint64_t calls;
	/* In the unit at hand. */
	uint32_t epoch;
	uint32_t count;
	uint32_t first; /* position of the first hit */
};

struct unit_counts {
	struct unit_counts_key *keys;
	size_t max_keys;
	struct hash_index key_index;
	/* The unit at hand. */
	uint32_t *met; /* keys, in the order in which they were first */
	uint32_t nr_met;
	size_t max_met;
	uint32_t epoch; /* from 1 */
	uint32_t hits;
	/* All units. */
	struct samples_tree *trees;
	size_t max_trees;
	struct hash_index tree_index;
	struct samples_unit *variants;
	size_t max_variants;
	struct hash_index variant_index;
	struct extract_unit *units;
	uint64_t nr_units;
	size_t max_units;
};

/* Counts start out as { .epoch = 1 }. */
void count_deinit(struct unit_counts *counts);

/* A site is hit in the unit at hand; @node is the call's path. */
int count_hit(struct unit_counts *counts, uint32_t function, uint32_t depth, uint32_t node);

/* The hits so far belong to no unit. */
void count_forget_hits(struct unit_counts *counts);

/* The unit at hand is over; its tree has these leaves, rising. */
int count_unit(struct unit_counts *counts, const struct extract_unit *unit, const uint32_t *leaves,
	       uint32_t nr_leaves);

/*
 * Give trees and variants to @samples, whose loops and nodes are in place; and
 * to @result, if it is not NULL, the units one by one.  samples_half() says in
 * which half a unit counts, loop by loop.
 */
void count_finish(struct unit_counts *counts, struct samples *samples,
		  struct extract_result *result);

#endif /* _USER_TRAIN_SAMPLES_COUNT_H */
