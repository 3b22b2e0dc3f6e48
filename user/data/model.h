/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is derived from samples: the types of a program's units, the guards
 * that distinguish them, and from when on a unit of a type is late.
 *
 * Plain data; functions, loops and trees are indices into the samples that the
 * model was made from.
 */
#ifndef _USER_DATA_MODEL_H
#define _USER_DATA_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "data/samples.h"

/* How sure limits are. */
enum model_confidence {
	MODEL_CONFIDENCE_NONE, /* no unit of the type was timed: the loop's largest */
	MODEL_CONFIDENCE_FEW, /* too few units, and no shape fits: twice the largest */
	MODEL_CONFIDENCE_FIT, /* few units, and the shape that the loop's types have in common */
	MODEL_CONFIDENCE_FULL, /* enough units for the declared rate */
};

struct model_type {
	uint32_t id; /* in the profile, from 1, over all loops */
	uint32_t loop;
	uint32_t example; /* a tree: that with the most units */
	uint64_t units; /* of the structure runs */
	uint32_t nr_trees;
	uint32_t nr_merged; /* clusters that the guards cannot distinguish, from 1 */
	int16_t base_early; /* start scores of rule W, see perfguard/infer.h */
	int16_t base_final;
	bool is_carried; /* its limits are of another build, and not confirmed by this one */
	double accuracy; /* share of its held-back units that are recognised */
	double paths; /* mean leaf paths of its units' trees */
	double functions; /* mean distinct functions of its units */
	struct samples_times times; /* own times of units inferred as this type, timing runs */
	double mean_ns[SAMPLES_NR_PARTS]; /* of each part */
	uint64_t limit_ns[SAMPLES_NR_PARTS]; /* 0: none */
	uint64_t added_ns[SAMPLES_NR_CAUSES]; /* more for own and CPU time of a unit with it */
	uint64_t novel_ns; /* limit of own time for units of its loop that may be of no type */
	struct samples_times requests[REQUEST_NR_PARTS]; /* that its units have read, by part */
	uint64_t request_ns[REQUEST_NR_PARTS]; /* limits of those; 0: none */
	uint64_t objective_ns; /* limit of all of its time that people have set; 0: none */
	enum model_confidence confidence;
	uint64_t units_needed; /* more timed units for full confidence */
	double false_alarms; /* share of units beyond one of them that is expected */
	double held_back_alarms; /* share of those held back, by limits of the others */
	uint64_t held_back_units;
};

/* A function that carries a guard. */
struct model_guard {
	uint32_t function;
	double hits; /* expected per unit, over all loops */
	uint32_t most_hits; /* in one unit */
	double cost_ns; /* expected per unit */
};

/* A context: a guard hit at a depth, in units of a loop. */
struct model_context {
	uint32_t loop;
	uint32_t guard;
	uint32_t depth;
	uint32_t first_weight;
	uint32_t nr_weights;
};

struct model_weight {
	uint32_t type; /* index into types */
	uint8_t early;
	uint8_t final;
};

/* What to expect of the guards of a loop, on held-back units. */
struct model_prediction {
	uint32_t loop;
	double budget; /* hits a unit, planned; 0: none were */
	uint32_t nr_guards;
	double accuracy_end; /* share of units whose type is right at their end */
	double accuracy_half; /* after half of their events */
	double accuracy_unmerged; /* at the end, if no types had been merged */
	double threshold_right; /* the inferred type's within 0.8 to 1.25 of the true one's */
	double hits; /* mean a unit */
	uint32_t worst; /* hits of the worst unit */
	double unseen; /* share of units whose call tree training never saw */
	uint64_t units; /* held back */
};

struct model {
	struct model_type *types;
	struct model_guard *guards;
	struct model_context *contexts;
	struct model_weight *weights;
	struct model_prediction *predictions; /* one a loop, of the guards chosen */
	uint32_t *type_of_tree; /* index into types by tree, or SAMPLES_NONE */
	uint32_t nr_types;
	uint32_t nr_guards;
	uint32_t nr_contexts;
	uint32_t nr_weights;
	uint32_t nr_predictions;
	uint32_t nr_trees; /* length of type_of_tree */
	double budget; /* share of time, e.g. 0.02; 0: a number of guards was wanted */
	double false_alarm_rate; /* declared, per unit */
	double cut; /* height at which the clustering was cut */
	char distance[16]; /* "energy" or "paper" */
	char select[16]; /* "information" or "paper" */
	bool is_inline; /* guards were chosen by what hits cost where they jump */
	char threshold_rule[32]; /* "rate:0.001" or "sigma:4" */
};

/*
 * The number of the guard in each of @nr_functions functions, or SAMPLES_NONE;
 * to be freed.  NULL without memory.
 */
uint32_t *model_guard_of(const struct model *model, uint32_t nr_functions);

/* Index of the type with this number; SAMPLES_NONE if there is none. */
uint32_t model_find_type(const struct model *model, uint32_t id);

void model_deinit(struct model *model);

#endif /* _USER_DATA_MODEL_H */
