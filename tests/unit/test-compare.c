// SPDX-License-Identifier: GPL-2.0
/* How two profiles differ, of one build and of two. */

#include <stdio.h>

#include "synthetic.h"
#include "tap.h"
#include "train/model/compare.h"
#include "train/model/same-function.h"

enum {
	NR_TYPES = 6,
	NR_FUNCTIONS = 3 * NR_TYPES, /* each type calls three of its own */
	NR_UNITS = 2000,
};

struct profile {
	struct samples samples;
	struct model model;
	struct samples_parts times[NR_TYPES];
	struct model_type types[NR_TYPES];
	uint32_t type_of_tree[NR_TYPES];
};

static double normal(void)
{
	return sqrt(-2 * log(synthetic_uniform())) * cos(6.283185307179586 * synthetic_uniform());
}

/* Units of a type that compute so many us, give or take 20 %, and are blocked for 50. */
static void time_type(struct profile *profile, uint32_t type, double us)
{
	struct samples_parts *parts = &profile->times[type];

	memset(parts, 0, sizeof(*parts));
	for (int i = 0; i < NR_UNITS; i++) {
		uint64_t cpu = (uint64_t)(1e3 * us * exp(0.2 * normal()));
		uint64_t blocked = (uint64_t)(5e4 * exp(0.5 * normal()));

		times_add(&parts->of[SAMPLES_CPU], cpu);
		times_add(&parts->of[SAMPLES_BLOCKED], blocked);
		times_add(&parts->of[SAMPLES_OWN], cpu + blocked);
	}
}

static void make(struct profile *profile, const char *build_id, const char *path, bool has_names)
{
	struct samples *samples = &profile->samples;
	char name[16];

	*profile = (struct profile){ 0 };
	synthetic_start(samples, NR_FUNCTIONS, NR_TYPES);
	samples->objects = calloc(1, sizeof(*samples->objects));
	samples->objects[0] = (struct samples_object){ .path = strdup(path), .build_id = strdup(build_id) };
	samples->nr_objects = 1;
	for (uint32_t i = 0; i < NR_FUNCTIONS; i++) {
		snprintf(name, sizeof(name), "function%u", i);
		samples->functions[i].name = has_names ? strdup(name) : NULL;
		samples->functions[i].size = 40 + 37 * (i * 7 % NR_FUNCTIONS);
	}
	samples->nodes = realloc(samples->nodes, (NR_FUNCTIONS + 1) * sizeof(*samples->nodes));
	samples->nr_nodes = NR_FUNCTIONS + 1;
	for (uint32_t i = 0; i < NR_FUNCTIONS; i++)
		samples->nodes[i + 1] = (struct samples_node){ i % 3 ? i : 0, i };
	for (uint32_t i = 0; i < NR_TYPES; i++) {
		samples->trees[i].leaves[0] = 3 * i + 3;
		samples->trees[i].units[0] = NR_UNITS;
		profile->types[i].id = i + 1;
		profile->type_of_tree[i] = i;
		time_type(profile, i, 100 * (i + 1));
	}
	profile->model = (struct model){
		.types = profile->types, .nr_types = NR_TYPES,
		.type_of_tree = profile->type_of_tree, .nr_trees = NR_TYPES,
	};
}

static struct difference compare(const struct profile *a, const struct profile *b)
{
	struct compare_side before = { &a->samples, &a->model, a->times, NULL };
	struct compare_side after = { &b->samples, &b->model, b->times, NULL };
	struct difference ret;

	if (compare_profiles(&before, &after, &ret))
		ret = (struct difference){ 0 };
	return ret;
}

/* How many types changed so. */
static uint32_t count(const struct difference *difference, enum difference_change change)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < difference->nr; i++)
		nr += difference_change(&difference->types[i]) == change;
	return nr;
}

