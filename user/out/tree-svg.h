/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A type's call tree as a picture, from left to right: a box is a chain of
 * calls, a line leads to each place where it branches.
 */
#ifndef _PGUARD_TREE_SVG_H
#define _PGUARD_TREE_SVG_H

#include <stdio.h>

#include "tree.h"

/* Returns 0 or -ENOMEM. */
int tree_svg(FILE *file, const struct tree *tree);

#endif /* _PGUARD_TREE_SVG_H */
