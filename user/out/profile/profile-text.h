/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a profile knows, for people.
 */
#ifndef _USER_OUT_PROFILE_PROFILE_TEXT_H
#define _USER_OUT_PROFILE_PROFILE_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include "out/profile/profile-view.h"

/*
 * At most @max_types types of each loop (0: all); with @has_hits every guard
 * and its contexts.
 */
void profile_text(FILE *file, const struct profile_view *view, uint32_t max_types, bool has_hits);

#endif /* _USER_OUT_PROFILE_PROFILE_TEXT_H */
