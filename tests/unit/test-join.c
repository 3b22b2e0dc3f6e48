// SPDX-License-Identifier: GPL-2.0
/* Samples joined in any order are the same to the last bit. */

#include <errno.h>
#include <stdint.h>
#include <stdio.h>

#include "fixture.h"
#include "same.h"
#include "store/profile-check.h"
#include "train/samples/join.h"

enum { ROUNDS = 20, NR = 3 };

/* Join those of @list whose numbers are in @order, from nothing. */
static void join_in_order(struct samples *into, const struct samples *list, const char *order)
{
	memset(into, 0, sizeof(*into));
	for (; *order; order++)
		if (samples_join(into, &list[*order - 'a']))
			abort();
}

static bool is_same_in_order(const struct samples *list, const char *one, const char *other)
{
	struct samples first, second;
	bool is_same;

	join_in_order(&first, list, one);
	join_in_order(&second, list, other);
	is_same = same_samples(&first, &second);
	samples_deinit(&first);
	samples_deinit(&second);
	return is_same;
}

/* (a, (b, c)) as ((a, b), c). */
static bool is_associative(const struct samples *list)
{
	struct samples left, right, pair;
	bool is_same;

	join_in_order(&left, list, "abc");
	join_in_order(&pair, list, "bc");
	join_in_order(&right, list, "a");
	if (samples_join(&right, &pair))
		abort();
	is_same = same_samples(&left, &right);
	samples_deinit(&left);
	samples_deinit(&right);
	samples_deinit(&pair);
	return is_same;
}

static uint64_t count_units(const struct samples *samples)
{
	uint64_t units = 0;

	for (uint32_t i = 0; i < samples->nr_units; i++)
		units += samples->units[i].units[0] + samples->units[i].units[1];
	return units;
}

static uint64_t count_timed(const struct samples *samples)
{
	uint64_t units = 0;

	for (uint32_t i = 0; i < samples->nr_timings; i++)
		units += samples->timings[i].times[0].of[SAMPLES_OWN].nr +
			 samples->timings[i].times[1].of[SAMPLES_OWN].nr;
	return units;
}

/* What is counted is all there, and what runs have in common only once. */
static bool is_sum(const struct samples *list)
{
	struct samples all;
	uint64_t units = 0, timed = 0;
	bool is_whole;

	join_in_order(&all, list, "abc");
	for (int i = 0; i < NR; i++) {
		units += count_units(&list[i]);
		timed += count_timed(&list[i]);
	}
	is_whole = units == count_units(&all) && timed == count_timed(&all) &&
		   all.nr_objects == FIXTURE_OBJECTS && all.nr_functions == list[0].nr_functions &&
		   all.nr_loops == FIXTURE_LOOPS && all.nr_trees >= list[0].nr_trees / 2 &&
		   all.nr_units < list[0].nr_units + list[1].nr_units + list[2].nr_units &&
		   all.runs == NR && all.lost == list[0].lost + list[1].lost + list[2].lost;
	samples_deinit(&all);
	return is_whole;
}

static void make(struct samples *list, uint64_t seed, struct fixture fixture)
{
	for (int i = 0; i < NR; i++) {
		fixture.state = seed * NR + (uint64_t)i;
		fixture_samples(&fixture, &list[i]);
	}
}

static void free_all(struct samples *list)
{
	for (int i = 0; i < NR; i++)
		samples_deinit(&list[i]);
}

static void test_orders(void)
{
	bool commutes = true, associates = true, is_idempotent = true, sums = true,
	     is_sound = true;

	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		struct samples list[NR], once, twice;

		make(list, seed, (struct fixture){ .nr_functions = FIXTURE_FUNCTIONS,
						   .nr_trees = 40, .nr_units = 200,
						   .nr_timings = 30 });
		commutes &= is_same_in_order(list, "ab", "ba") &&
			    is_same_in_order(list, "abc", "cab") &&
			    is_same_in_order(list, "abc", "bca") &&
			    is_same_in_order(list, "abc", "cba");
		associates &= is_associative(list);
		sums &= is_sum(list);

		/* Canonical order is not changed by being made canonical again. */
		join_in_order(&once, list, "abc");
		join_in_order(&twice, &once, "a");
		is_idempotent &= same_samples(&once, &twice);
		is_sound &= !check_samples(&once);
		samples_deinit(&once);
		samples_deinit(&twice);
		free_all(list);
	}
	ok(commutes, "%d times three random samples: any order gives the same bits", ROUNDS);
	ok(associates, "so does any grouping");
	ok(is_idempotent, "what is in order stays as it is");
	ok(is_sound, "what is joined is sound");
	ok(sums, "counts are sums, what is common is there once");
}

