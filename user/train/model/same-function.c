// SPDX-License-Identifier: GPL-2.0

#include "train/model/same-function.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/base-name.h"
#include "base/hash-index.h"

/* What it is worth to take two functions for the same, in a sequence. */
#define SAME_NAME 16.0f
#define SAME_SIZE 2.0f
#define LIKE_SIZE 0.7f
/* By how much their sizes may differ then. */
#define LIKE 0.1

enum { MAX_CELLS = 16 * 1024 * 1024 }; /* of an alignment; files that need more are not aligned */

/* The functions of a file in one of the builds, by offset. */
struct sequence {
	const struct samples *samples;
	uint64_t *keys; /* of all functions of the samples; those that are equal are the same */
	uint32_t *functions;
	uint32_t nr;
};

static uint64_t key_of(const struct samples *samples, const struct samples_function *function)
{
	const struct samples_object *object = &samples->objects[function->object];
	const char *file = base_name(object->path);
	uint64_t hash = HASH_FNV1A;

	if (!function->name)
		return hash_mix(samples_hash_object(object), function->offset);
	hash = hash_fnv1a(hash, function->name, strlen(function->name) + 1);
	return hash_fnv1a(hash, file, strlen(file));
}

static int set_keys(struct sequence *build, const struct samples *samples)
{
	build->samples = samples;
	if (array_new(build->keys, samples->nr_functions) ||
	    array_new(build->functions, samples->nr_functions))
		return -ENOMEM;
	for (uint32_t i = 0; i < samples->nr_functions; i++)
		build->keys[i] = key_of(samples, &samples->functions[i]);
	return 0;
}

static int compare_offsets(const void *left, const void *right, void *samples)
{
	const struct samples_function *functions = ((const struct samples *)samples)->functions;
	const uint32_t *a = left, *b = right;

	return order_of(functions[*a].offset, functions[*b].offset);
}

static void list_functions(struct sequence *build, uint32_t object)
{
	const struct samples *samples = build->samples;

	build->nr = 0;
	for (uint32_t i = 0; i < samples->nr_functions; i++)
		if (samples->functions[i].object == object)
			build->functions[build->nr++] = i;
	qsort_r(build->functions, build->nr, sizeof(*build->functions), compare_offsets,
		(void *)samples);
}

static float worth_of(const struct sequence *a, const struct sequence *b, uint32_t i, uint32_t j)
{
	const struct samples_function *x = &a->samples->functions[a->functions[i]];
	const struct samples_function *y = &b->samples->functions[b->functions[j]];

	if (x->name || y->name)
		return a->keys[a->functions[i]] == b->keys[b->functions[j]] ? SAME_NAME : 0;
	if (x->size == y->size)
		return SAME_SIZE;
	return fabs((double)x->size - y->size) <= LIKE * fmax(x->size, y->size) ? LIKE_SIZE : 0;
}

/* Where the best alignment of the functions before a cell comes from. */
enum { FROM_A, FROM_B, FROM_BOTH };

/* Needleman and Wunsch, Journal of Molecular Biology 48, 1970; what is left out costs nothing. */
static void fill_cells(const struct sequence *a, const struct sequence *b, float *row,
		       uint8_t *cells)
{
	for (uint32_t i = 0; i < a->nr; i++) {
		float before = 0; /* of the row above, a column to the left */

		for (uint32_t j = 0; j < b->nr; j++) {
			float worth = worth_of(a, b, i, j), above = row[j + 1];
			uint8_t from = row[j] > above ? FROM_B : FROM_A;
			float best = row[j] > above ? row[j] : above;

			if (worth > 0 && before + worth > best) {
				best = before + worth;
				from = FROM_BOTH;
			}
			cells[(size_t)i * b->nr + j] = from;
			before = above;
			row[j + 1] = best;
		}
	}
}

static void take_path(const struct sequence *a, struct sequence *b, const uint8_t *cells)
{
	uint32_t i = a->nr, j = b->nr;

	while (i && j) {
		switch (cells[(size_t)(i - 1) * b->nr + j - 1]) {
		case FROM_A:
			i--;
			break;
		case FROM_B:
			j--;
			break;
		default:
			i--;
			j--;
			b->keys[b->functions[j]] = a->keys[a->functions[i]];
		}
	}
}

