/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Compares the inference of the module with a reference that shares no code with
 * it: at each guard hit the reference adds up the weights of all contexts met,
 * for all types, and takes the best.
 *
 * A unit whose begin was not seen, or in which events were lost, is skipped.
 */
#ifndef _PGUARD_REPLAY_H
#define _PGUARD_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/model.h"
#include "data/samples.h"
#include "data/trace.h"
#include "train/model/loading.h"

#define REPLAY_WHY_MAX 256

/* A unit as the module reported it. */
struct replay_unit {
	size_t index; /* of the event */
	uint32_t loop;
	uint32_t type; /* index into the model, SAMPLES_NONE for none */
	uint32_t paper; /* by the paper's rule, from the same hits */
	uint32_t hits;
	bool is_novel;
	bool is_known; /* from its begin */
	uint64_t elapsed_ns;
	uint64_t check_ns;
};

struct replay {
	struct replay_unit *units; /* by thread and time */
	size_t nr_units;
	size_t max_units;
	uint64_t known_units; /* of them, whose begin was seen */
	uint64_t wrong_units; /* of these, with another type than the reference's */
	uint64_t wrong_novel; /* or another result for whether they fit */
	uint64_t hits; /* that were compared */
	uint64_t wrong_hits; /* with another type */
	uint64_t unknown_hits; /* in a context that the profile does not have */
	uint64_t misplaced_hits; /* whose depth is not that of the function's call */
	uint64_t missed_hits; /* calls of a guarded function, in a unit, without */
	uint64_t losses; /* how often events were lost */
	uint64_t strange; /* invalid events: of no guard, type or loop */
	char why[REPLAY_WHY_MAX]; /* the first thing that is wrong */
};

/*
 * @loading is @model as it was armed, and that was learnt from @samples; the
 * trace is sorted.  Returns 0 or -ENOMEM.
 */
int replay_run(const struct trace *trace, const struct samples *samples,
	       const struct model *model, const struct loading *loading, struct replay *ret);
void replay_deinit(struct replay *replay);

/*
 * The reference by itself: the type of a unit that met the @nr contexts, which
 * are different, by the early or the final scores; SAMPLES_NONE for a loop
 * without types.  *@ret_score is its score.
 */
uint32_t replay_type(const struct model *model, uint32_t loop, const uint32_t *contexts,
		     uint32_t nr, bool is_final, int *ret_score);

/*
 * The same by the paper's rule: each hit, repeated ones too, counts 1 for all
 * types of its context; SAMPLES_NONE if there was none.
 */
uint32_t replay_paper(const struct model *model, uint32_t loop, const uint32_t *contexts,
		      const uint32_t *hits, uint32_t nr);

/* The context's index in the model, SAMPLES_NONE if it has none. */
uint32_t replay_context(const struct model *model, uint32_t loop, uint32_t guard, uint32_t depth);

#endif /* _PGUARD_REPLAY_H */
