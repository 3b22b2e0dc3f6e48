/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A type's call tree as a picture, from left to right: a box is a chain of
 * calls, a line leads to each place where it branches.
 */
#ifndef _USER_OUT_PROFILE_TREE_SVG_H
#define _USER_OUT_PROFILE_TREE_SVG_H

#include <stdio.h>

#include "out/profile/tree.h"

/* Returns 0 or -ENOMEM. */
int tree_svg(FILE *file, const struct tree *tree);

#endif /* _USER_OUT_PROFILE_TREE_SVG_H */
