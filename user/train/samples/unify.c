// SPDX-License-Identifier: GPL-2.0
/*
 * Each kind of thing in turn, from what the others refer to upwards: rank the
 * elements, turn references to them into ranks, make one of those that are the
 * same.  Fields that are not part of an element's identity are joined by sums,
 * or by taking the smaller: in whatever order that is done, it ends the same.
 */

#include "train/samples/unify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "data/samples.h"
#include "train/samples/rank.h"
#include "train/samples/times.h"

/*
 * Bring elements of @size bytes into the order of @compare, after @move, if
 * there is one, has turned what refers to them into ranks; @merge adds one to the
 * equal one before and frees what it holds.  Returns 0 or -ENOMEM.
 */
static int unify(struct samples *samples, void **elements, uint32_t *nr, size_t size,
		 ranks_compare *compare, void (*merge)(void *into, void *from),
		 void (*move)(struct samples *samples, const uint32_t *rank))
{
	struct ranks ranks;
	int ret = ranks_init(&ranks, *nr, compare, samples);
	char *from = *elements, *to;
	uint32_t done = 0;

	if (ret)
		return ret;
	to = calloc(ranks.nr + 1UL, size);
	for (uint32_t i = 0; i < *nr && to; i++) {
		uint32_t index = ranks.sorted[i], rank = ranks.rank[index];

		if (rank == done)
			memcpy(to + done++ * size, from + index * size, size);
		else
			merge(to + rank * size, from + index * size);
	}
	if (to) {
		if (move)
			move(samples, ranks.rank);
		free(from);
		*elements = to;
		*nr = ranks.nr;
	}
	ranks_deinit(&ranks);
	return to ? 0 : -ENOMEM;
}

#define UNIFY(samples, field, compare, merge, move)                            \
	unify(samples, (void **)&(samples)->field, &(samples)->nr_##field, \
	      sizeof(*(samples)->field), compare, merge, move)

/* Sort, and drop what is there twice; returns how many stay. */
static uint32_t sort_set(uint32_t *members, uint32_t nr)
{
	uint32_t kept = 0;

	qsort(members, nr, sizeof(*members), order_u32);
	for (uint32_t i = 0; i < nr; i++)
		if (!kept || members[i] != members[kept - 1])
			members[kept++] = members[i];
	return kept;
}

static int compare_sets(const uint32_t *a, uint32_t nr_a, const uint32_t *b, uint32_t nr_b)
{
	for (uint32_t i = 0; i < nr_a && i < nr_b; i++)
		if (a[i] != b[i])
			return order_of(a[i], b[i]);
	return order_of(nr_a, nr_b);
}

static int compare_hits(const struct samples_hit *a, uint32_t nr_a, const struct samples_hit *b,
			uint32_t nr_b)
{
	for (uint32_t i = 0; i < nr_a && i < nr_b; i++) {
		int order = order_of(a[i].function, b[i].function) ?:
			    order_of(a[i].depth, b[i].depth) ?:
			    order_of(a[i].count, b[i].count) ?:
			    order_of(a[i].quarter, b[i].quarter);

		if (order)
			return order;
	}
	return order_of(nr_a, nr_b);
}

static void move_hits(struct samples_hit *hits, uint32_t nr, const uint32_t *functions)
{
	for (uint32_t i = 0; i < nr; i++)
		hits[i].function = functions[hits[i].function];
}

/* Objects. */

static int compare_objects(const void *context, uint32_t a, uint32_t b)
{
	const struct samples_object *objects = ((const struct samples *)context)->objects;
	bool is_program_a = !samples_compare_objects(&objects[a], &objects[0]);
	bool is_program_b = !samples_compare_objects(&objects[b], &objects[0]);

	if (is_program_a || is_program_b)
		return order_of(is_program_b, is_program_a);
	return samples_compare_objects(&objects[a], &objects[b]);
}

/* Of one build they should be equal. */
static int compare_code(const struct samples_object *a, const struct samples_object *b)
{
	return order_of(a->code_size, b->code_size) ?: memcmp(a->code, b->code, a->code_size);
}

static void merge_object(void *into, void *from)
{
	struct samples_object *a = into, *b = from;

	if (strcmp(b->path, a->path) < 0) {
		char *path = a->path;

		a->path = b->path;
		b->path = path;
	}
	if (!a->code || (b->code && compare_code(b, a) < 0)) {
		uint8_t *code = a->code;

		a->code = b->code;
		a->code_size = b->code_size;
		b->code = code;
	}
	free(b->path);
	free(b->build_id);
	free(b->code);
}

