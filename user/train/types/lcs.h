/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lengths of the longest common subsequences of call paths.
 *
 * Bit-parallel (Hyyro): V is a word with a bit for each function of the
 * pattern, all set at first; a function of the other path makes it
 * (V + (V & M)) | (V & ~M), where M has the bits of the pattern's functions
 * that equal it.  In the end the length is the number of bits that are clear.
 * V at a node of a trie follows from that at its parent, so paths with a common
 * head share the work; and LCS_LANES patterns share one traversal of the trie.
 */
#ifndef _USER_TRAIN_TYPES_LCS_H
#define _USER_TRAIN_TYPES_LCS_H

#include <stdint.h>

#include "train/types/paths.h"

enum {
	LCS_LANES = 8,
};

struct lcs_pattern {
	const uint32_t *functions; /* as the samples number them */
	uint32_t length; /* at most PATHS_MAX_LENGTH */
};

/* Patterns of equal width can share a batch: bits of a lane, 0 if there is no such lane. */
enum lcs_width {
	LCS_WIDTH_16,
	LCS_WIDTH_32,
	LCS_WIDTH_64,
	LCS_WIDTH_MANY,
	LCS_NR_WIDTHS,
};

typedef uint16_t lcs_lanes __attribute__((vector_size(2 * LCS_LANES)));

struct lcs {
	const struct paths *paths;
	lcs_lanes *lengths; /* by path, the result of the last batch */
	void *masks; /* M, by function */
	void *stack; /* V, by depth */
};

/* @paths must outlive it.  Returns 0 or -ENOMEM. */
int lcs_init(struct lcs *lcs, const struct paths *paths);
void lcs_deinit(struct lcs *lcs);

enum lcs_width lcs_width(uint32_t length);

/*
 * Compare @nr patterns, at most LCS_LANES and all of the same width, with the
 * first @nr_paths paths.  Lanes beyond @nr are 0.
 */
void lcs_compare(struct lcs *lcs, const struct lcs_pattern *patterns, uint32_t nr,
		 uint32_t nr_paths);

#endif /* _USER_TRAIN_TYPES_LCS_H */
