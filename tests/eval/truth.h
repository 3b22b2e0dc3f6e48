/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The true types of the units of a trace, by their whole call trees: the type of
 * the tree in a profile; for a tree that training never saw, the type of the tree
 * that is nearest to it by energy distance.
 */
#ifndef _PGUARD_TRUTH_H
#define _PGUARD_TRUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/model.h"
#include "data/samples.h"
#include "data/trace.h"
#include "replay.h"

struct truth_unit {
	size_t end; /* the event it ended with */
	uint32_t tid;
	uint32_t loop; /* of the profile */
	uint32_t tree; /* of the run */
	uint32_t variant; /* of the run, SAMPLES_NONE if unknown */
};

struct truth {
	struct samples run;
	struct truth_unit *units; /* by thread and end; of loops that the profile has */
	size_t nr_units;
	uint64_t nr_foreign; /* units of other loops */
	uint32_t *loop_of; /* the profile's, by loop of the run; SAMPLES_NONE for none */
	uint32_t *tree_of; /* the profile's, by tree of the run; SAMPLES_NONE if unseen */
	bool *is_learnt; /* by tree of the run: in a unit that was learnt from */
	uint32_t *function_of; /* the profile's, by function of the run */
	uint32_t nr_boundaries; /* of the profile's loops that have units here, */
	uint32_t nr_equal; /* and of them, those that the run's loops have, too */
	/* Of unseen trees to the profile's: energy distances, row by row. */
	uint32_t *unseen; /* by tree of the run, its row or SAMPLES_NONE */
	double *distances;
	uint32_t nr_columns; /* trees of the profile */
};

/*
 * @joined are the same samples again; the run is joined to them.  Independent
 * of what was derived from the profile.  Returns 0 or a negative errno.
 */
int truth_find(const struct trace *trace, const struct samples *samples,
	       struct samples *joined, struct truth *ret);
void truth_deinit(struct truth *truth);

/* The types of the run's trees by a model of @samples; SAMPLES_NONE for none. */
void truth_types(const struct truth *truth, const struct samples *samples,
		 const struct model *model, uint32_t *ret);

/*
 * The units that the module reported: @ret, with room for all of the truth's, gets
 * indices into the replay's, SIZE_MAX for none.  Returns 0 or -ENOMEM.
 */
int truth_align(const struct truth *truth, const struct trace *trace,
		const struct replay *replay, size_t *ret);

#endif /* _PGUARD_TRUTH_H */
