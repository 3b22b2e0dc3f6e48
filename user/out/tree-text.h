/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A type's call tree as lines: calls without a branch stay below each other,
 * each branch is indented.
 */
#ifndef _PGUARD_TREE_TEXT_H
#define _PGUARD_TREE_TEXT_H

#include <stdio.h>

#include "tree.h"

/* Returns 0 or -ENOMEM. */
int tree_text(FILE *file, const struct tree *tree);

#endif /* _PGUARD_TREE_TEXT_H */
