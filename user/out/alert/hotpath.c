// SPDX-License-Identifier: GPL-2.0

#include "out/alert/hotpath.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/base-name.h"
#include "base/hash-index.h"

enum {
	MAX_PERIOD = 8, /* functions of a recursion */
	NO_NODE = UINT32_MAX,
};

/*
 * With more than half of the time, a callee is the only one of its caller's that
 * has so much.  Further in, chance chooses: a dozen stacks hardly distinguish
 * places that have a third each.  Nor do they show if it is just half, which
 * in long chains of calls is where a path would end now here and now there.
 */
#define STEP_SHARE 0.6
/* Of so much of its own, a function is where the time goes; else see who called. */
#define OWN_SHARE 0.6
#define FOCUS_SHARE 0.9

/* A node of the calling-context tree; node 0 is the root, which is no function. */
struct hotpath_node {
	uint32_t parent;
	uint32_t function; /* index into hotpath.functions */
	uint32_t first_child;
	uint32_t next; /* sibling, in the order in which they were first seen */
	uint32_t nr_calls;
	uint64_t ns;
};

struct hotpath_tree {
	struct hotpath_node *nodes;
	uint32_t nr;
	uint32_t max;
};

/* A stack as functions, outermost first, recursions kept once. */
struct path {
	uint32_t *functions;
	uint32_t *nr_calls;
	uint32_t nr;
};

struct hotpath_place hotpath_place(const struct frame *frame)
{
	struct hotpath_place place = {
		.module = frame->module,
		.build_id = frame->build_id,
		.offset = frame->module ? frame->offset : frame->pc,
		.function = frame->function,
	};

	/* Nothing shows where functions of code made at run time begin. */
	if (!frame->module && frame->region)
		place.offset = frame->region;
	if (frame->start && frame->start <= frame->pc)
		place.offset -= frame->pc - frame->start;
	return place;
}

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool is_same_place(const struct hotpath_place *a, const struct hotpath_place *b)
{
	if (a->offset != b->offset || !a->module != !b->module)
		return false;
	if (a->build_id && b->build_id)
		return is_same_text(a->build_id, b->build_id);
	return is_same_text(a->module, b->module);
}

bool hotpath_is_system(const char *module)
{
	static const char *const names[] = {
		"libc.", "libc-", "libpthread.", "libpthread-", "ld-", "[vdso]", "linux-vdso",
		"libm.", "libm-", "librt.", "librt-", "libstdc++.", "libgcc_s.", "libjemalloc.",
		"libtcmalloc", "libmimalloc",
	};
	const char *base;

	if (!module)
		return false;
	base = base_name(module);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(base, names[i], strlen(names[i])))
			return true;
	return false;
}

/* There are some hundreds at most. */
static uint32_t find_function(struct hotpath *hotpath, const struct frame *frame)
{
	struct hotpath_place place = hotpath_place(frame);

	for (uint32_t i = 0; i < hotpath->nr_functions; i++)
		if (is_same_place(&hotpath->functions[i].place, &place))
			return i;
	hotpath->functions[hotpath->nr_functions].place = place;
	return hotpath->nr_functions++;
}

/* Returns true if the last @period functions repeat those before them. */
static bool is_repeat(const struct path *path, uint32_t period)
{
	const uint32_t *end = path->functions + path->nr;

	return path->nr >= 2 * period &&
	       !memcmp(end - period, end - 2 * period, period * sizeof(*end));
}

static void fold_repeat(struct path *path, uint32_t period)
{
	path->nr -= period;
	for (uint32_t i = path->nr - period; i < path->nr; i++)
		path->nr_calls[i] += path->nr_calls[i + period];
}

static void path_set(struct path *path, struct hotpath *hotpath,
		     const struct hotpath_stack *stack)
{
	path->nr = 0;
	for (uint32_t i = stack->nr_frames; i--;) {
		path->functions[path->nr] = find_function(hotpath, &stack->frames[i]);
		path->nr_calls[path->nr++] = 1;
		for (uint32_t period = 1; period <= MAX_PERIOD; period++) {
			if (!is_repeat(path, period))
				continue;
			fold_repeat(path, period);
			break;
		}
	}
}

