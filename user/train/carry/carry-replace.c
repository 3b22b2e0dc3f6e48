// SPDX-License-Identifier: GPL-2.0

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "train/carry/carry-state.h"

/* New numbers of what stays, by the old; SAMPLES_NONE of what goes. */
struct renumbering {
	struct carrying_samples *carrying;
	uint32_t *functions;
	uint32_t *nodes; /* that of its nearest caller that stays, if it goes */
	uint32_t *loops;
	uint32_t *trees;
};

static bool has_hits(const struct renumbering *to, uint32_t function)
{
	return to->carrying->report->functions[function] == CARRY_FOUND;
}

static void move_functions(struct renumbering *to)
{
	struct samples *samples = to->carrying->samples;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < samples->nr_functions; i++) {
		const struct carried_function *of = &to->carrying->functions[i];
		struct samples_function function = samples->functions[i];

		to->functions[i] = SAMPLES_NONE;
		if (!of->site) {
			free(function.name);
			continue;
		}
		function.offset = of->site->offset;
		function.size = of->site->size;
		function.site = of->site->site;
		function.sp_delta = of->site->sp_delta;
		function.cost = of->site->cost;
		to->functions[i] = nr;
		samples->functions[nr++] = function;
	}
	samples->nr_functions = nr;
}

static void move_loops(struct renumbering *to)
{
	struct samples *samples = to->carrying->samples;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < samples->nr_loops; i++) {
		struct samples_loop *loop = &samples->loops[i];

		to->loops[i] = SAMPLES_NONE;
		if (to->carrying->report->loops[i]) {
			free(loop->boundaries);
			continue;
		}
		if (loop->function != SAMPLES_NONE)
			loop->function = to->functions[loop->function];
		for (uint32_t j = 0; j < loop->nr_boundaries; j++)
			if (samples_is_site(&loop->boundaries[j]))
				loop->boundaries[j].function =
					to->functions[loop->boundaries[j].function];
		to->loops[i] = nr;
		samples->loops[nr++] = *loop;
	}
	samples->nr_loops = nr;
}

static void move_nodes(struct renumbering *to)
{
	struct samples *samples = to->carrying->samples;
	uint32_t nr = samples->nr_nodes ? 1 : 0;

	for (uint32_t i = 1; i < samples->nr_nodes; i++) {
		struct samples_node node = samples->nodes[i];
		uint32_t parent = to->nodes[node.parent], function = to->functions[node.function];

		to->nodes[i] = parent;
		if (function == SAMPLES_NONE)
			continue;
		to->nodes[i] = nr;
		samples->nodes[nr++] = (struct samples_node){ parent, function };
	}
	samples->nr_nodes = nr;
}

static bool is_above(const struct samples *samples, uint32_t node, uint32_t below)
{
	while (below > node)
		below = samples->nodes[below].parent;
	return below == node;
}

/* Paths that have become equal are one, and so are those that have become a part of another. */
static void move_leaves(const struct renumbering *to, struct samples_tree *tree)
{
	const struct samples *samples = to->carrying->samples;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < tree->nr_leaves; i++)
		tree->leaves[i] = to->nodes[tree->leaves[i]];
	qsort(tree->leaves, tree->nr_leaves, sizeof(*tree->leaves), order_u32);
	for (uint32_t i = 0; i < tree->nr_leaves; i++) {
		bool is_part = !tree->leaves[i];

		for (uint32_t j = i + 1; j < tree->nr_leaves && !is_part; j++)
			is_part = is_above(samples, tree->leaves[i], tree->leaves[j]);
		if (!is_part)
			tree->leaves[kept++] = tree->leaves[i];
	}
	tree->nr_leaves = kept;
}

static void move_trees(struct renumbering *to)
{
	struct samples *samples = to->carrying->samples;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < samples->nr_trees; i++) {
		struct samples_tree tree = samples->trees[i];

		to->trees[i] = SAMPLES_NONE;
		tree.loop = to->loops[tree.loop];
		if (tree.loop == SAMPLES_NONE) {
			free(tree.leaves);
			continue;
		}
		move_leaves(to, &tree);
		to->trees[i] = nr;
		samples->trees[nr++] = tree;
	}
	samples->nr_trees = nr;
}

/* @loop is the old number. */
static uint32_t move_hits(const struct renumbering *to, uint32_t loop, struct samples_hit *hits,
			  uint32_t nr)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < nr; i++) {
		struct samples_hit hit = hits[i];
		int64_t depth = carry_depth(to->carrying, loop, hit.function, hit.depth);

		if (!has_hits(to, hit.function))
			continue;
		/* Else no type is known to hit it there, in either build. */
		if (depth >= 0)
			hit.depth = (uint32_t)depth;
		hit.function = to->functions[hit.function];
		hits[kept++] = hit;
	}
	return kept;
}

/* Before the trees, by which it is known of which loop a unit is. */
static void move_units(struct renumbering *to)
{
	struct samples *samples = to->carrying->samples;

	for (uint32_t i = 0; i < samples->nr_units; i++) {
		struct samples_unit *unit = &samples->units[i];

		unit->nr_hits = move_hits(to, samples->trees[unit->tree].loop, unit->hits,
					  unit->nr_hits);
	}
}

static void drop_units(struct renumbering *to)
{
	struct samples *samples = to->carrying->samples;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < samples->nr_units; i++) {
		struct samples_unit unit = samples->units[i];

		unit.tree = to->trees[unit.tree];
		if (unit.tree == SAMPLES_NONE)
			free(unit.hits);
		else
			samples->units[nr++] = unit;
	}
	samples->nr_units = nr;
}

static void move_guards(struct renumbering *to)
{
	struct samples *samples = to->carrying->samples;

	for (uint32_t i = 0; i < samples->nr_guards; i++) {
		struct samples_guards *guards = &samples->guards[i];
		uint32_t kept = 0;

		for (uint32_t j = 0; j < guards->nr; j++)
			if (has_hits(to, guards->functions[j]))
				guards->functions[kept++] = to->functions[guards->functions[j]];
		guards->nr = kept;
	}
}

static int by_function_and_depth(const void *left, const void *right)
{
	const struct samples_hit *a = left, *b = right;

	return order_of(a->function, b->function) ?: order_of(a->depth, b->depth);
}

static void move_timings(struct renumbering *to)
{
	struct samples *samples = to->carrying->samples;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < samples->nr_timings; i++) {
		struct samples_timing *timing = &samples->timings[i];

		if (to->loops[timing->loop] == SAMPLES_NONE) {
			free(timing->hits);
			continue;
		}
		timing->nr_hits = move_hits(to, timing->loop, timing->hits, timing->nr_hits);
		qsort(timing->hits, timing->nr_hits, sizeof(*timing->hits), by_function_and_depth);
		timing->loop = to->loops[timing->loop];
		timing->is_carried = true;
		samples->timings[nr++] = *timing;
	}
	samples->nr_timings = nr;
}

int carry_replace(struct carrying_samples *carrying)
{
	const struct samples *samples = carrying->samples;
	struct renumbering to = { .carrying = carrying };
	int error = array_new(to.functions, samples->nr_functions) ?:
		    array_new(to.nodes, samples->nr_nodes) ?:
		    array_new(to.loops, samples->nr_loops) ?: array_new(to.trees, samples->nr_trees);

	if (!error) {
		move_functions(&to);
		move_loops(&to);
		move_nodes(&to);
		move_units(&to);
		move_trees(&to);
		drop_units(&to);
		move_guards(&to);
		move_timings(&to);
	}
	free(to.functions);
	free(to.nodes);
	free(to.loops);
	free(to.trees);
	return error;
}
