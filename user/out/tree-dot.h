/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A type's call tree as a graph, from left to right, for Graphviz.
 */
#ifndef _PGUARD_TREE_DOT_H
#define _PGUARD_TREE_DOT_H

#include <stdio.h>

#include "tree.h"

void tree_dot(FILE *file, const struct tree *tree);

#endif /* _PGUARD_TREE_DOT_H */