static void test_alike(void)
{
	struct profile a, b;
	struct difference difference;
	uint32_t nr = 0;

	for (int i = 0; i < 200; i++) {
		make(&a, "aa", "/usr/bin/example", true);
		make(&b, "bb", "/opt/bin/example", true);
		difference = compare(&a, &b);
		nr += difference.nr == NR_TYPES && count(&difference, DIFFERENCE_NONE) == NR_TYPES;
		difference_deinit(&difference);
		samples_deinit(&a.samples);
		samples_deinit(&b.samples);
	}
	/* One in a hundred may. */
	ok(nr >= 194, "runs of the same do not differ (%u of 200)", nr);
}

static void test_slower(void)
{
	struct profile a, b;
	struct difference difference;
	uint32_t nr = 0;

	for (int i = 0; i < 200; i++) {
		make(&a, "aa", "/usr/bin/example", true);
		make(&b, "aa", "/usr/bin/example", true);
		time_type(&b, 3, 440);
		difference = compare(&a, &b);
		nr += count(&difference, DIFFERENCE_SLOWER) == 1 &&
		      count(&difference, DIFFERENCE_NONE) == NR_TYPES - 1 &&
		      difference.types[3].part == SAMPLES_CPU;
		difference_deinit(&difference);
		samples_deinit(&a.samples);
		samples_deinit(&b.samples);
	}
	ok(nr >= 194, "a type that computes a tenth more is found, and the part (%u of 200)", nr);
}

static void test_faster(void)
{
	struct profile a, b;
	struct difference difference;

	make(&a, "aa", "/usr/bin/example", true);
	make(&b, "aa", "/usr/bin/example", true);
	time_type(&b, 1, 100);
	difference = compare(&a, &b);
	ok(count(&difference, DIFFERENCE_FASTER) == 1 &&
		   difference_change(&difference.types[1]) == DIFFERENCE_FASTER,
	   "a type that is faster");
	difference_deinit(&difference);
	samples_deinit(&a.samples);
	samples_deinit(&b.samples);
}

/* Type 2 of A is not in B, and the last one of B is not in A. */
static void test_new(void)
{
	struct profile a, b;
	struct difference difference;

	make(&a, "aa", "/usr/bin/example", true);
	make(&b, "bb", "/usr/bin/example", true);
	for (uint32_t i = 6; i < 9; i++)
		b.samples.functions[i].name[0] = 'F';
	difference = compare(&a, &b);
	ok(difference.nr == NR_TYPES + 1 && count(&difference, DIFFERENCE_NEW) == 1 &&
		   count(&difference, DIFFERENCE_GONE) == 1,
	   "a type is gone and another one is new");
	ok(difference.types[2].b == SAMPLES_NONE && difference.types[NR_TYPES].b == 2,
	   "as it calls other functions");
	difference_deinit(&difference);
	b.samples.functions[6].name[0] = b.samples.functions[7].name[0] = 'f';
	difference = compare(&a, &b);
	ok(difference.nr == NR_TYPES && count(&difference, DIFFERENCE_CALLS) == 1 &&
		   difference.types[2].gone.nr == 1 && difference.types[2].gone.functions[0] == 8 &&
		   difference.types[2].added.nr == 1,
	   "if it is one of three, the type is the same, and the function is said");
	difference_deinit(&difference);
	samples_deinit(&a.samples);
	samples_deinit(&b.samples);
}

