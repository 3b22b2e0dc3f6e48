/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Dominators and natural loops of a directed graph, in nearly linear
 * time for any graph.
 */
#ifndef _USER_BINARY_CODE_DOMINATORS_H
#define _USER_BINARY_CODE_DOMINATORS_H

#include <stdbool.h>
#include <stdint.h>

enum {
	GRAPH_NONE = UINT32_MAX,
};

struct graph {
	uint32_t nr;
	uint32_t entry; /* node; GRAPH_NONE: nothing is reachable */
	const uint32_t *first; /* nr + 1: node N's successors are first[N] to first[N + 1] */
	const uint32_t *successors;
};

struct dominators {
	uint32_t *parent; /* immediate dominator by node, or GRAPH_NONE */
	uint32_t *loop; /* innermost loop by node, or GRAPH_NONE */
	uint32_t *header; /* node by loop; a loop's header dominates the loop */
	uint32_t *outer; /* by loop: the loop around it, or GRAPH_NONE */
	uint32_t nr_loops; /* inner ones first; loops with one header are one */
};

/* Returns 0 or -ENOMEM. */
int dominators_init(struct dominators *dominators, const struct graph *graph);
void dominators_deinit(struct dominators *dominators);

#endif /* _USER_BINARY_CODE_DOMINATORS_H */
