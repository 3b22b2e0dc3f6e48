/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a profile knows, as one JSON object.  Names are those of the structs in
 * data/samples.h, data/model.h and data/training.h; a function or place is given
 * with module, build id and offset.  Fields may be added, not changed.
 */
#ifndef _USER_OUT_PROFILE_PROFILE_JSON_H
#define _USER_OUT_PROFILE_PROFILE_JSON_H

#include <stdbool.h>
#include <stdio.h>

#include "out/profile/profile-view.h"
#include "out/profile/tree.h"

/*
 * With @has_hits every context of the guards; with @tree (or NULL) that tree.
 * Returns 0, -ENOMEM or -EIO.
 */
int profile_json(FILE *file, const struct profile_view *view, bool has_hits,
		 const struct tree *tree);

/* The lines of text that are from the same tables. */
void profile_training_text(FILE *file, const struct profile_view *view);

#endif /* _USER_OUT_PROFILE_PROFILE_JSON_H */
