// SPDX-License-Identifier: GPL-2.0

#include "train/types/distance.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "train/types/lcs.h"
#include "train/types/paths.h"

enum {
	MAX_SCALE_BITS = 40, /* of a quotient; a length and a sum must fit above */
	SUM_BITS = 62,
};

/* The sums of a matrix, while they are made. */
struct distance_sums {
	const struct paths *rows; /* that patterns come from */
	const struct paths *columns; /* that they are compared with */
	bool symmetric; /* rows are columns: only paths before the pattern count */
	struct lcs lcs;
	uint32_t scale_bits;
	uint64_t *totals; /* by row and column: sums of LCS / max length, scaled */
	uint64_t *batch; /* by lane and column: the same for one pattern */
	uint64_t *quotients; /* by length and lane: scale / max(length, the lane's) */
	uint32_t *spelling; /* by lane, PATHS_MAX_LENGTH each */
	uint32_t path[LCS_LANES]; /* in rows */
	struct lcs_pattern patterns[LCS_LANES];
	uint32_t nr; /* lanes in use */
};

static uint32_t log2_up(uint64_t value)
{
	uint32_t bits = 0;

	while (bits < 64 && value > 1ULL << bits)
		bits++;
	return bits;
}

static uint64_t most_paths(const struct paths *paths)
{
	uint64_t most = 1;

	for (uint32_t i = 0; i < paths->nr_trees; i++)
		if (paths_of_tree(paths, i) > most)
			most = paths_of_tree(paths, i);
	return most;
}

static int sums_init(struct distance_sums *sums, const struct paths *rows, const struct paths *columns)
{
	size_t nr = (size_t)rows->nr_trees * columns->nr_trees;
	uint32_t pair_bits = log2_up(most_paths(rows)) + log2_up(most_paths(columns));
	int ret;

	*sums = (struct distance_sums){ .rows = rows, .columns = columns, .symmetric = rows == columns };
	if (pair_bits + 16 > SUM_BITS)
		return -E2BIG;
	sums->scale_bits = SUM_BITS - pair_bits;
	if (sums->scale_bits > MAX_SCALE_BITS)
		sums->scale_bits = MAX_SCALE_BITS;
	ret = lcs_init(&sums->lcs, columns);
	if (ret)
		return ret;
	return array_new(sums->totals, nr) ?:
	       array_new(sums->batch, (size_t)columns->nr_trees * LCS_LANES) ?:
	       array_new(sums->quotients, (columns->max_length + 1UL) * LCS_LANES) ?:
	       array_new(sums->spelling, LCS_LANES * PATHS_MAX_LENGTH);
}

static void sums_deinit(struct distance_sums *sums)
{
	lcs_deinit(&sums->lcs);
	free(sums->totals);
	free(sums->batch);
	free(sums->quotients);
	free(sums->spelling);
}

/* Quotients by what a length is divided by: one rounding, then all is exact. */
static void set_quotients(struct distance_sums *sums)
{
	uint64_t scale = 1ULL << sums->scale_bits;

	for (uint32_t length = 0; length <= sums->columns->max_length; length++) {
		for (uint32_t lane = 0; lane < LCS_LANES; lane++) {
			uint64_t max = length;

			if (lane < sums->nr && sums->patterns[lane].length > max)
				max = sums->patterns[lane].length;
			sums->quotients[length * LCS_LANES + lane] =
				max ? (scale + max / 2) / max : 0;
		}
	}
}

/*
 * For the paths of one run, add the lengths and then divide the sum, as all
 * have the same divisor.
 */
static void add_run(const struct distance_sums *sums, const struct paths_run *run, uint32_t nr_paths,
		    uint32_t most, uint64_t *totals)
{
	const uint64_t *quotients = sums->quotients + (size_t)run->length * LCS_LANES;
	const uint32_t *member = sums->columns->members + run->first;
	const uint32_t *end = member + run->nr;
	const lcs_lanes *lengths = sums->lcs.lengths;

	while (member < end && *member < nr_paths) {
		const uint32_t *pause = end - member > most ? member + most : end;
		lcs_lanes sum = { 0 };

		while (member < pause && *member < nr_paths)
			sum += lengths[*member++];
		for (uint32_t lane = 0; lane < LCS_LANES; lane++)
			totals[lane] += sum[lane] * quotients[lane];
	}
}

