// SPDX-License-Identifier: GPL-2.0
/*
 * Dominators by Lengauer and Tarjan's algorithm in its simple form.  Nodes are
 * numbered in the order of a depth-first search, and all arrays of struct
 * graph_search are indexed by that number.
 *
 * Loops by a union-find in the same pass: from the last header to the first, so
 * that an inner loop is a single node when the loop around it is collected.
 */

#include "binary/code/dominators.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/union-find.h"

struct graph_search {
	const struct graph *graph;
	uint32_t nr; /* reachable nodes */
	uint32_t *number; /* by node, or GRAPH_NONE */
	uint32_t *node; /* by number, as all that follow */
	uint32_t *parent; /* in the search's tree */
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
	uint32_t *cursor; /* next successor; then the queue of a loop's nodes */
	uint32_t *heads; /* union-find: header of the outermost loop found so far around it */
	uint32_t *memory; /* holds all of them */
};

static int search_init(struct graph_search *search, const struct graph *graph)
{
	uint32_t **arrays[] = {
		&search->number, &search->node, &search->parent, &search->last, &search->semi, &search->idom,
		&search->ancestor, &search->label, &search->bucket, &search->next, &search->first_pred,
		&search->stack, &search->cursor, &search->heads,
	};
	size_t nr_arrays = sizeof(arrays) / sizeof(arrays[0]), size = (size_t)graph->nr + 2;

	memset(search, 0, sizeof(*search));
	search->graph = graph;
	search->memory = malloc((nr_arrays * size + graph->first[graph->nr]) * sizeof(uint32_t));
	if (!search->memory)
		return -ENOMEM;
	memset(search->memory, 0xff, nr_arrays * size * sizeof(uint32_t));
	for (size_t i = 0; i < nr_arrays; i++)
		*arrays[i] = search->memory + i * size;
	search->preds = search->memory + nr_arrays * size;
	return 0;
}

static void meet(struct graph_search *search, uint32_t node, uint32_t parent)
{
	uint32_t number = search->nr++;

	search->number[node] = number;
	search->node[number] = node;
	search->parent[number] = parent;
	search->semi[number] = search->label[number] = number;
	search->cursor[number] = search->graph->first[node];
	search->heads[number] = number;
}

static void number_nodes(struct graph_search *search)
{
	uint32_t depth = 0;

	meet(search, search->graph->entry, GRAPH_NONE);
	search->stack[depth++] = 0;
	while (depth) {
		uint32_t at = search->stack[depth - 1], next;

		if (search->cursor[at] == search->graph->first[search->node[at] + 1]) {
			search->last[at] = search->nr - 1;
			depth--;
			continue;
		}
		next = search->graph->successors[search->cursor[at]++];
		if (search->number[next] != GRAPH_NONE)
			continue;
		meet(search, next, at);
		search->stack[depth++] = search->nr - 1;
	}
}

static void list_predecessors(struct graph_search *search)
{
	const struct graph *graph = search->graph;
	uint32_t sum = 0;

	memset(search->first_pred, 0, ((size_t)graph->nr + 2) * sizeof(uint32_t));
	for (uint32_t i = 0; i < search->nr; i++)
		for (uint32_t k = graph->first[search->node[i]]; k < graph->first[search->node[i] + 1];
		     k++)
			search->first_pred[search->number[graph->successors[k]]]++;
	for (uint32_t i = 0; i <= search->nr; i++) {
		sum += search->first_pred[i];
		search->first_pred[i] = sum; /* the end; filled from there */
	}
	for (uint32_t i = search->nr; i-- > 0;)
		for (uint32_t k = graph->first[search->node[i]]; k < graph->first[search->node[i] + 1];
		     k++)
			search->preds[--search->first_pred[search->number[graph->successors[k]]]] = i;
}

/* Path compression, without recursion, whose depth would be unbounded. */
static void compress(struct graph_search *search, uint32_t at)
{
	uint32_t depth = 0;

	while (search->ancestor[search->ancestor[at]] != GRAPH_NONE) {
		search->stack[depth++] = at;
		at = search->ancestor[at];
	}
	while (depth) {
		uint32_t above;

		at = search->stack[--depth];
		above = search->ancestor[at];
		if (search->semi[search->label[above]] < search->semi[search->label[at]])
			search->label[at] = search->label[above];
		search->ancestor[at] = search->ancestor[above];
	}
}

