/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How the difference of two profiles is shown.
 */
#ifndef _USER_OUT_PROFILE_DIFFERENCE_VIEW_H
#define _USER_OUT_PROFILE_DIFFERENCE_VIEW_H

#include <stdio.h>

#include "data/difference.h"
#include "data/model.h"

/* All lent.  Of a live state @after has the samples and the model of @before. */
struct difference_view {
	struct difference_profile {
		const char *path; /* NULL: what the module counts */
		const struct samples *samples;
		const struct model *model;
		uint64_t timed; /* units */
	} before, after;
	const struct difference *difference;
};

/* For people: what changed, the largest share of the time first. */
int difference_text(FILE *file, const struct difference_view *view);

/*
 * As one JSON object of all types.  Names are those of data/difference.h; fields may be
 * added, not changed.  Both return 0, -ENOMEM or -EIO.
 */
int difference_json(FILE *file, const struct difference_view *view);

#endif /* _USER_OUT_PROFILE_DIFFERENCE_VIEW_H */