static int align(const struct sequence *a, struct sequence *b)
{
	uint8_t *cells = NULL;
	float *row = NULL;
	int ret = 0;

	if (!a->nr || !b->nr || a->nr > MAX_CELLS / b->nr)
		return 0;
	if (array_new(cells, (size_t)a->nr * b->nr) || array_new(row, b->nr + 1)) {
		ret = -ENOMEM;
	} else {
		fill_cells(a, b, row, cells);
		take_path(a, b, cells);
	}
	free(cells);
	free(row);
	return ret;
}

/* The files of a name that are of different builds. */
static int align_files(struct sequence *a, struct sequence *b)
{
	int ret = 0;

	for (uint32_t i = 0; i < a->samples->nr_objects; i++)
		for (uint32_t j = 0; j < b->samples->nr_objects && !ret; j++) {
			const struct samples_object *x = &a->samples->objects[i];
			const struct samples_object *y = &b->samples->objects[j];

			if (strcmp(base_name(x->path), base_name(y->path)) != 0 ||
			    !samples_compare_objects(x, y))
				continue;
			list_functions(a, i);
			list_functions(b, j);
			ret = align(a, b);
		}
	return ret;
}

static int number(struct same_functions *same, const struct sequence builds[2])
{
	uint32_t nr[2] = { builds[0].samples->nr_functions, builds[1].samples->nr_functions };
	uint32_t kept = 0;
	uint64_t *keys;

	if (array_new(keys, (size_t)nr[0] + nr[1]))
		return -ENOMEM;
	memcpy(keys, builds[0].keys, nr[0] * sizeof(*keys));
	memcpy(keys + nr[0], builds[1].keys, nr[1] * sizeof(*keys));
	qsort(keys, nr[0] + nr[1], sizeof(*keys), order_u64);
	for (uint32_t i = 0; i < nr[0] + nr[1]; i++)
		if (!kept || keys[kept - 1] != keys[i])
			keys[kept++] = keys[i];
	same->nr = kept;
	for (int side = 0; side < 2; side++)
		for (uint32_t j = 0; j < nr[side]; j++)
			same->numbers[side][j] = (uint32_t)array_bisect(
				i, kept, keys[i] >= builds[side].keys[j]);
	free(keys);
	return 0;
}

static bool has_file(const struct samples *samples, const struct samples_object *object)
{
	for (uint32_t i = 0; i < samples->nr_objects; i++)
		if (!samples_compare_objects(object, &samples->objects[i]))
			return true;
	return false;
}

/* Those of A's functions whose number no function of B has, without a name, of another build. */
static int count_lost(struct same_functions *same, const struct samples *a,
		      const struct samples *b)
{
	bool *found, *same_build;
	int ret = array_new(found, same->nr) | array_new(same_build, a->nr_objects);

	for (uint32_t i = 0; i < b->nr_functions && !ret; i++)
		found[same->numbers[1][i]] = true;
	for (uint32_t i = 0; i < a->nr_objects && !ret; i++)
		same_build[i] = has_file(b, &a->objects[i]);
	for (uint32_t i = 0; i < a->nr_functions && !ret; i++)
		same->nr_lost += !a->functions[i].name && !found[same->numbers[0][i]] &&
				 !same_build[a->functions[i].object];
	free(found);
	free(same_build);
	return ret ? -ENOMEM : 0;
}

int same_functions_init(struct same_functions *same, const struct samples *a,
			const struct samples *b)
{
	struct sequence builds[2] = { 0 };
	int ret;

	*same = (struct same_functions){ 0 };
	ret = set_keys(&builds[0], a) ?: set_keys(&builds[1], b);
	if (!ret)
		ret = array_new(same->numbers[0], a->nr_functions) ?:
		      array_new(same->numbers[1], b->nr_functions);
	if (!ret)
		ret = align_files(&builds[0], &builds[1]) ?: number(same, builds);
	if (!ret)
		ret = count_lost(same, a, b);
	for (int side = 0; side < 2; side++) {
		free(builds[side].keys);
		free(builds[side].functions);
	}
	return ret;
}

void same_functions_deinit(struct same_functions *same)
{
	free(same->numbers[0]);
	free(same->numbers[1]);
	*same = (struct same_functions){ 0 };
}