/* The sums of the patterns at hand with all paths of each column. */
static void sum_columns(struct distance_sums *sums, uint32_t nr_paths)
{
	const struct paths *columns = sums->columns;
	uint32_t longest = 1;

	for (uint32_t lane = 0; lane < sums->nr; lane++)
		if (sums->patterns[lane].length > longest)
			longest = sums->patterns[lane].length;
	for (uint32_t tree = 0; tree < columns->nr_trees; tree++) {
		uint64_t totals[LCS_LANES] = { 0 };

		for (uint32_t i = columns->first_run[tree]; i < columns->first_run[tree + 1]; i++)
			add_run(sums, &columns->runs[i], nr_paths, UINT16_MAX / longest, totals);
		for (uint32_t lane = 0; lane < LCS_LANES; lane++)
			sums->batch[(size_t)lane * columns->nr_trees + tree] = totals[lane];
	}
}

/* With half the pairs left out: a path and itself count as a half. */
static void add_self(struct distance_sums *sums, uint32_t path, uint64_t *batch)
{
	const struct paths *paths = sums->columns;

	for (uint64_t i = paths->first_tree[path]; i < paths->first_tree[path + 1]; i++)
		batch[paths->trees[i]] += 1ULL << (sums->scale_bits - 1);
}

static void add_batch(struct distance_sums *sums)
{
	const struct paths *rows = sums->rows;
	uint32_t nr = sums->columns->nr_trees;

	for (uint32_t lane = 0; lane < sums->nr; lane++) {
		uint64_t *batch = sums->batch + (size_t)lane * nr;
		uint32_t path = sums->path[lane];

		if (sums->symmetric)
			add_self(sums, path, batch);
		for (uint64_t i = rows->first_tree[path]; i < rows->first_tree[path + 1]; i++) {
			uint64_t *totals = sums->totals + (size_t)rows->trees[i] * nr;

			for (uint32_t tree = 0; tree < nr; tree++)
				totals[tree] += batch[tree];
		}
	}
}

/* A lane counts only paths before its own, so that each pair is met once. */
static void leave_out_later(struct distance_sums *sums)
{
	for (uint32_t path = sums->path[0]; path <= sums->path[sums->nr - 1]; path++)
		for (uint32_t lane = 0; lane < sums->nr && sums->path[lane] <= path; lane++)
			sums->lcs.lengths[path][lane] = 0;
}

static void flush(struct distance_sums *sums)
{
	uint32_t nr_paths = sums->columns->nr;

	if (!sums->nr)
		return;
	if (sums->symmetric)
		nr_paths = sums->path[sums->nr - 1] + 1;
	lcs_compare(&sums->lcs, sums->patterns, sums->nr, nr_paths);
	if (sums->symmetric)
		leave_out_later(sums);
	set_quotients(sums);
	sum_columns(sums, nr_paths);
	add_batch(sums);
	sums->nr = 0;
}

static void add_pattern(struct distance_sums *sums, uint32_t path)
{
	uint32_t *spelling = sums->spelling + (size_t)sums->nr * PATHS_MAX_LENGTH;

	paths_spell(sums->rows, path, spelling);
	sums->path[sums->nr] = path;
	sums->patterns[sums->nr++] = (struct lcs_pattern){
		.functions = spelling,
		.length = paths_length(sums->rows, path),
	};
	if (sums->nr == LCS_LANES)
		flush(sums);
}

static void report_progress(const struct distance_options *options, double done)
{
	if (options && options->progress)
		options->progress(options->context, done);
}

