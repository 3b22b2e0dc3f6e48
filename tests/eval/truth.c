// SPDX-License-Identifier: GPL-2.0

#include "truth.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "data/samples.h"
#include "train/types/distance.h"
#include "train/samples/extract.h"
#include "train/samples/join.h"

/* Of the distances to unseen trees; half a minute. */
#define MAX_WORK 2e11

static bool is_same_object(const struct samples *a, uint32_t object_a, const struct samples *b,
			   uint32_t object_b)
{
	return samples_hash_object(&a->objects[object_a]) ==
	       samples_hash_object(&b->objects[object_b]);
}

static bool is_same_function(const struct samples *a, uint32_t function_a,
			     const struct samples *b, uint32_t function_b)
{
	const struct samples_function *left = &a->functions[function_a];
	const struct samples_function *right = &b->functions[function_b];

	return left->offset == right->offset &&
	       is_same_object(a, left->object, b, right->object);
}

static bool is_same_boundary(const struct samples *a, const struct samples_boundary *left,
			     const struct samples *b, const struct samples_boundary *right)
{
	if (left->role != right->role)
		return false;
	if (left->role == SAMPLES_ROLE_EVENT_SITE)
		return is_same_function(a, left->function, b, right->function);
	return left->syscall == right->syscall && left->return_offset == right->return_offset &&
	       left->distance == right->distance &&
	       is_same_object(a, left->object, b, right->object);
}

static uint32_t count_shared(const struct samples *a, uint32_t loop_a, const struct samples *b,
			     uint32_t loop_b)
{
	const struct samples_loop *left = &a->loops[loop_a], *right = &b->loops[loop_b];
	uint32_t nr = 0;

	for (uint32_t i = 0; i < left->nr_boundaries; i++)
		for (uint32_t j = 0; j < right->nr_boundaries; j++)
			if (is_same_boundary(a, &left->boundaries[i], b, &right->boundaries[j])) {
				nr++;
				break;
			}
	return nr;
}

/* The loop that shares most boundaries; SAMPLES_NONE if none does. */
static uint32_t find_loop(const struct samples *a, uint32_t loop, const struct samples *b)
{
	uint32_t best = SAMPLES_NONE, most = 0;

	for (uint32_t i = 0; i < b->nr_loops; i++) {
		uint32_t shared = count_shared(a, loop, b, i);

		if (shared > most) {
			most = shared;
			best = i;
		}
	}
	return best;
}

static uint32_t find_tree(const struct samples *samples, uint32_t loop, uint64_t hash)
{
	for (uint32_t i = 0; i < samples->nr_trees; i++)
		if (samples->trees[i].hash == hash && samples->trees[i].loop == loop)
			return i;
	return SAMPLES_NONE;
}

static int map_loops(struct truth *truth, const struct samples *samples)
{
	const struct samples *run = &truth->run;

	truth->loop_of = calloc((size_t)run->nr_loops + 1, sizeof(uint32_t));
	if (!truth->loop_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < run->nr_loops; i++) {
		uint32_t loop = find_loop(run, i, samples);

		truth->loop_of[i] = loop;
		if (loop == SAMPLES_NONE || !run->loops[i].units)
			continue;
		truth->nr_boundaries += samples->loops[loop].nr_boundaries;
		truth->nr_equal += count_shared(samples, loop, run, i);
	}
	return 0;
}

static int map_trees(struct truth *truth, const struct samples *samples)
{
	const struct samples *run = &truth->run;

	truth->tree_of = calloc((size_t)run->nr_trees + 1, sizeof(uint32_t));
	truth->is_learnt = calloc((size_t)run->nr_trees + 1, sizeof(bool));
	truth->function_of = calloc((size_t)run->nr_functions + 1, sizeof(uint32_t));
	if (!truth->tree_of || !truth->is_learnt || !truth->function_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < run->nr_trees; i++) {
		uint32_t loop = truth->loop_of[run->trees[i].loop];
		uint32_t tree = loop == SAMPLES_NONE ? SAMPLES_NONE :
						       find_tree(samples, loop, run->trees[i].hash);

		truth->tree_of[i] = tree;
		truth->is_learnt[i] = tree != SAMPLES_NONE && samples->trees[tree].units[0];
	}
	for (uint32_t i = 0; i < run->nr_functions; i++) {
		uint32_t j = 0;

		while (j < samples->nr_functions && !is_same_function(run, i, samples, j))
			j++;
		truth->function_of[i] = j < samples->nr_functions ? j : SAMPLES_NONE;
	}
	return 0;
}