static uint32_t get_child(struct hotpath_tree *tree, uint32_t parent, uint32_t function)
{
	uint32_t *link = &tree->nodes[parent].first_child;

	while (*link != NO_NODE && tree->nodes[*link].function != function)
		link = &tree->nodes[*link].next;
	if (*link != NO_NODE)
		return *link;
	*link = tree->nr;
	tree->nodes[tree->nr] = (struct hotpath_node){
		.parent = parent,
		.function = function,
		.first_child = NO_NODE,
		.next = NO_NODE,
	};
	return tree->nr++;
}

static void tree_add(struct hotpath_tree *tree, const struct path *path, uint64_t ns)
{
	uint32_t at = 0;

	tree->nodes[0].ns += ns;
	for (uint32_t i = 0; i < path->nr; i++) {
		at = get_child(tree, at, path->functions[i]);
		tree->nodes[at].ns += ns;
		if (path->nr_calls[i] > tree->nodes[at].nr_calls)
			tree->nodes[at].nr_calls = path->nr_calls[i];
	}
}

/* The innermost function that is no system library's; the innermost if all are. */
static uint32_t find_own(const struct hotpath *hotpath, const struct path *path)
{
	for (uint32_t i = path->nr; i--;)
		if (!hotpath_is_system(hotpath->functions[path->functions[i]].place.module))
			return path->functions[i];
	return path->functions[path->nr - 1];
}

static bool is_before(const struct path *path, uint32_t end)
{
	for (uint32_t i = 0; i < end; i++)
		if (path->functions[i] == path->functions[end])
			return true;
	return false;
}

static void charge(struct hotpath *hotpath, const struct path *path, uint64_t ns, bool is_blocked)
{
	struct hotpath_function *own;

	if (!path->nr)
		return;
	own = &hotpath->functions[find_own(hotpath, path)];
	own->own_ns += ns;
	own->blocked_ns += is_blocked ? ns : 0;
	hotpath->functions[path->functions[path->nr - 1]].self_ns += ns;
	for (uint32_t i = 0; i < path->nr; i++)
		if (!is_before(path, i))
			hotpath->functions[path->functions[i]].total_ns += ns;
}

static uint64_t time_to_next(const struct hotpath_stack *stacks, uint32_t nr, uint32_t index,
			     uint64_t end_ns)
{
	uint64_t next_ns = index + 1 < nr ? stacks[index + 1].at_ns : end_ns;

	return next_ns > stacks[index].at_ns ? next_ns - stacks[index].at_ns : 0;
}

uint64_t hotpath_weight(const struct hotpath_stack *stacks, uint32_t nr, uint32_t index,
			uint64_t end_ns)
{
	for (uint32_t i = 0; i < nr; i++)
		if (time_to_next(stacks, nr, i, end_ns))
			return time_to_next(stacks, nr, index, end_ns);
	/* A single stack, taken as the unit was reported, stands for all of it. */
	return 1;
}

static uint32_t heaviest(const struct hotpath_tree *tree, uint32_t of)
{
	uint32_t best = NO_NODE;

	for (uint32_t i = tree->nodes[of].first_child; i != NO_NODE; i = tree->nodes[i].next)
		if (best == NO_NODE || tree->nodes[i].ns > tree->nodes[best].ns)
			best = i;
	return best;
}

static bool is_most(const struct hotpath_tree *tree, uint64_t ns)
{
	return (double)ns > STEP_SHARE * (double)tree->nodes[0].ns;
}

/* Returns true if the hot path goes on to a node.  The outermost function is always on it. */
static bool is_step(const struct hotpath_tree *tree, const struct hotpath_node *node)
{
	return !node->parent || is_most(tree, node->ns);
}

