// SPDX-License-Identifier: GPL-2.0

#include "train/samples/join.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "train/samples/unify.h"

/* By how much the indices of what is appended move. */
struct base {
	uint32_t object;
	uint32_t function;
	uint32_t loop;
	uint32_t node; /* of node 1: node 0 is everybody's */
	uint32_t tree;
	uint32_t guards;
};

static uint32_t moved(uint32_t index, uint32_t base)
{
	return index == SAMPLES_NONE ? SAMPLES_NONE : index + base;
}

static uint32_t moved_node(uint32_t node, uint32_t base)
{
	return node ? node - 1 + base : 0;
}

/* Room for @more elements behind @nr; the new ones are cleared. */
static int grow(void **elements, uint32_t nr, uint32_t more, size_t size)
{
	size_t total = (size_t)nr + more;

	if (total >= SAMPLES_NONE)
		return -E2BIG;
	if (array_reallocate(elements, total + 1, size))
		return -ENOMEM;
	memset((char *)*elements + nr * size, 0, (more + 1) * size);
	return 0;
}

#define GROW(to, from, field) \
	grow((void **)&(to)->field, (to)->nr_##field, (from)->nr_##field, sizeof(*(to)->field))

static int grow_all(struct samples *to, const struct samples *from)
{
	int ret = GROW(to, from, loops);

	ret = ret ?: GROW(to, from, nodes);
	ret = ret ?: GROW(to, from, trees);
	ret = ret ?: GROW(to, from, units);
	ret = ret ?: GROW(to, from, guards);
	ret = ret ?: GROW(to, from, timings);
	return ret ?: GROW(to, from, objectives);
}

static void *copy(const void *from, uint32_t nr, size_t size)
{
	void *to = malloc((nr + 1u) * size);

	if (to && nr)
		memcpy(to, from, nr * size);
	return to;
}

static int append_loops(struct samples *to, const struct samples *from, struct base base)
{
	for (uint32_t i = 0; i < from->nr_loops; i++) {
		struct samples_loop *loop = &to->loops[to->nr_loops++];

		*loop = from->loops[i];
		loop->boundaries = copy(loop->boundaries, loop->nr_boundaries,
					sizeof(*loop->boundaries));
		if (!loop->boundaries)
			return -ENOMEM;
		loop->function = moved(loop->function, base.function);
		for (uint32_t j = 0; j < loop->nr_boundaries; j++) {
			struct samples_boundary *boundary = &loop->boundaries[j];

			if (samples_is_site(boundary))
				boundary->function = moved(boundary->function, base.function);
			else
				boundary->object = moved(boundary->object, base.object);
		}
	}
	return 0;
}

static int append_trees(struct samples *to, const struct samples *from, struct base base)
{
	for (uint32_t i = 1; i < from->nr_nodes; i++) {
		struct samples_node *node = &to->nodes[to->nr_nodes++];

		node->parent = moved_node(from->nodes[i].parent, base.node);
		node->function = from->nodes[i].function + base.function;
	}
	for (uint32_t i = 0; i < from->nr_trees; i++) {
		struct samples_tree *tree = &to->trees[to->nr_trees++];

		*tree = from->trees[i];
		tree->loop += base.loop;
		tree->leaves = copy(tree->leaves, tree->nr_leaves, sizeof(*tree->leaves));
		if (!tree->leaves)
			return -ENOMEM;
		for (uint32_t j = 0; j < tree->nr_leaves; j++)
			tree->leaves[j] = moved_node(tree->leaves[j], base.node);
	}
	return 0;
}

static struct samples_hit *copy_hits(const struct samples_hit *hits, uint32_t nr, uint32_t base)
{
	struct samples_hit *to = copy(hits, nr, sizeof(*hits));

	for (uint32_t i = 0; to && i < nr; i++)
		to[i].function += base;
	return to;
}

static int append_units(struct samples *to, const struct samples *from, struct base base)
{
	for (uint32_t i = 0; i < from->nr_units; i++) {
		struct samples_unit *unit = &to->units[to->nr_units++];

		*unit = from->units[i];
		unit->tree += base.tree;
		unit->hits = copy_hits(unit->hits, unit->nr_hits, base.function);
		if (!unit->hits)
			return -ENOMEM;
	}
	return 0;
}

static int append_timings(struct samples *to, const struct samples *from, struct base base)
{
	for (uint32_t i = 0; i < from->nr_guards; i++) {
		struct samples_guards *guards = &to->guards[to->nr_guards++];

		*guards = from->guards[i];
		guards->functions = copy(guards->functions, guards->nr,
					 sizeof(*guards->functions));
		if (!guards->functions)
			return -ENOMEM;
		for (uint32_t j = 0; j < guards->nr; j++)
			guards->functions[j] += base.function;
	}
	for (uint32_t i = 0; i < from->nr_timings; i++) {
		struct samples_timing *timing = &to->timings[to->nr_timings++];

		*timing = from->timings[i];
		timing->guards += base.guards;
		timing->loop += base.loop;
		timing->hits = copy_hits(timing->hits, timing->nr_hits, base.function);
		if (!timing->hits)
			return -ENOMEM;
	}
	return 0;
}

static void append_objectives(struct samples *to, const struct samples *from)
{
	for (uint32_t i = 0; i < from->nr_objectives; i++)
		to->objectives[to->nr_objectives++] = from->objectives[i];
}

/* Whatever it returns, @to is good for samples_deinit(). */
static int append(struct samples *to, const struct samples *from)
{
	struct base base = {
		.object = to->nr_objects,
		.function = to->nr_functions,
		.loop = to->nr_loops,
		.tree = to->nr_trees,
		.guards = to->nr_guards,
	};
	int ret = grow_all(to, from);

	if (ret)
		return ret;
	if (!to->nr_nodes)
		to->nodes[to->nr_nodes++].function = SAMPLES_NONE;
	base.node = to->nr_nodes;
	ret = samples_copy_code(to, from->objects, from->nr_objects, from->functions,
				from->nr_functions);
	ret = ret ?: append_loops(to, from, base);
	ret = ret ?: append_trees(to, from, base);
	ret = ret ?: append_units(to, from, base);
	ret = ret ?: append_timings(to, from, base);
	append_objectives(to, from);
	to->runs = sum_saturating(to->runs, from->runs);
	to->lost = sum_saturating(to->lost, from->lost);
	return ret;
}

int samples_join(struct samples *into, const struct samples *from)
{
	struct samples all = { 0 };
	int ret;

	if (into->nr_objects && from->nr_objects && 
	    samples_compare_objects(into->objects, from->objects))
		return -EINVAL;
	ret = append(&all, into);
	if (!ret)
		ret = append(&all, from);
	if (!ret)
		ret = samples_unify(&all);
	if (ret) {
		samples_deinit(&all);
		return ret;
	}
	samples_deinit(into);
	*into = all;
	return 0;
}