static uint32_t evaluate(struct graph_search *search, uint32_t at)
{
	if (search->ancestor[at] == GRAPH_NONE)
		return at;
	compress(search, at);
	return search->label[at];
}

/*
 * True if @header dominates its predecessor @pred, once all that follow @header
 * are linked: no path leads from before it to a node on the way from it to @pred.
 */
static bool closes_loop(struct graph_search *search, uint32_t header, uint32_t pred)
{
	if (pred <= header || pred > search->last[header])
		return pred == header;
	return search->semi[evaluate(search, pred)] >= header;
}

/* Put the predecessors of @at that are not in the loop of @header yet into it. */
static uint32_t queue_preds(struct graph_search *search, uint32_t at, uint32_t header, uint32_t nr)
{
	for (uint32_t k = search->first_pred[at]; k < search->first_pred[at + 1]; k++) {
		uint32_t pred = union_find(search->heads, search->preds[k]);

		if (pred == header || (at == header && !closes_loop(search, at, search->preds[k])))
			continue;
		search->heads[pred] = header;
		search->cursor[nr++] = pred;
	}
	return nr;
}

/* Add the loop of @header: all nodes that reach it again without passing it. */
static void collect_loop(struct graph_search *search, uint32_t header, struct dominators *ret)
{
	uint32_t nr, loop = ret->nr_loops;
	bool is_loop = false;

	for (uint32_t k = search->first_pred[header]; k < search->first_pred[header + 1]; k++)
		is_loop = is_loop || closes_loop(search, header, search->preds[k]);
	if (!is_loop)
		return;
	ret->nr_loops++;
	ret->header[loop] = search->node[header];
	ret->outer[loop] = GRAPH_NONE;
	ret->loop[search->node[header]] = loop;
	nr = queue_preds(search, header, header, 0);
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t node = search->node[search->cursor[i]], inner = ret->loop[node];

		if (inner == GRAPH_NONE)
			ret->loop[node] = loop;
		else
			ret->outer[inner] = loop;
		nr = queue_preds(search, search->cursor[i], header, nr);
	}
}

static void find_dominators(struct graph_search *search, struct dominators *ret)
{
	for (uint32_t at = search->nr; at-- > 1;) {
		uint32_t parent = search->parent[at], next;

		collect_loop(search, at, ret);
		for (uint32_t k = search->first_pred[at]; k < search->first_pred[at + 1]; k++) {
			uint32_t best = evaluate(search, search->preds[k]);

			if (search->semi[best] < search->semi[at])
				search->semi[at] = search->semi[best];
		}
		search->next[at] = search->bucket[search->semi[at]];
		search->bucket[search->semi[at]] = at;
		search->ancestor[at] = parent;
		for (uint32_t v = search->bucket[parent]; v != GRAPH_NONE; v = next) {
			uint32_t best = evaluate(search, v);

			next = search->next[v];
			search->idom[v] = search->semi[best] < search->semi[v] ? best : parent;
		}
		search->bucket[parent] = GRAPH_NONE;
	}
	collect_loop(search, 0, ret);
	for (uint32_t at = 1; at < search->nr; at++) {
		if (search->idom[at] != search->semi[at])
			search->idom[at] = search->idom[search->idom[at]];
		ret->parent[search->node[at]] = search->node[search->idom[at]];
	}
}

int dominators_init(struct dominators *dominators, const struct graph *graph)
{
	size_t size = graph->nr ? graph->nr : 1;
	struct graph_search search;
	int err;

	memset(dominators, 0, sizeof(*dominators));
	dominators->parent = malloc(size * sizeof(uint32_t));
	dominators->loop = malloc(size * sizeof(uint32_t));
	dominators->header = malloc(size * sizeof(uint32_t));
	dominators->outer = malloc(size * sizeof(uint32_t));
	err = search_init(&search, graph);
	if (err || !dominators->parent || !dominators->loop || !dominators->header ||
	    !dominators->outer) {
		free(search.memory);
		dominators_deinit(dominators);
		return -ENOMEM;
	}
	memset(dominators->parent, 0xff, size * sizeof(uint32_t));
	memset(dominators->loop, 0xff, size * sizeof(uint32_t));
	if (graph->entry < graph->nr) {
		number_nodes(&search);
		list_predecessors(&search);
		find_dominators(&search, dominators);
	}
	free(search.memory);
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