/* More variants than there is room for: those with the smallest hashes stay. */
static void test_limit(void)
{
	struct samples list[NR], all;
	uint32_t of_loop[FIXTURE_LOOPS] = { 0 }, most = 0;

	make(list, 99, (struct fixture){ .nr_functions = FIXTURE_FUNCTIONS, .nr_trees = 200,
					 .nr_units = 45000 });
	join_in_order(&all, list, "abc");
	for (uint32_t i = 0; i < all.nr_units; i++)
		of_loop[all.trees[all.units[i].tree].loop]++;
	for (uint32_t i = 0; i < FIXTURE_LOOPS; i++)
		most = of_loop[i] > most ? of_loop[i] : most;
	ok(most == SAMPLES_MAX_UNITS, "a loop keeps %u of its variants, and not more", most);
	ok(is_same_in_order(list, "abc", "cba"), "the same ones in any order");
	ok(is_associative(list), "and in any grouping");
	samples_deinit(&all);
	free_all(list);
}

/* The same of trees: their counts are what they were, or of the variants left. */
static void test_tree_limit(void)
{
	struct samples list[NR], all;
	uint32_t of_loop[FIXTURE_LOOPS] = { 0 }, partial = 0;
	uint64_t units, *variants;
	bool is_sound = true;

	make(list, 77, (struct fixture){ .nr_functions = FIXTURE_FUNCTIONS, .nr_trees = 45000,
					 .nr_units = 30000 });
	join_in_order(&all, list, "abc");
	variants = fixture_array(all.nr_trees, sizeof(*variants));
	for (uint32_t i = 0; i < all.nr_units; i++)
		variants[all.units[i].tree] += all.units[i].units[0] + all.units[i].units[1];
	for (uint32_t i = 0; i < all.nr_trees; i++) {
		units = all.trees[i].units[0] + all.trees[i].units[1];
		if (of_loop[all.trees[i].loop]++ < SAMPLES_MAX_TREES)
			continue;
		is_sound &= units == variants[i];
		partial++;
	}
	ok(of_loop[0] > SAMPLES_MAX_TREES && partial && is_sound &&
		   all.nr_trees < FIXTURE_LOOPS * (SAMPLES_MAX_TREES + SAMPLES_MAX_UNITS),
	   "of too many trees those stay that are needed (%u)", all.nr_trees);
	ok(is_same_in_order(list, "abc", "cba"), "the same ones in any order");
	ok(is_associative(list), "and in any grouping");
	free(variants);
	samples_deinit(&all);
	free_all(list);
}

/* Runs that saw different waits of one loop, and a third that saw both. */
static void test_loops(void)
{
	struct samples list[NR], all;

	make(list, 7, (struct fixture){ .nr_functions = FIXTURE_FUNCTIONS, .nr_trees = 10,
					.nr_units = 10, .nr_timings = 3 });
	for (int i = 0; i < NR; i++) {
		for (uint32_t j = 0; j < list[i].nr_loops; j++) {
			struct samples_boundary *waits = list[i].loops[j].boundaries;
			uint64_t place = waits[0].return_offset & ~UINT64_C(0xff);

			list[i].loops[j].nr_boundaries = i == 2 ? 2 : 1;
			waits[1] = waits[0];
			waits[0].return_offset = place + (i == 1);
			waits[1].return_offset = place + 1;
		}
		if (samples_hash_all(&list[i]))
			abort();
	}
	join_in_order(&all, list, "ab");
	ok(all.nr_loops == 2 * FIXTURE_LOOPS, "loops without a wait in common are two");
	samples_deinit(&all);
	join_in_order(&all, list, "abc");
	ok(all.nr_loops == FIXTURE_LOOPS, "a run that saw both waits makes them one");
	samples_deinit(&all);
	ok(is_same_in_order(list, "abc", "cab") && is_same_in_order(list, "abc", "acb"),
	   "whenever it comes");
	ok(is_associative(list), "and however they are grouped");
	free_all(list);
}

static void test_refusal(void)
{
	struct samples list[NR], before;

	make(list, 3, (struct fixture){ .nr_functions = 30, .nr_trees = 5, .nr_units = 5 });
	join_in_order(&before, list, "a");
	list[1].objects[0].build_id[0] ^= 1;
	ok(samples_join(&before, &list[1]) == -EINVAL, "another program is refused");
	free_all(&list[0]);
	make(list, 3, (struct fixture){ .nr_functions = 30, .nr_trees = 5, .nr_units = 5 });
	samples_deinit(&list[2]);
	join_in_order(&list[2], list, "a");
	ok(same_samples(&before, &list[2]), "and nothing has changed");
	samples_deinit(&before);
	free_all(list);
}

/* Sums at their end stay there, instead of beginning again. */
static void test_saturation(void)
{
	struct samples list[NR], all;

	make(list, 5, (struct fixture){ .nr_functions = 30, .nr_trees = 5, .nr_units = 5 });
	for (int i = 0; i < NR; i++)
		list[i].lost = UINT64_MAX / 2;
	join_in_order(&all, list, "abc");
	ok(all.lost == UINT64_MAX, "a sum that is too large saturates");
	samples_deinit(&all);
	free_all(list);
}

int main(void)
{
	plan(18);
	test_orders();
	test_limit();
	test_tree_limit();
	test_loops();
	test_refusal();
	test_saturation();
	return tap_status();
}