static bool has_step(const struct hotpath *hotpath, const struct hotpath_place *place)
{
	for (uint32_t i = 0; i < hotpath->nr_steps; i++)
		if (is_same_place(&hotpath->steps[i].place, place))
			return true;
	return false;
}

/* @node is where the function is called by the step before it; NULL if nowhere. */
static void add_step(struct hotpath *hotpath, const struct hotpath_function *function,
		     const struct hotpath_node *node)
{
	hotpath->steps[hotpath->nr_steps++] = (struct hotpath_step){
		.place = function->place,
		.ns = function->total_ns,
		.nr_calls = node ? node->nr_calls : 1,
		.by_several = !node || node->ns < function->total_ns,
	};
}

/* Along the heaviest calls down to the end: what has most of the time, however it is reached. */
static void take_chain(struct hotpath *hotpath, const struct hotpath_tree *tree)
{
	for (uint32_t at = heaviest(tree, 0); at != NO_NODE; at = heaviest(tree, at)) {
		const struct hotpath_node *node = &tree->nodes[at];
		const struct hotpath_function *function = &hotpath->functions[node->function];

		if (is_step(tree, node) ||
		    (is_most(tree, function->total_ns) && !has_step(hotpath, &function->place)))
			add_step(hotpath, function, node);
	}
}

/* Of those that are no steps, the function with most time; of equal ones the first. */
static const struct hotpath_function *most_total(const struct hotpath *hotpath)
{
	const struct hotpath_function *best = NULL;

	for (uint32_t i = 0; i < hotpath->nr_functions; i++) {
		const struct hotpath_function *function = &hotpath->functions[i];

		if ((!best || function->total_ns > best->total_ns) &&
		    !has_step(hotpath, &function->place))
			best = function;
	}
	return best;
}

/* The functions are still in the order in which they were first seen: callers first. */
static int take_path(struct hotpath *hotpath, const struct hotpath_tree *tree)
{
	const struct hotpath_function *function;
	uint32_t nr = hotpath->nr_functions;

	for (uint32_t at = heaviest(tree, 0); at != NO_NODE; at = heaviest(tree, at))
		nr++;
	hotpath->steps = calloc(nr + 1u, sizeof(*hotpath->steps));
	if (!hotpath->steps)
		return -ENOMEM;
	take_chain(hotpath, tree);
	while ((function = most_total(hotpath)) && is_most(tree, function->total_ns))
		add_step(hotpath, function, NULL);
	return 0;
}

static int compare_functions(const void *left, const void *right)
{
	const struct hotpath_function *a = left, *b = right;
	int ret;

	ret = order_of(b->own_ns, a->own_ns);
	if (!ret)
		ret = order_of(b->self_ns, a->self_ns);
	if (!ret)
		ret = order_of(b->total_ns, a->total_ns);
	if (!ret)
		ret = strcmp(a->place.module ? a->place.module : "",
			     b->place.module ? b->place.module : "");
	return ret ? ret : order_of(a->place.offset, b->place.offset);
}

static int merge(struct hotpath *hotpath, struct hotpath_tree *tree, struct path *path,
		 const struct hotpath_stack *stacks, uint32_t nr, uint64_t end_ns)
{
	tree->nodes[tree->nr++] = (struct hotpath_node){ .first_child = NO_NODE, .next = NO_NODE };
	for (uint32_t i = 0; i < nr; i++) {
		uint64_t ns = hotpath_weight(stacks, nr, i, end_ns);

		if (!stacks[i].nr_frames)
			continue;
		path_set(path, hotpath, &stacks[i]);
		tree_add(tree, path, ns);
		charge(hotpath, path, ns, stacks[i].is_blocked);
	}
	hotpath->ns = tree->nodes[0].ns;
	hotpath->nr_stacks = nr;
	return take_path(hotpath, tree);
}

