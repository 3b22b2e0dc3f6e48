// SPDX-License-Identifier: GPL-2.0

#include "out/profile/profile-view.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "base/utf8.h"
#include "data/histogram.h"
#include "out/text.h"

double profile_mean_ns(const struct samples_times *times)
{
	return times->nr ? (double)times->sum_ns / (double)times->nr : 0;
}

uint64_t profile_median_ns(const struct samples_times *times)
{
	return histogram_percentile(times->hist, 500, times->nr ? times->largest_ns[0] : 0);
}

double profile_deviation(const struct samples_times *times)
{
	long double nr = times->nr, mean, variance;

	if (!times->nr || !times->sum_ns)
		return 0;
	mean = (long double)times->sum_ns / nr;
	variance = (long double)times->sum_squares / nr - mean * mean;
	return variance > 0 ? (double)(sqrtl(variance) / mean) : 0;
}

const char *const profile_request_names[REQUEST_NR_PARTS] = {
	[REQUEST_PART_WORKING] = "             half were in units for",
	[REQUEST_PART_PEERS] = "             half waited for others for",
	[REQUEST_PART_HELD] = "             half were held up for",
};

const char *const profile_part_names[SAMPLES_NR_PARTS] = {
	[SAMPLES_OWN] = "own time", [SAMPLES_CPU] = "computing", [SAMPLES_BLOCKED] = "blocked",
	[SAMPLES_BLOCK_IO] = "block I/O",
};

const char *const profile_confidence_names[] = {
	[MODEL_CONFIDENCE_NONE] = "none",
	[MODEL_CONFIDENCE_FEW] = "few",
	[MODEL_CONFIDENCE_FIT] = "fit",
	[MODEL_CONFIDENCE_FULL] = "full",
};

static void place_label(const struct samples *samples, const struct samples_function *of,
			size_t max, char label[PROFILE_LABEL_MAX])
{
	const char *module = text_basename(samples->objects[of->object].path);
	char offset[24];
	int room;

	snprintf(offset, sizeof(offset), "+0x%" PRIx64, of->offset);
	room = (int)(max - strlen(offset));
	snprintf(label, PROFILE_LABEL_MAX, "%.*s%s", room > 0 ? room : 0, module, offset);
}

char *profile_function_label(const struct samples *samples, uint32_t function, size_t max,
			     char label[PROFILE_LABEL_MAX])
{
	const struct samples_function *of = &samples->functions[function];
	char *readable = of->name ? demangle(of->name) : NULL;
	const char *name = readable ? readable : of->name;

	if (name)
		text_cut(name, max, label, PROFILE_LABEL_MAX);
	else
		place_label(samples, of, max, label);
	free(readable);
	utf8_make_plain(label);
	return label;
}

static int compare_loops(const void *a, const void *b, void *context)
{
	const struct samples *samples = context;
	uint32_t of_a = *(const uint32_t *)a, of_b = *(const uint32_t *)b;
	uint64_t units_a = samples->loops[of_a].units, units_b = samples->loops[of_b].units;

	if (units_a != units_b)
		return units_a < units_b ? 1 : -1;
	return of_a < of_b ? -1 : 1;
}

static int compare_types(const void *a, const void *b, void *context)
{
	const struct model_type *types = context;
	const struct model_type *of_a = &types[*(const uint32_t *)a];
	const struct model_type *of_b = &types[*(const uint32_t *)b];

	if (of_a->times.sum_ns != of_b->times.sum_ns)
		return of_a->times.sum_ns < of_b->times.sum_ns ? 1 : -1;
	if (of_a->units != of_b->units)
		return of_a->units < of_b->units ? 1 : -1;
	return of_a->id < of_b->id ? -1 : of_a->id > of_b->id;
}

static int compare_guards(const void *a, const void *b, void *context)
{
	const struct model_guard *guards = context;
	uint32_t of_a = *(const uint32_t *)a, of_b = *(const uint32_t *)b;

	if (guards[of_a].hits != guards[of_b].hits)
		return guards[of_a].hits < guards[of_b].hits ? 1 : -1;
	return of_a < of_b ? -1 : of_a > of_b;
}

