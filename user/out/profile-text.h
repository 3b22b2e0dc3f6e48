/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a profile knows, for people.
 */
#ifndef _PGUARD_PROFILE_TEXT_H
#define _PGUARD_PROFILE_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include "profile-view.h"

/*
 * At most @max_types types of each loop (0: all); with @has_hits every guard
 * and its contexts.
 */
void profile_text(FILE *file, const struct profile_view *view, uint32_t max_types, bool has_hits);

#endif /* _PGUARD_PROFILE_TEXT_H */