/* The event that ended a unit: at its time, the first call or system call. */
static size_t find_end(const struct trace *trace, uint32_t tid, uint64_t time_ns)
{
	size_t low = 0, high = trace->nr_events;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct perfguard_event *event = &trace->events[middle];

		if (event->tid < tid || (event->tid == tid && event->time_ns < time_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int compare_units(const void *a, const void *b)
{
	const struct truth_unit *left = a, *right = b;

	return left->end < right->end ? -1 : left->end > right->end;
}

static int take_units(struct truth *truth, const struct trace *trace,
		      const struct extract_result *result)
{
	truth->units = calloc(result->nr_units + 1, sizeof(*truth->units));
	if (!truth->units)
		return -ENOMEM;
	for (uint64_t i = 0; i < result->nr_units; i++) {
		const struct extract_unit *unit = &result->units[i];

		if (truth->loop_of[unit->loop] == SAMPLES_NONE) {
			truth->nr_foreign++;
			continue;
		}
		truth->units[truth->nr_units++] = (struct truth_unit){
			.end = find_end(trace, unit->tid, unit->end_ns),
			.tid = unit->tid,
			.loop = truth->loop_of[unit->loop],
			.tree = unit->tree,
			.variant = unit->variant,
		};
	}
	qsort(truth->units, truth->nr_units, sizeof(*truth->units), compare_units);
	return 0;
}

/* Where trees of other samples are among the joined ones. */
static int index_joined(const struct samples *from, const struct samples *joined, uint32_t *ret)
{
	for (uint32_t i = 0; i < from->nr_trees; i++) {
		uint32_t loop = find_loop(from, from->trees[i].loop, joined);

		ret[i] = loop == SAMPLES_NONE ? SAMPLES_NONE :
						find_tree(joined, loop, from->trees[i].hash);
		/* More trees than samples can hold. */
		if (ret[i] == SAMPLES_NONE)
			return -E2BIG;
	}
	return 0;
}

static int find_selfs(const struct samples *samples, const uint32_t *trees, uint32_t nr,
		      const struct distance_options *options, double *ret)
{
	int error = 0;

	for (uint32_t i = 0; i < nr && !error; i++)
		error = distance_mean(samples, NULL, 0, &trees[i], 1, options, &ret[i]);
	return error;
}

static int measure(struct truth *truth, const struct samples *joined, const uint32_t *rows,
		   uint32_t nr_rows, const uint32_t *columns, uint32_t nr_columns)
{
	struct distance_options options = { 0 };
	double *row_selfs = calloc((size_t)nr_rows + 1, sizeof(double));
	double *column_selfs = calloc((size_t)nr_columns + 1, sizeof(double));
	int error = row_selfs && column_selfs ? 0 : -ENOMEM;

	truth->nr_columns = nr_columns;
	truth->distances = calloc((size_t)nr_rows * nr_columns + 1, sizeof(double));
	if (!truth->distances)
		error = -ENOMEM;
	if (!error)
		error = distance_max_paths(joined, columns, nr_columns, MAX_WORK,
					   &options.max_paths);
	if (!error)
		error = distance_mean(joined, rows, nr_rows, columns, nr_columns, &options,
				      truth->distances);
	if (!error)
		error = find_selfs(joined, rows, nr_rows, &options, row_selfs);
	if (!error)
		error = find_selfs(joined, columns, nr_columns, &options, column_selfs);
	for (uint32_t i = 0; i < nr_rows && !error; i++)
		for (uint32_t j = 0; j < nr_columns; j++) {
			double *distance = &truth->distances[(size_t)i * nr_columns + j];

			*distance = 2 * *distance - row_selfs[i] - column_selfs[j];
		}
	free(row_selfs);
	free(column_selfs);
	return error;
}

static int find_distances(struct truth *truth, const struct samples *samples,
			  struct samples *joined)
{
	const struct samples *run = &truth->run;
	uint32_t *rows = calloc((size_t)run->nr_trees + 1, sizeof(uint32_t));
	uint32_t *columns = calloc((size_t)samples->nr_trees + 1, sizeof(uint32_t));
	uint32_t nr_rows = 0;
	int error = rows && columns ? 0 : -ENOMEM;

	truth->unseen = calloc((size_t)run->nr_trees + 1, sizeof(uint32_t));
	if (!truth->unseen)
		error = -ENOMEM;
	if (!error)
		error = samples_join(joined, run);
	if (!error)
		error = index_joined(samples, joined, columns);
	for (uint32_t i = 0; i < run->nr_trees && !error; i++) {
		uint32_t loop = truth->loop_of[run->trees[i].loop], tree;

		truth->unseen[i] = SAMPLES_NONE;
		if (truth->tree_of[i] != SAMPLES_NONE || loop == SAMPLES_NONE)
			continue;
		tree = find_tree(joined, find_loop(samples, loop, joined), run->trees[i].hash);
		if (tree == SAMPLES_NONE)
			continue;
		truth->unseen[i] = nr_rows;
		rows[nr_rows++] = tree;
	}
	if (!error && nr_rows)
		error = measure(truth, joined, rows, nr_rows, columns, samples->nr_trees);
	free(rows);
	free(columns);
	return error;
}

int truth_find(const struct trace *trace, const struct samples *samples,
	       struct samples *joined, struct truth *ret)
{
	struct extract_result result;
	int error;

	*ret = (struct truth){ 0 };
	error = extract_samples(trace, &ret->run, &result);
	if (error)
		return error;
	error = map_loops(ret, samples);
	if (!error)
		error = map_trees(ret, samples);
	if (!error)
		error = take_units(ret, trace, &result);
	if (!error)
		error = find_distances(ret, samples, joined);
	extract_result_deinit(&result);
	if (error)
		truth_deinit(ret);
	return error;
}

void truth_deinit(struct truth *truth)
{
	samples_deinit(&truth->run);
	free(truth->units);
	free(truth->loop_of);
	free(truth->tree_of);
	free(truth->is_learnt);
	free(truth->function_of);
	free(truth->unseen);
	free(truth->distances);
	*truth = (struct truth){ 0 };
}

/* Of the trees that were learnt from, the nearest. */
static uint32_t nearest_tree(const struct truth *truth, const struct samples *samples,
			     uint32_t loop, uint32_t row)
{
	const double *distances = &truth->distances[(size_t)row * truth->nr_columns];
	uint32_t best = SAMPLES_NONE;

	for (uint32_t i = 0; i < samples->nr_trees; i++) {
		if (samples->trees[i].loop != loop || !samples->trees[i].units[0])
			continue;
		if (best == SAMPLES_NONE || distances[i] < distances[best])
			best = i;
	}
	return best;
}

void truth_types(const struct truth *truth, const struct samples *samples,
		 const struct model *model, uint32_t *ret)
{
	const struct samples *run = &truth->run;

	for (uint32_t i = 0; i < run->nr_trees; i++) {
		uint32_t loop = truth->loop_of[run->trees[i].loop], tree = truth->tree_of[i];

		if (tree == SAMPLES_NONE && loop != SAMPLES_NONE &&
		    truth->unseen[i] != SAMPLES_NONE)
			tree = nearest_tree(truth, samples, loop, truth->unseen[i]);
		ret[i] = tree == SAMPLES_NONE ? SAMPLES_NONE : model->type_of_tree[tree];
	}
}

/* Calls and system calls of its thread before an event, with it. */
static uint64_t *count_steps(const struct trace *trace)
{
	uint64_t *steps = calloc(trace->nr_events + 1, sizeof(*steps));
	uint64_t nr = 0;

	for (size_t i = 0; i < trace->nr_events && steps; i++) {
		switch (trace_kind(&trace->events[i])) {
		case PERFGUARD_EVENT_KIND_HIT:
		case PERFGUARD_EVENT_KIND_ENTER:
		case PERFGUARD_EVENT_KIND_LEAVE:
			nr++;
			break;
		default:
			break;
		}
		steps[i] = nr;
	}
	return steps;
}

/*
 * Both lists are in the order of events.  The module reports a unit just
 * before or after the event that ends it; at the latest, when the system call
 * that ends it has returned.
 */
int truth_align(const struct truth *truth, const struct trace *trace,
		const struct replay *replay, size_t *ret)
{
	const struct perfguard_event *events = trace->events;
	uint64_t *steps = count_steps(trace);
	size_t next = 0;

	if (!steps)
		return -ENOMEM;
	for (size_t i = 0; i < truth->nr_units; i++) {
		const struct truth_unit *unit = &truth->units[i];
		uint64_t first = steps[unit->end] - 1, last = first + 2;

		ret[i] = SIZE_MAX;
		while (next < replay->nr_units &&
		       (events[replay->units[next].index].tid < unit->tid ||
			(events[replay->units[next].index].tid == unit->tid &&
			 steps[replay->units[next].index] < first)))
			next++;
		if (next == replay->nr_units)
			continue;
		if (events[replay->units[next].index].tid == unit->tid &&
		    steps[replay->units[next].index] <= last)
			ret[i] = next++;
	}
	free(steps);
	return 0;
}