/* Keep it if it is among the best of its type; on a tie the first one stays. */
static void add_identifying(struct profile_identifying *best, uint32_t context, uint32_t lead)
{
	int at = PROFILE_MAX_IDENTIFYING;

	while (at && lead > best[at - 1].lead)
		at--;
	if (at == PROFILE_MAX_IDENTIFYING)
		return;
	memmove(&best[at + 1], &best[at], (PROFILE_MAX_IDENTIFYING - 1 - at) * sizeof(*best));
	best[at] = (struct profile_identifying){ .context = context, .lead = lead };
}

static void find_identifying(struct profile_view *view)
{
	const struct model *model = view->model;

	for (uint32_t i = 0; i < model->nr_contexts; i++) {
		const struct model_context *context = &model->contexts[i];
		const struct model_weight *weights = &model->weights[context->first_weight];
		uint32_t first = 0, second = 0, type = SAMPLES_NONE;

		for (uint32_t j = 0; j < context->nr_weights; j++) {
			if (weights[j].final > first) {
				second = first;
				first = weights[j].final;
				type = weights[j].type;
			} else if (weights[j].final > second) {
				second = weights[j].final;
			}
		}
		if (type != SAMPLES_NONE && first > second)
			add_identifying(&view->identifying[type * PROFILE_MAX_IDENTIFYING], i,
					first - second);
	}
}

static void count(struct profile_view *view)
{
	const struct samples *samples = view->samples;
	const struct model *model = view->model;

	for (uint32_t i = 0; i < samples->nr_functions; i++)
		view->object_functions[samples->functions[i].object]++;
	for (uint32_t i = 0; i < samples->nr_trees; i++)
		view->loop_trees[samples->trees[i].loop]++;
	for (uint32_t i = 0; i < samples->nr_units; i++)
		view->loop_variants[samples->trees[samples->units[i].tree].loop]++;
	for (uint32_t i = 0; i < model->nr_guards; i++)
		view->is_guard[model->guards[i].function] = 1;
	for (uint32_t i = 0; i < model->nr_types; i++) {
		view->units += model->types[i].units;
		view->time_ns += model->types[i].times.sum_ns;
	}
}

int profile_view_init(struct profile_view *view, const char *path, const struct samples *samples,
		      const struct model *model, const struct training *training)
{
	*view = (struct profile_view){
		.path = path,
		.samples = samples,
		.model = model,
		.training = training,
		.loops = calloc(samples->nr_loops + 1u, sizeof(*view->loops)),
		.types = calloc(model->nr_types + 1u, sizeof(*view->types)),
		.guards = calloc(model->nr_guards + 1u, sizeof(*view->guards)),
		.object_functions = calloc(samples->nr_objects + 1u,
					   sizeof(*view->object_functions)),
		.identifying = calloc((model->nr_types + 1u) * PROFILE_MAX_IDENTIFYING,
				  sizeof(*view->identifying)),
		.is_guard = calloc(samples->nr_functions + 1u, 1),
		.loop_trees = calloc(samples->nr_loops + 1u, sizeof(*view->loop_trees)),
		.loop_variants = calloc(samples->nr_loops + 1u, sizeof(*view->loop_variants)),
	};
	if (!view->loops || !view->types || !view->guards || !view->object_functions ||
	    !view->identifying || !view->is_guard || !view->loop_trees || !view->loop_variants) {
		profile_view_deinit(view);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < samples->nr_loops; i++)
		view->loops[i] = i;
	for (uint32_t i = 0; i < model->nr_types; i++)
		view->types[i] = i;
	for (uint32_t i = 0; i < model->nr_guards; i++)
		view->guards[i] = i;
	qsort_r(view->loops, samples->nr_loops, sizeof(*view->loops), compare_loops,
		(void *)samples);
	qsort_r(view->types, model->nr_types, sizeof(*view->types), compare_types, model->types);
	if (model->nr_guards)
		qsort_r(view->guards, model->nr_guards, sizeof(*view->guards), compare_guards,
			model->guards);
	count(view);
	find_identifying(view);
	return 0;
}

void profile_view_deinit(struct profile_view *view)
{
	free(view->loops);
	free(view->types);
	free(view->guards);
	free(view->object_functions);
	free(view->identifying);
	free(view->is_guard);
	free(view->loop_trees);
	free(view->loop_variants);
	memset(view, 0, sizeof(*view));
}
