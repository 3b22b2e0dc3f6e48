// SPDX-License-Identifier: GPL-2.0

#include "out/read/read-path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "out/read/json-value.h"

enum {
	MAX_STACKS = 512, /* of an incident */
	MAX_FRAMES = 256, /* of a stack; the innermost ones */
	MAX_ALL_FRAMES = 8192, /* of an incident: hotpath_init() compares each with all functions */
	MAX_STEPS = 256,
	SCALE = 1000 * 1000, /* a share of 1 */
};

static void read_frame(const json_t *object, struct frame *ret)
{
	const char *function = value_text(object, "function");

	*ret = (struct frame){
		.module = value_text(object, "module"),
		.build_id = value_text(object, "build_id"),
		.offset = value_u64(object, "offset"),
		.function = function,
		.function_offset = function ? value_u64(object, "function_offset") : 0,
	};
	/* Only their distance counts. */
	ret->pc = ret->offset;
	ret->start = value_u64(object, "start");
	if (function && ret->function_offset < ret->pc)
		ret->start = ret->pc - ret->function_offset;
}

static int read_stack(const json_t *object, struct read_stack *ret)
{
	const json_t *frames = json_object_get(object, "frames");
	const char *state = value_text(object, "state");
	size_t nr = json_array_size(frames) < MAX_FRAMES ? json_array_size(frames) : MAX_FRAMES;

	*ret = (struct read_stack){
		.at_ns = value_u64(object, "at_ns"),
		.into_ns = value_u64(object, "into_ns"),
		.tid = value_u32(object, "tid"),
		.is_blocked = state && !strcmp(state, "blocked"),
		.syscall = value_text(object, "syscall"),
	};
	if (array_new(ret->frames, nr))
		return -ENOMEM;
	for (; ret->nr_frames < nr; ret->nr_frames++)
		read_frame(json_array_get(frames, ret->nr_frames), &ret->frames[ret->nr_frames]);
	return 0;
}

static int order_stacks(const void *a, const void *b)
{
	const struct read_stack *one = a, *other = b;

	return order_of(one->at_ns, other->at_ns) ?: order_of(one->tid, other->tid);
}

static bool is_there(const struct read_stacks *stacks, uint32_t nr, const json_t *object)
{
	for (uint32_t i = 0; i < nr; i++)
		if (stacks->of[i].at_ns == value_u64(object, "at_ns") &&
		    stacks->of[i].tid == value_u32(object, "tid"))
			return true;
	return false;
}

int read_stacks_add(struct read_stacks *stacks, const json_t *object)
{
	const json_t *array = json_object_get(object, "stacks"), *one;
	uint32_t before = stacks->nr;
	struct read_stack *more;
	size_t i;

	more = reallocarray(stacks->of, MAX_STACKS, sizeof(*more));
	if (!more)
		return -ENOMEM;
	stacks->of = more;
	json_array_foreach(array, i, one) {
		if (stacks->nr >= MAX_STACKS || stacks->nr_frames >= MAX_ALL_FRAMES)
			break;
		if (is_there(stacks, before, one))
			continue;
		if (read_stack(one, &stacks->of[stacks->nr]))
			return -ENOMEM;
		stacks->nr_frames += stacks->of[stacks->nr++].nr_frames;
	}
	qsort(stacks->of, stacks->nr, sizeof(*stacks->of), order_stacks);
	return 0;
}

void read_stacks_deinit(struct read_stacks *stacks)
{
	for (uint32_t i = 0; i < stacks->nr; i++)
		free(stacks->of[i].frames);
	free(stacks->of);
	*stacks = (struct read_stacks){ 0 };
}

/* When a unit of @elapsed_ns was last heard of, of the clock of its stacks. */
static uint64_t end_ns(const struct read_stacks *stacks, uint64_t elapsed_ns)
{
	uint64_t last_ns = 0;

	for (uint32_t i = 0; i < stacks->nr; i++) {
		const struct read_stack *stack = &stacks->of[i];

		if (stack->at_ns > last_ns)
			last_ns = stack->at_ns;
		if (stack->into_ns && stack->into_ns <= elapsed_ns &&
		    stack->at_ns <= UINT64_MAX - elapsed_ns)
			return stack->at_ns - stack->into_ns + elapsed_ns;
	}
	return last_ns;
}

