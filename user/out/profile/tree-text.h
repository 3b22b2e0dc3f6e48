/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A type's call tree as lines: calls without a branch stay below each other,
 * each branch is indented.
 */
#ifndef _USER_OUT_PROFILE_TREE_TEXT_H
#define _USER_OUT_PROFILE_TREE_TEXT_H

#include <stdio.h>

#include "out/profile/tree.h"

/* Returns 0 or -ENOMEM. */
int tree_text(FILE *file, const struct tree *tree);

#endif /* _USER_OUT_PROFILE_TREE_TEXT_H */
