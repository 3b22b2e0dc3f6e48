/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A type's call tree as a graph, from left to right, for Graphviz.
 */
#ifndef _USER_OUT_PROFILE_TREE_DOT_H
#define _USER_OUT_PROFILE_TREE_DOT_H

#include <stdio.h>

#include "out/profile/tree.h"

void tree_dot(FILE *file, const struct tree *tree);

#endif /* _USER_OUT_PROFILE_TREE_DOT_H */