static void move_objects(struct samples *samples, const uint32_t *rank)
{
	for (uint32_t i = 0; i < samples->nr_functions; i++)
		samples->functions[i].object = rank[samples->functions[i].object];
	for (uint32_t i = 0; i < samples->nr_loops; i++) {
		struct samples_loop *loop = &samples->loops[i];

		for (uint32_t j = 0; j < loop->nr_boundaries; j++)
			if (!samples_is_site(&loop->boundaries[j]))
				loop->boundaries[j].object = rank[loop->boundaries[j].object];
	}
}

/* Functions. */

static int compare_functions(const void *context, uint32_t a, uint32_t b)
{
	const struct samples_function *functions = ((const struct samples *)context)->functions;

	return order_of(functions[a].object, functions[b].object) ?:
	       order_of(functions[a].offset, functions[b].offset);
}

/* Of what a binary's analysis says of one function; it should be equal. */
static int compare_forms(const struct samples_function *a, const struct samples_function *b)
{
	return order_of(a->size, b->size) ?: order_of(a->site, b->site) ?:
	       order_of(a->sp_delta, b->sp_delta) ?:
	       order_of(a->cost & SAMPLES_COST_STEPPED, b->cost & SAMPLES_COST_STEPPED);
}

static void merge_function(void *into, void *from)
{
	struct samples_function *a = into, *b = from;
	char *name = a->name, *other = b->name;
	/* It is known from some recordings alone. */
	uint32_t window = (a->cost | b->cost) & SAMPLES_COST_WINDOW;

	if (compare_forms(b, a) < 0)
		*a = *b;
	a->cost |= window;
	if (!name || (other && strcmp(other, name) < 0)) {
		a->name = other;
		free(name);
	} else {
		a->name = name;
		free(other);
	}
}

static void move_functions(struct samples *samples, const uint32_t *rank)
{
	for (uint32_t i = 0; i < samples->nr_loops; i++) {
		struct samples_loop *loop = &samples->loops[i];

		if (loop->function != SAMPLES_NONE)
			loop->function = rank[loop->function];
		for (uint32_t j = 0; j < loop->nr_boundaries; j++)
			if (samples_is_site(&loop->boundaries[j]))
				loop->boundaries[j].function = rank[loop->boundaries[j].function];
	}
	for (uint32_t i = 1; i < samples->nr_nodes; i++)
		samples->nodes[i].function = rank[samples->nodes[i].function];
	for (uint32_t i = 0; i < samples->nr_units; i++)
		move_hits(samples->units[i].hits, samples->units[i].nr_hits, rank);
	for (uint32_t i = 0; i < samples->nr_timings; i++)
		move_hits(samples->timings[i].hits, samples->timings[i].nr_hits, rank);
	for (uint32_t i = 0; i < samples->nr_guards; i++) {
		struct samples_guards *guards = &samples->guards[i];

		for (uint32_t j = 0; j < guards->nr; j++)
			guards->functions[j] = rank[guards->functions[j]];
		guards->nr = sort_set(guards->functions, guards->nr);
	}
}

/* Trees. */

static int compare_trees(const void *context, uint32_t a, uint32_t b)
{
	const struct samples *samples = context;
	const struct samples_tree *of_a = &samples->trees[a], *of_b = &samples->trees[b];

	return order_of(of_a->loop, of_b->loop) ?: order_of(of_a->hash, of_b->hash) ?:
	       compare_sets(of_a->leaves, of_a->nr_leaves, of_b->leaves, of_b->nr_leaves);
}

static void merge_tree(void *into, void *from)
{
	struct samples_tree *a = into, *b = from;

	a->units[0] = sum_saturating(a->units[0], b->units[0]);
	a->units[1] = sum_saturating(a->units[1], b->units[1]);
	free(b->leaves);
}

static int move_leaves(struct samples *samples)
{
	uint32_t *rank = calloc((size_t)samples->nr_nodes + 1, sizeof(*rank));
	int ret = rank ? samples_unify_paths(samples, rank) : -ENOMEM;

	for (uint32_t i = 0; i < samples->nr_trees && !ret; i++) {
		struct samples_tree *tree = &samples->trees[i];

		for (uint32_t j = 0; j < tree->nr_leaves; j++)
			tree->leaves[j] = rank[tree->leaves[j]];
		tree->nr_leaves = sort_set(tree->leaves, tree->nr_leaves);
	}
	free(rank);
	return ret;
}

