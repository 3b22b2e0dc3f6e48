// SPDX-License-Identifier: GPL-2.0
/*
 * Dominators by Lengauer and Tarjan's algorithm in its simple form.  Nodes are
 * numbered in the order of a depth-first search, and all arrays of struct
 * graph_walk are indexed by that number.
 *
 * Loops by a union-find over it: from the last header to the first, so that an
 * inner loop is a single node when the loop around it is collected.
 */

#include "binary/code/dominators.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct graph_walk {
	const struct graph *graph;
	uint32_t nr; /* reachable nodes */
	uint32_t *number; /* by node, or GRAPH_NONE */
	uint32_t *node; /* by number, as all that follow */
	uint32_t *parent; /* in the walk's tree */
	uint32_t *last; /* the highest number below it in that tree */
	uint32_t *semi;
	uint32_t *idom;
	uint32_t *ancestor;
	uint32_t *label;
	uint32_t *bucket; /* lists of nodes with this semidominator */
	uint32_t *next;
	uint32_t *first_pred; /* nr + 1 */
	uint32_t *preds;
	uint32_t *stack;
	uint32_t *cursor;
	uint32_t *memory; /* holds all of them */
};

static int walk_init(struct graph_walk *walk, const struct graph *graph)
{
	uint32_t **arrays[] = {
		&walk->number, &walk->node, &walk->parent, &walk->last, &walk->semi, &walk->idom,
		&walk->ancestor, &walk->label, &walk->bucket, &walk->next, &walk->first_pred,
		&walk->stack, &walk->cursor,
	};
	size_t nr_arrays = sizeof(arrays) / sizeof(arrays[0]), size = (size_t)graph->nr + 2;

	memset(walk, 0, sizeof(*walk));
	walk->graph = graph;
	walk->memory = malloc((nr_arrays * size + graph->first[graph->nr]) * sizeof(uint32_t));
	if (!walk->memory)
		return -ENOMEM;
	memset(walk->memory, 0xff, nr_arrays * size * sizeof(uint32_t));
	for (size_t i = 0; i < nr_arrays; i++)
		*arrays[i] = walk->memory + i * size;
	walk->preds = walk->memory + nr_arrays * size;
	return 0;
}

static void meet(struct graph_walk *walk, uint32_t node, uint32_t parent)
{
	uint32_t number = walk->nr++;

	walk->number[node] = number;
	walk->node[number] = node;
	walk->parent[number] = parent;
	walk->semi[number] = walk->label[number] = number;
	walk->cursor[number] = walk->graph->first[node];
}

static void number_nodes(struct graph_walk *walk)
{
	uint32_t depth = 0;

	meet(walk, walk->graph->entry, GRAPH_NONE);
	walk->stack[depth++] = 0;
	while (depth) {
		uint32_t at = walk->stack[depth - 1], next;

		if (walk->cursor[at] == walk->graph->first[walk->node[at] + 1]) {
			walk->last[at] = walk->nr - 1;
			depth--;
			continue;
		}
		next = walk->graph->successors[walk->cursor[at]++];
		if (walk->number[next] != GRAPH_NONE)
			continue;
		meet(walk, next, at);
		walk->stack[depth++] = walk->nr - 1;
	}
}

static void list_predecessors(struct graph_walk *walk)
{
	const struct graph *graph = walk->graph;
	uint32_t sum = 0;

	memset(walk->first_pred, 0, ((size_t)graph->nr + 2) * sizeof(uint32_t));
	for (uint32_t i = 0; i < walk->nr; i++)
		for (uint32_t k = graph->first[walk->node[i]]; k < graph->first[walk->node[i] + 1];
		     k++)
			walk->first_pred[walk->number[graph->successors[k]]]++;
	for (uint32_t i = 0; i <= walk->nr; i++) {
		sum += walk->first_pred[i];
		walk->first_pred[i] = sum; /* the end; filled from there */
	}
	for (uint32_t i = walk->nr; i-- > 0;)
		for (uint32_t k = graph->first[walk->node[i]]; k < graph->first[walk->node[i] + 1];
		     k++)
			walk->preds[--walk->first_pred[walk->number[graph->successors[k]]]] = i;
}

/* Path compression, without recursion, whose depth would be unbounded. */
static void compress(struct graph_walk *walk, uint32_t at)
{
	uint32_t depth = 0;

	while (walk->ancestor[walk->ancestor[at]] != GRAPH_NONE) {
		walk->stack[depth++] = at;
		at = walk->ancestor[at];
	}
	while (depth) {
		uint32_t above;

		at = walk->stack[--depth];
		above = walk->ancestor[at];
		if (walk->semi[walk->label[above]] < walk->semi[walk->label[at]])
			walk->label[at] = walk->label[above];
		walk->ancestor[at] = walk->ancestor[above];
	}
}

static uint32_t evaluate(struct graph_walk *walk, uint32_t at)
{
	if (walk->ancestor[at] == GRAPH_NONE)
		return at;
	compress(walk, at);
	return walk->label[at];
}