/* Another build: each eighth function has another size, some are new, offsets moved. */
static void test_same_function(void)
{
	enum { NR = 800 };
	struct same_functions same;
	struct samples a, b;
	uint32_t right = 0, wrong = 0, at = 0;

	synthetic_start(&a, NR, 1);
	synthetic_start(&b, NR, 1);
	for (int i = 0; i < 2; i++) {
		struct samples *samples = i ? &b : &a;

		samples->objects = calloc(1, sizeof(*samples->objects));
		samples->objects[0] = (struct samples_object){ .path = strdup("/usr/bin/example"), .build_id = strdup(i ? "bb" : "aa") };
		samples->nr_objects = 1;
	}
	for (uint32_t i = 0; i < NR; i++)
		a.functions[i].size = 16 * (1 + (uint32_t)(30 * -log(synthetic_uniform())));
	/* Of eight functions one is gone, another one is new, and one grew. */
	for (uint32_t i = 0; i < NR; i++, at++) {
		at += i % 8 == 3;
		b.functions[i].offset = b.functions[i].site = 16 * i + 4096;
		b.functions[i].size = at < NR && i % 8 != 5 ?
					      a.functions[at].size + 48 * (i % 8 == 0) :
					      16 * (1 + synthetic_below(60));
		b.functions[i].sp_delta = at; /* what it is */
		if (i % 8 == 5)
			at--;
	}
	ok(!same_functions_init(&same, &a, &b), "functions of two builds are aligned");
	for (uint32_t i = 0; i < NR; i++)
		for (uint32_t j = 0; j < NR; j++)
			if (same.numbers[1][i] == same.numbers[0][j]) {
				right += i % 8 != 5 && j == b.functions[i].sp_delta;
				wrong += i % 8 == 5 || j != b.functions[i].sp_delta;
			}
	ok(right > 0.75 * NR && wrong < 0.1 * NR, "%u are right, %u wrong of %u", right, wrong, NR);
	same_functions_deinit(&same);
	samples_deinit(&a);
	samples_deinit(&b);
}

static void test_other_build(void)
{
	struct profile a, b;
	struct difference difference;

	make(&a, "aa", "/usr/bin/example", false);
	make(&b, "bb", "/usr/bin/example", false);
	for (uint32_t i = 0; i < NR_FUNCTIONS; i++)
		b.samples.functions[i].offset += 4096 + 32 * i;
	time_type(&b, 4, 600);
	difference = compare(&a, &b);
	ok(count(&difference, DIFFERENCE_SLOWER) == 1 &&
		   count(&difference, DIFFERENCE_NONE) == NR_TYPES - 1,
	   "types of another build without names are found");
	difference_deinit(&difference);
	free(b.samples.objects[0].path);
	b.samples.objects[0].path = strdup("/usr/bin/other");
	difference = compare(&a, &b);
	ok(count(&difference, DIFFERENCE_GONE) == NR_TYPES && difference.lost > 0.99,
	   "those of another program are not");
	difference_deinit(&difference);
	samples_deinit(&a.samples);
	samples_deinit(&b.samples);
}

/* What the module counts says no more of short times than that they are short. */
static void test_live(void)
{
	struct compare_side before, after;
	uint64_t least_ns[NR_TYPES];
	struct difference difference;
	struct samples_parts *times;
	struct profile a;

	make(&a, "aa", "/usr/bin/example", true);
	times = calloc(NR_TYPES, sizeof(*times));
	for (uint32_t i = 0; i < NR_TYPES; i++) {
		times[i].of[SAMPLES_CPU] = a.times[i].of[SAMPLES_CPU];
		times[i].of[SAMPLES_OWN] = a.times[i].of[SAMPLES_OWN];
		times_add_many(&times[i].of[SAMPLES_BLOCKED], 0, NR_UNITS);
		least_ns[i] = 4000000;
	}
	before = after = (struct compare_side){ &a.samples, &a.model, a.times, NULL };
	after.times = times;
	after.least_ns = least_ns;
	ok(!compare_profiles(&before, &after, &difference) &&
		   count(&difference, DIFFERENCE_NONE) == NR_TYPES,
	   "short times of a live profile are not taken for none");
	difference_deinit(&difference);
	free(times);
	samples_deinit(&a.samples);
}

int main(void)
{
	plan(11);
	test_alike();
	test_slower();
	test_faster();
	test_new();
	test_same_function();
	test_other_build();
	test_live();
	return tap_status();
}