static void sum_all(struct distance_sums *sums, const struct distance_options *options)
{
	enum { OFTEN = 512 };
	uint64_t done = 0;

	for (enum lcs_width width = 0; width < LCS_NR_WIDTHS; width++) {
		for (uint32_t path = 0; path < sums->rows->nr; path++) {
			if (lcs_width(paths_length(sums->rows, path)) != width)
				continue;
			add_pattern(sums, path);
			if (++done % OFTEN == 0)
				report_progress(options, (double)done / sums->rows->nr);
		}
		flush(sums);
	}
	report_progress(options, 1);
}

static void divide(const struct distance_sums *sums, double *ret)
{
	uint32_t nr = sums->columns->nr_trees;
	double scale = 1ULL << sums->scale_bits;

	for (uint32_t i = 0; i < sums->rows->nr_trees; i++) {
		for (uint32_t j = 0; j < nr; j++) {
			uint64_t sum = sums->totals[(size_t)i * nr + j];
			double pairs = (double)paths_of_tree(sums->rows, i) *
				       paths_of_tree(sums->columns, j);

			if (sums->symmetric)
				sum += sums->totals[(size_t)j * nr + i];
			ret[(size_t)i * nr + j] = 1 - (double)sum / scale / pairs;
		}
	}
}

int distance_mean(const struct samples *samples, const uint32_t *rows, uint32_t nr_rows,
		  const uint32_t *columns, uint32_t nr_columns,
		  const struct distance_options *options, double *ret)
{
	uint32_t max_paths = options ? options->max_paths : 0;
	struct paths of_columns, of_rows = { 0 };
	struct distance_sums sums;
	int err;

	err = paths_init(&of_columns, samples, columns, nr_columns, max_paths);
	if (!err && rows)
		err = paths_init(&of_rows, samples, rows, nr_rows, max_paths);
	if (err)
		goto out;
	err = sums_init(&sums, rows ? &of_rows : &of_columns, &of_columns);
	if (!err) {
		sum_all(&sums, options);
		divide(&sums, ret);
	}
	sums_deinit(&sums);
out:
	paths_deinit(&of_columns);
	paths_deinit(&of_rows);
	return err;
}

/* Steps of a pattern per node or path, in those of the narrowest. */
static double pattern_work(uint32_t length)
{
	enum { WORD_BITS = 64 };

	switch (lcs_width(length)) {
	case LCS_WIDTH_16:
		return 1;
	case LCS_WIDTH_32:
		return 2;
	case LCS_WIDTH_64:
		return 4;
	default:
		return 4 * (length / WORD_BITS + 1);
	}
}

/* Patterns go through the trie, then through the trees, then into the rows. */
static double paths_work(const struct paths *paths)
{
	double patterns = 0;

	for (uint32_t i = 0; i < paths->nr; i++)
		patterns += pattern_work(paths_length(paths, i));
	return patterns * paths->nr_nodes + (double)paths->nr * paths->nr_members +
	       (double)paths->nr_members * paths->nr_trees;
}

int distance_max_paths(const struct samples *samples, const uint32_t *trees, uint32_t nr,
		       double max_work, uint32_t *ret)
{
	uint32_t most = 1;

	*ret = 0;
	for (uint32_t i = 0; i < nr; i++)
		while (most < samples->trees[trees[i]].nr_leaves && most <= UINT32_MAX / 2)
			most *= 2;
	for (;;) {
		struct paths paths;
		double work;
		int err;

		err = paths_init(&paths, samples, trees, nr, *ret);
		if (err)
			return err;
		work = paths_work(&paths);
		paths_deinit(&paths);
		if (work <= max_work || most == 1)
			return 0;
		*ret = most /= 2;
	}
}

void distance_to_energy(double *distances, uint32_t n)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t j = i + 1; j < n; j++) {
			double energy = 2 * distances[i * n + j] - distances[i * n + i] -
					distances[j * n + j];

			distances[i * n + j] = distances[j * n + i] = energy;
		}
	}
	for (size_t i = 0; i < n; i++)
		distances[i * n + i] = 0;
}