static void find_dominators(struct graph_walk *walk)
{
	for (uint32_t at = walk->nr; at-- > 1;) {
		uint32_t parent = walk->parent[at], next;

		for (uint32_t k = walk->first_pred[at]; k < walk->first_pred[at + 1]; k++) {
			uint32_t best = evaluate(walk, walk->preds[k]);

			if (walk->semi[best] < walk->semi[at])
				walk->semi[at] = walk->semi[best];
		}
		walk->next[at] = walk->bucket[walk->semi[at]];
		walk->bucket[walk->semi[at]] = at;
		walk->ancestor[at] = parent;
		for (uint32_t v = walk->bucket[parent]; v != GRAPH_NONE; v = next) {
			uint32_t best = evaluate(walk, v);

			next = walk->next[v];
			walk->idom[v] = walk->semi[best] < walk->semi[v] ? best : parent;
		}
		walk->bucket[parent] = GRAPH_NONE;
	}
	for (uint32_t at = 1; at < walk->nr; at++)
		if (walk->idom[at] != walk->semi[at])
			walk->idom[at] = walk->idom[walk->idom[at]];
}

/* Times at which a walk of the dominator tree enters a node and leaves its subtree. */
struct tree_intervals {
	uint32_t *enter; /* by number */
	uint32_t *leave;
};

static void find_intervals(struct graph_walk *walk, struct tree_intervals *ret)
{
	uint32_t clock = 0, depth = 0;

	ret->enter = walk->semi; /* no longer used */
	ret->leave = walk->label;
	memset(walk->bucket, 0xff, walk->nr * sizeof(uint32_t));
	for (uint32_t at = walk->nr; at-- > 1;) { /* lists of children */
		walk->next[at] = walk->bucket[walk->idom[at]];
		walk->bucket[walk->idom[at]] = at;
	}
	walk->stack[depth++] = 0;
	ret->enter[0] = clock++;
	while (depth) {
		uint32_t at = walk->stack[depth - 1], child = walk->bucket[at];

		if (child == GRAPH_NONE) {
			ret->leave[at] = clock;
			depth--;
			continue;
		}
		walk->bucket[at] = walk->next[child];
		walk->stack[depth++] = child;
		ret->enter[child] = clock++;
	}
}

static bool dominates(const struct tree_intervals *intervals, uint32_t above, uint32_t at)
{
	return intervals->enter[above] <= intervals->enter[at] &&
	       intervals->enter[at] < intervals->leave[above];
}

/* The header of the outermost loop found so far around @at, or @at. */
static uint32_t find_head(uint32_t *heads, uint32_t at)
{
	while (heads[at] != at) {
		heads[at] = heads[heads[at]];
		at = heads[at];
	}
	return at;
}

/* Add the loop of @header: all nodes that reach it again without passing it. */
static void collect_loop(struct graph_walk *walk, const struct tree_intervals *intervals,
			 uint32_t header, struct dominators *ret)
{
	uint32_t *heads = walk->ancestor, *queue = walk->stack, nr = 0, loop = ret->nr_loops;
	bool is_loop = false;

	for (uint32_t k = walk->first_pred[header]; k < walk->first_pred[header + 1]; k++) {
		uint32_t pred = walk->preds[k];

		if (!dominates(intervals, header, pred))
			continue;
		is_loop = true;
		pred = find_head(heads, pred);
		if (pred != header) {
			heads[pred] = header;
			queue[nr++] = pred;
		}
	}
	if (!is_loop)
		return;
	ret->nr_loops++;
	ret->header[loop] = walk->node[header];
	ret->outer[loop] = GRAPH_NONE;
	ret->loop[walk->node[header]] = loop;
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t node = walk->node[queue[i]], inner = ret->loop[node];

		if (inner == GRAPH_NONE)
			ret->loop[node] = loop;
		else
			ret->outer[inner] = loop;
		for (uint32_t k = walk->first_pred[queue[i]]; k < walk->first_pred[queue[i] + 1];
		     k++) {
			uint32_t pred = find_head(heads, walk->preds[k]);

			if (pred == header)
				continue;
			heads[pred] = header;
			queue[nr++] = pred;
		}
	}
}

static void find_loops(struct graph_walk *walk, struct dominators *ret)
{
	struct tree_intervals intervals;

	find_intervals(walk, &intervals);
	for (uint32_t at = 0; at < walk->nr; at++)
		walk->ancestor[at] = at;
	for (uint32_t at = walk->nr; at-- > 0;)
		collect_loop(walk, &intervals, at, ret);
}

int dominators_init(struct dominators *dominators, const struct graph *graph)
{
	size_t size = graph->nr ? graph->nr : 1;
	struct graph_walk walk;
	int err;

	memset(dominators, 0, sizeof(*dominators));
	dominators->parent = malloc(size * sizeof(uint32_t));
	dominators->loop = malloc(size * sizeof(uint32_t));
	dominators->header = malloc(size * sizeof(uint32_t));
	dominators->outer = malloc(size * sizeof(uint32_t));
	err = walk_init(&walk, graph);
	if (err || !dominators->parent || !dominators->loop || !dominators->header ||
	    !dominators->outer) {
		free(walk.memory);
		dominators_deinit(dominators);
		return -ENOMEM;
	}
	memset(dominators->parent, 0xff, size * sizeof(uint32_t));
	memset(dominators->loop, 0xff, size * sizeof(uint32_t));
	if (graph->entry < graph->nr) {
		number_nodes(&walk);
		list_predecessors(&walk);
		find_dominators(&walk);
		for (uint32_t at = 1; at < walk.nr; at++)
			dominators->parent[walk.node[at]] = walk.node[walk.idom[at]];
		find_loops(&walk, dominators);
	}
	free(walk.memory);
	return 0;
}

void dominators_deinit(struct dominators *dominators)
{
	free(dominators->parent);
	free(dominators->loop);
	free(dominators->header);
	free(dominators->outer);
	memset(dominators, 0, sizeof(*dominators));
}