int hotpath_init(struct hotpath *hotpath, const struct hotpath_stack *stacks, uint32_t nr,
		 uint64_t end_ns)
{
	uint32_t nr_frames = 0, longest = 0;
	struct hotpath_tree tree = { 0 };
	struct path path = { 0 };
	int ret = -ENOMEM;

	memset(hotpath, 0, sizeof(*hotpath));
	for (uint32_t i = 0; i < nr; i++) {
		nr_frames += stacks[i].nr_frames;
		if (stacks[i].nr_frames > longest)
			longest = stacks[i].nr_frames;
	}
	tree.nodes = calloc(nr_frames + 1u, sizeof(*tree.nodes));
	path.functions = calloc(longest + 1u, sizeof(*path.functions));
	path.nr_calls = calloc(longest + 1u, sizeof(*path.nr_calls));
	hotpath->functions = calloc(nr_frames + 1u, sizeof(*hotpath->functions));
	if (tree.nodes && path.functions && path.nr_calls && hotpath->functions)
		ret = merge(hotpath, &tree, &path, stacks, nr, end_ns);
	if (!ret && hotpath->nr_functions)
		qsort(hotpath->functions, hotpath->nr_functions, sizeof(*hotpath->functions),
		      compare_functions);
	free(tree.nodes);
	free(path.functions);
	free(path.nr_calls);
	if (ret)
		hotpath_deinit(hotpath);
	return ret;
}

void hotpath_deinit(struct hotpath *hotpath)
{
	free(hotpath->steps);
	free(hotpath->functions);
	memset(hotpath, 0, sizeof(*hotpath));
}

double hotpath_share(const struct hotpath *hotpath, uint64_t ns)
{
	return hotpath->ns ? (double)ns / (double)hotpath->ns : 0;
}

bool hotpath_is_outer(const struct hotpath_place *place)
{
	if (hotpath_is_system(place->module))
		return true;
	return place->function &&
	       (!strcmp(place->function, "_start") || !strcmp(place->function, "main"));
}

char *hotpath_name(const struct hotpath *hotpath, char *ret, size_t size)
{
	const struct hotpath_place *place;

	ret[0] = '\0';
	if (!hotpath->nr_functions)
		return ret;
	place = &hotpath->functions[0].place;
	if (place->function)
		snprintf(ret, size, "%s", place->function);
	else
		snprintf(ret, size, "%s%s0x%" PRIx64, place->module ? base_name(place->module) : "",
			 place->module ? "+" : "", place->offset);
	return ret;
}

const struct hotpath_step *hotpath_focus(const struct hotpath *hotpath)
{
	const struct hotpath_step *ret = NULL;

	if (hotpath->nr_functions &&
	    hotpath_share(hotpath, hotpath->functions[0].own_ns) >= OWN_SHARE)
		return NULL;
	for (uint32_t i = 0; i < hotpath->nr_steps; i++)
		if (!hotpath_is_outer(&hotpath->steps[i].place) &&
		    hotpath_share(hotpath, hotpath->steps[i].ns) >= FOCUS_SHARE)
			ret = &hotpath->steps[i];
	return ret;
}

uint32_t hotpath_own_step(const struct hotpath *hotpath)
{
	for (uint32_t i = hotpath->nr_steps; i--;)
		if (!hotpath_is_system(hotpath->steps[i].place.module))
			return i;
	return hotpath->nr_steps ? hotpath->nr_steps - 1 : 0;
}

uint64_t hotpath_hash(const struct hotpath *hotpath)
{
	uint64_t hash = HASH_FNV1A;

	for (uint32_t i = 0; i < hotpath->nr_steps && i <= hotpath_own_step(hotpath); i++) {
		const struct hotpath_place *place = &hotpath->steps[i].place;
		const char *file = place->build_id ? place->build_id : place->module;

		if (file)
			hash = hash_fnv1a(hash, file, strlen(file) + 1);
		hash = hash_fnv1a(hash, &place->offset, sizeof(place->offset));
	}
	return hash;
}
