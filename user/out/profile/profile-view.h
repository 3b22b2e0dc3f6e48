/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A profile as it is shown: in which order, what share, what identifies a type.
 * Everything lent must outlive it.
 */
#ifndef _USER_OUT_PROFILE_PROFILE_VIEW_H
#define _USER_OUT_PROFILE_PROFILE_VIEW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "data/model.h"
#include "data/samples.h"
#include "data/training.h"

struct json;
struct tree;

enum {
	PROFILE_MAX_IDENTIFYING = 3,
};

/* A context that speaks for a type more than for any other. */
struct profile_identifying {
	uint32_t context;
	uint32_t lead; /* its weight less that of the next type, at the unit's end */
};

struct profile_view {
	const char *path; /* of the profile */
	const struct samples *samples;
	const struct model *model;
	const struct training *training;
	uint32_t *loops; /* by units, falling */
	uint32_t *types; /* by time, falling; then by units, rising id */
	uint32_t *guards; /* by hits, falling */
	uint32_t *object_functions; /* by object: how many */
	struct profile_identifying *identifying; /* of each type the best few; lead 0: none */
	uint8_t *is_guard; /* by function */
	uint32_t *loop_trees; /* by loop: how many */
	uint32_t *loop_variants;
	const double *novel; /* by loop: share of units held back that fit no type, or NULL */
	uint64_t units; /* of the types of all loops */
	uint64_t time_ns; /* of their timed units */
};

/* Returns 0 or -ENOMEM.  @novel is the caller's to set afterwards. */
int profile_view_init(struct profile_view *view, const char *path, const struct samples *samples,
		      const struct model *model, const struct training *training);
void profile_view_deinit(struct profile_view *view);

/* Of the times; 0 if there are none. */
double profile_mean_ns(const struct samples_times *times);
/* Half of them are at most so long. */
uint64_t profile_median_ns(const struct samples_times *times);
/* Standard deviation by mean. */
double profile_deviation(const struct samples_times *times);

/* By enum samples_part, for people. */
extern const char *const profile_part_names[SAMPLES_NR_PARTS];
/* "half were in units for", of parts of requests but all, at the begin of a line. */
extern const char *const profile_request_names[REQUEST_NR_PARTS];

/* By enum model_confidence. */
extern const char *const profile_confidence_names[MODEL_CONFIDENCE_FULL + 1];

/* The files an address is shown as in: "name" or "module+0xoffset". */
#define PROFILE_LABEL_MAX 160
char *profile_function_label(const struct samples *samples, uint32_t function, size_t max,
			     char label[PROFILE_LABEL_MAX]);

/* As an object with module, build id, offset and name; null for SAMPLES_NONE. */
void profile_put_function(struct json *json, const char *key, const struct samples *samples,
			  uint32_t function);

/*
 * For people: at most @max_types types of each loop (0: all); with @has_hits
 * every guard and its contexts.
 */
void profile_text(FILE *file, const struct profile_view *view, uint32_t max_types, bool has_hits);
/* The lines of it that are from the same tables as the JSON. */
void profile_training_text(FILE *file, const struct profile_view *view);

/*
 * As one JSON object.  Names are those of the structs in data/samples.h,
 * data/model.h and data/training.h; a function or a place in the code is given
 * with module, build id and offset.  Fields may be added, not changed.
 *
 * With @has_hits every context of the guards; with @tree (or NULL) that tree.
 * Returns 0, -ENOMEM or -EIO.
 */
int profile_json(FILE *file, const struct profile_view *view, bool has_hits,
		 const struct tree *tree);

#endif /* _USER_OUT_PROFILE_PROFILE_VIEW_H */