static void move_trees(struct samples *samples, const uint32_t *rank)
{
	for (uint32_t i = 0; i < samples->nr_units; i++)
		samples->units[i].tree = rank[samples->units[i].tree];
}

/* Variants of units. */

static int compare_units(const void *context, uint32_t a, uint32_t b)
{
	const struct samples *samples = context;
	const struct samples_unit *of_a = &samples->units[a], *of_b = &samples->units[b];
	uint32_t loop_a = samples->trees[of_a->tree].loop;
	uint32_t loop_b = samples->trees[of_b->tree].loop;

	return order_of(loop_a, loop_b) ?: order_of(of_a->hash, of_b->hash) ?:
	       order_of(of_a->tree, of_b->tree) ?:
	       compare_hits(of_a->hits, of_a->nr_hits, of_b->hits, of_b->nr_hits);
}

static void merge_unit(void *into, void *from)
{
	struct samples_unit *a = into, *b = from;

	a->units[0] = sum_saturating(a->units[0], b->units[0]);
	a->units[1] = sum_saturating(a->units[1], b->units[1]);
	a->least_ns = least_time(a->least_ns, b->least_ns);
	free(b->hits);
}

/* Guard sets. */

static int compare_guards(const void *context, uint32_t a, uint32_t b)
{
	const struct samples *samples = context;
	const struct samples_guards *of_a = &samples->guards[a], *of_b = &samples->guards[b];

	return order_of(of_a->hash, of_b->hash) ?:
	       compare_sets(of_a->functions, of_a->nr, of_b->functions, of_b->nr);
}

static void merge_guards(void *into, void *from)
{
	struct samples_guards *b = from;

	(void)into;
	free(b->functions);
}

static void move_guards(struct samples *samples, const uint32_t *rank)
{
	for (uint32_t i = 0; i < samples->nr_timings; i++)
		samples->timings[i].guards = rank[samples->timings[i].guards];
}

/* Timings. */

static int compare_timings(const void *context, uint32_t a, uint32_t b)
{
	const struct samples *samples = context;
	const struct samples_timing *of_a = &samples->timings[a], *of_b = &samples->timings[b];

	return order_of(of_a->hash, of_b->hash) ?: order_of(of_a->guards, of_b->guards) ?:
	       order_of(of_a->loop, of_b->loop) ?:
	       compare_hits(of_a->hits, of_a->nr_hits, of_b->hits, of_b->nr_hits);
}

static void merge_timing(void *into, void *from)
{
	struct samples_timing *a = into, *b = from;

	a->nr_contexts_hit = sum_saturating(a->nr_contexts_hit, b->nr_contexts_hit);
	a->is_carried = a->is_carried && b->is_carried;
	for (int i = 0; i < 2; i++)
		times_merge_parts(&a->times[i], &b->times[i]);
	free(b->hits);
}

/* Objectives. */

static int compare_objectives(const void *context, uint32_t a, uint32_t b)
{
	const struct samples_objective *of = ((const struct samples *)context)->objectives;

	return order_of(of[a].tree, of[b].tree);
}

/* The stricter one. */
static void merge_objective(void *into, void *from)
{
	struct samples_objective *a = into, *b = from;

	if (b->limit_ns < a->limit_ns)
		a->limit_ns = b->limit_ns;
}

/* A timing's hits are places only. */
static void clear_counts(struct samples *samples)
{
	for (uint32_t i = 0; i < samples->nr_timings; i++) {
		for (uint32_t j = 0; j < samples->timings[i].nr_hits; j++) {
			samples->timings[i].hits[j].count = 0;
			samples->timings[i].hits[j].quarter = 0;
		}
	}
}

int samples_unify(struct samples *samples)
{
	int ret = UNIFY(samples, objects, compare_objects, merge_object, move_objects);

	clear_counts(samples);
	ret = ret ?: UNIFY(samples, functions, compare_functions, merge_function, move_functions);
	ret = ret ?: samples_unify_loops(samples);
	ret = ret ?: move_leaves(samples);
	/* They depend on nothing but what is unified now. */
	ret = ret ?: samples_hash_all(samples);
	ret = ret ?: UNIFY(samples, trees, compare_trees, merge_tree, move_trees);
	ret = ret ?: UNIFY(samples, units, compare_units, merge_unit, NULL);
	ret = ret ?: samples_limit(samples);
	ret = ret ?: UNIFY(samples, guards, compare_guards, merge_guards, move_guards);
	ret = ret ?: UNIFY(samples, timings, compare_timings, merge_timing, NULL);
	return ret ?: UNIFY(samples, objectives, compare_objectives, merge_objective, NULL);
}
