/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The training units as a table from which guards are chosen.
 *
 * A row stands for the units of a type, of a loop, that meet the same contexts;
 * with prefixes, for what of these is met in the unit's first quarters.  A
 * column is a function, and a row's feature in it the set of depths at which
 * it is hit.  Of columns that say the same only the cheapest has entries.
 * Sets are compared by 64-bit hashes.
 */
#ifndef _USER_TRAIN_GUARDS_FEATURES_H
#define _USER_TRAIN_GUARDS_FEATURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "train/guards/signature.h"
#include "train/types/types.h"

enum {
	/* A function hit more often in a unit is never a guard. */
	FEATURES_MAX_HITS = 16,
	/*
	 * What a hit counts for where guards may jump, in parts of a breakpoint's: a jump takes 12
	 * instructions and 40 for its context, a breakpoint some 1,000 (see overhead.md).
	 */
	FEATURES_PARTS = 16,
	FEATURES_JUMP_PARTS = 1,
	/* A probe whose instruction is single-stepped counts as so many hits. */
	FEATURES_STEPPED = 8,
	FEATURES_QUARTERS = 4,
};

struct features_column {
	double price; /* mean hits a unit, of all loops; stepped ones count more */
	uint32_t parts; /* of a hit */
	uint32_t most; /* parts in a unit, of either half; 0: there are none */
	size_t first_entry;
	size_t nr_entries;
	size_t first_hit;
	size_t nr_hits;
};

struct features_row {
	uint32_t start; /* loop and prefix: what is known without any guard */
	uint32_t type;
	double share; /* of all units, of the weight of its prefix */
	double level; /* log2 of how long its type's units take: levels.h */
};

/* A row that has a feature in a column; the entries of a feature in sequence. */
struct features_entry {
	uint32_t row;
	uint32_t feature; /* the first row that has it: the same in equal columns */
};

struct features_hit {
	uint32_t unit;
	uint32_t count;
};

struct features {
	const struct signatures *signatures;
	struct features_column *columns; /* by function */
	double *loop_price; /* by function, then loop: mean hits a unit of the loop */
	struct features_row *rows;
	uint32_t nr_rows;
	uint32_t nr_starts;
	uint32_t nr_types;
	struct features_entry *entries;
	size_t nr_entries;
	struct features_hit *hits; /* of either half, by function, then unit */
};

/**
 * struct features_options - what the table is to be of
 * @prefix_share: so much of the weight goes to what is met in the first 25, 50 and 75 % of each
 *	unit, in equal parts; 0: only whole units count
 * @allowed: by function, those that have entries; NULL: all
 * @is_inline: guards jump where their functions have a window
 */
struct features_options {
	double prefix_share;
	const bool *allowed;
	bool is_inline;
};

/* The parts of a hit of a guard in @function. */
uint32_t features_parts(const struct samples_function *function, bool is_inline);

/* What a hit costs, in hits of a breakpoint that is not single-stepped. */
double features_cost(const struct samples_function *function, bool is_inline);

/* @signatures must outlive the result.  Returns 0 or -ENOMEM. */
int features_init(struct features *features, const struct signatures *signatures,
		  const struct types *types, const struct features_options *options);
void features_deinit(struct features *features);

/* True if guards in these functions make no more hits a unit of any loop than @budget has for it. */
bool features_fit(const struct features *features, const double *budget, const uint32_t *functions,
		  uint32_t nr);

#endif /* _USER_TRAIN_GUARDS_FEATURES_H */