/* Of its own thread.  Returns how many, in @ret with room for all. */
static uint32_t own_stacks(const struct read_stacks *stacks, struct hotpath_stack *ret)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < stacks->nr; i++) {
		const struct read_stack *stack = &stacks->of[i];

		if (stack->tid || !stack->nr_frames)
			continue;
		ret[nr++] = (struct hotpath_stack){
			.at_ns = stack->at_ns,
			.frames = stack->frames,
			.nr_frames = stack->nr_frames,
			.is_blocked = stack->is_blocked,
		};
	}
	return nr;
}

int read_stacks_merge(const struct read_stacks *stacks, uint64_t elapsed_ns, struct hotpath *ret)
{
	struct hotpath_stack *own;
	int error;

	if (array_new(own, stacks->nr))
		return -ENOMEM;
	error = hotpath_init(ret, own, own_stacks(stacks, own), end_ns(stacks, elapsed_ns));
	free(own);
	return error;
}

uint64_t read_stacks_weight(const struct read_stacks *stacks, uint32_t index, uint64_t elapsed_ns)
{
	const struct read_stack *stack = &stacks->of[index];
	uint64_t until_ns = end_ns(stacks, elapsed_ns);

	if (stack->tid || !stack->nr_frames)
		return 0;
	for (uint32_t i = index + 1; i < stacks->nr; i++) {
		if (!stacks->of[i].tid && stacks->of[i].nr_frames) {
			until_ns = stacks->of[i].at_ns;
			break;
		}
	}
	/* The only one stands for all. */
	return until_ns > stack->at_ns ? until_ns - stack->at_ns : 1;
}

static void read_place(const json_t *object, struct hotpath_place *ret)
{
	*ret = (struct hotpath_place){
		.module = value_text(object, "module"),
		.build_id = value_text(object, "build_id"),
		.offset = value_u64(object, "offset"),
		.function = value_text(object, "function"),
	};
}

static uint64_t share_ns(const json_t *object, const char *key)
{
	double share = value_real(object, key);

	return share < 1 ? (uint64_t)(share * SCALE) : SCALE;
}

/* As the line has it. */
static int read_written(const json_t *steps, const json_t *functions, struct hotpath *ret)
{
	const json_t *one;
	size_t i;

	*ret = (struct hotpath){ .ns = SCALE };
	if (array_new(ret->steps, json_array_size(steps)) ||
	    array_new(ret->functions, json_array_size(functions))) {
		hotpath_deinit(ret);
		return -ENOMEM;
	}
	json_array_foreach(steps, i, one) {
		struct hotpath_step *step = &ret->steps[ret->nr_steps++];

		read_place(one, &step->place);
		step->ns = share_ns(one, "share");
		step->nr_calls = value_u32(one, "recursion");
		step->by_several = value_is_true(one, "by_several");
	}
	json_array_foreach(functions, i, one) {
		struct hotpath_function *function = &ret->functions[ret->nr_functions++];

		read_place(one, &function->place);
		function->own_ns = share_ns(one, "own");
		function->self_ns = share_ns(one, "self");
		function->blocked_ns = share_ns(one, "blocked");
		function->total_ns = share_ns(one, "total");
	}
	return 0;
}

int read_path(const json_t *object, struct hotpath *ret)
{
	const json_t *steps = json_object_get(object, "hot_path");
	struct read_stacks stacks = { 0 };
	int error;

	if (json_array_size(steps) && json_array_size(steps) <= MAX_STEPS)
		return read_written(steps, json_object_get(object, "functions"), ret);
	*ret = (struct hotpath){ 0 };
	error = read_stacks_add(&stacks, object);
	if (!error)
		error = read_stacks_merge(&stacks, value_u64(object, "elapsed_ns"), ret);
	read_stacks_deinit(&stacks);
	return error;
}

int read_path_hash(const json_t *object, uint64_t *ret)
{
	struct hotpath hotpath;
	int error = read_path(object, &hotpath);

	*ret = 0;
	if (error)
		return error;
	if (hotpath.nr_steps)
		*ret = hotpath_hash(&hotpath);
	hotpath_deinit(&hotpath);
	return 0;
}
