// SPDX-License-Identifier: GPL-2.0
/* Which functions become guards, where the right answer is known. */

#include <time.h>

#include "synthetic.h"
#include "tap.h"
#include "train/guards/features.h"
#include "train/guards/greedy.h"
#include "train/guards/predict.h"
#include "train/guards/select.h"
#include "train/guards/weights.h"

/* Samples made by hand, and what is chosen of them. */
struct fixture {
	struct samples samples;
	struct signatures signatures;
	struct types types;
	double budget[8];
	uint32_t nr_guards;
	bool is_inline;
	uint32_t *chosen;
	uint32_t nr;
	struct select_score score;
};

/* A loop, @nr_types types of one tree each. */
static void fixture_start(struct fixture *fixture, uint32_t nr_functions, uint32_t nr_types)
{
	memset(fixture, 0, sizeof(*fixture));
	synthetic_start(&fixture->samples, nr_functions, nr_types);
	for (int i = 0; i < 8; i++)
		fixture->budget[i] = 2;
}

static void fixture_prepare(struct fixture *fixture)
{
	uint32_t *cluster = calloc(fixture->samples.nr_trees, sizeof(*cluster));

	for (uint32_t i = 0; i < fixture->samples.nr_trees; i++)
		cluster[i] = i;
	signatures_init(&fixture->signatures, &fixture->samples);
	types_init(&fixture->types, &fixture->samples, cluster);
	fixture->chosen = calloc(fixture->samples.nr_functions + 1, sizeof(*fixture->chosen));
	free(cluster);
}

static void choose(struct fixture *fixture, enum select_method method, double slack)
{
	struct select_options options = {
		.method = method,
		.budget = fixture->budget,
		.early_slack = slack,
		.is_inline = fixture->is_inline,
		.nr_guards = fixture->nr_guards,
	};

	fixture->nr = 0;
	if (select_guards(&fixture->signatures, &fixture->types, &options, fixture->chosen,
			  &fixture->nr))
		fixture->nr = UINT32_MAX;
	else
		select_rate(&fixture->signatures, &fixture->types, fixture->chosen, fixture->nr,
			    &fixture->score);
}

static bool has(const struct fixture *fixture, uint32_t function)
{
	for (uint32_t i = 0; i < fixture->nr; i++)
		if (fixture->chosen[i] == function)
			return true;
	return false;
}

static void fixture_end(struct fixture *fixture)
{
	signatures_deinit(&fixture->signatures);
	types_deinit(&fixture->types);
	samples_deinit(&fixture->samples);
	free(fixture->chosen);
}

/* @units units of training, and as many held back, of @tree with @unit's hits. */
static void add(struct fixture *fixture, struct synthetic_unit *unit, uint32_t tree,
		uint32_t units)
{
	for (uint32_t i = 0; i < units; i++) {
		synthetic_add(&fixture->samples, unit, tree, 0);
		synthetic_add(&fixture->samples, unit, tree, 1);
	}
	unit->nr = 0;
}

static struct synthetic_unit unit;

/* Function 0 is in every unit, 1 to 4 mark a type each. */
static void test_markers(void)
{
	struct fixture fixture;

	fixture_start(&fixture, 6, 4);
	for (uint32_t type = 0; type < 4; type++) {
		synthetic_hit(&unit, 0, 16, 1);
		synthetic_hit(&unit, 1 + type, 32, 1);
		add(&fixture, &unit, type, 100);
	}
	fixture_prepare(&fixture);
	fixture.budget[0] = 1;
	choose(&fixture, SELECT_INFORMATION, 0);
	ok(fixture.score.end > 0.999, "type markers identify all types");
	ok(fixture.nr == 3 && fixture.score.hits < 0.76 && !has(&fixture, 0),
	   "three of four will do, and nothing that all types hit");
	fixture.budget[0] = 0.3;
	choose(&fixture, SELECT_INFORMATION, 0);
	ok(fixture.nr == 1 && fixture.score.hits <= 0.3, "a small budget is kept");
	fixture.budget[0] = 0;
	choose(&fixture, SELECT_INFORMATION, 0);
	ok(fixture.nr == 0 && fabs(fixture.score.end - 0.25) < 1e-9, "so is none at all");
	fixture_end(&fixture);
}

/* One function at a depth for each type, against markers that take more hits. */
static void test_depths(void)
{
	struct fixture fixture;

	fixture_start(&fixture, 6, 4);
	for (uint32_t type = 0; type < 4; type++) {
		synthetic_hit(&unit, 0, 16 * (1 + type), 1);
		synthetic_hit(&unit, 1 + type, 32, 2);
		add(&fixture, &unit, type, 100);
	}
	fixture_prepare(&fixture);
	fixture.budget[0] = 1;
	choose(&fixture, SELECT_INFORMATION, 0);
	ok(fixture.nr == 1 && has(&fixture, 0) && fixture.score.end > 0.999,
	   "one function identifies types by its depth");
	fixture_end(&fixture);
}

/* The only function that distinguishes the types is hit @hits times in a unit. */
static uint32_t choose_hot(uint16_t hits)
{
	struct fixture fixture;
	uint32_t nr;

	fixture_start(&fixture, 2, 2);
	synthetic_hit(&unit, 0, 16, 1);
	add(&fixture, &unit, 0, 1000);
	synthetic_hit(&unit, 0, 16, 1);
	synthetic_hit(&unit, 1, 16, hits);
	add(&fixture, &unit, 1, 10);
	fixture_prepare(&fixture);
	choose(&fixture, SELECT_INFORMATION, 0);
	nr = fixture.nr;
	fixture_end(&fixture);
	return nr;
}

/* Three types need a function each; a unit of @half hits each of them @hits times. */
static uint32_t choose_batch(uint16_t hits, int half)
{
	struct fixture fixture;
	uint32_t nr;

	fixture_start(&fixture, 3, 5);
	for (uint32_t type = 0; type < 3; type++) {
		synthetic_hit(&unit, type, 16, 1);
		add(&fixture, &unit, type, 100);
	}
	for (uint32_t i = 0; i < 3; i++)
		synthetic_hit(&unit, i, 32, hits);
	synthetic_add(&fixture.samples, &unit, 3, half);
	unit.nr = 0;
	add(&fixture, &unit, 4, 100);
	fixture_prepare(&fixture);
	choose(&fixture, SELECT_INFORMATION, 0);
	nr = fixture.nr;
	fixture_end(&fixture);
	return nr;
}

static void test_hot(void)
{
	ok(choose_hot(16) == 1 && choose_hot(17) == 0, "more than 16 hits in a unit are too many");
	ok(choose_batch(2, 0) == 3 && choose_batch(3, 0) == 2,
	   "nor may a unit hit several guards often, for another may more often");
	ok(choose_batch(2, 1) == 3 && choose_batch(3, 1) == 2, "be it held back");
}

static void test_stepped(void)
{
	struct fixture fixture;

	fixture_start(&fixture, 2, 2);
	synthetic_hit(&unit, 0, 16, 1);
	synthetic_hit(&unit, 1, 16, 2);
	add(&fixture, &unit, 0, 100);
	add(&fixture, &unit, 1, 100);
	fixture.samples.functions[0].cost = SAMPLES_COST_STEPPED;
	fixture_prepare(&fixture);
	choose(&fixture, SELECT_INFORMATION, 0);
	ok(fixture.nr == 1 && has(&fixture, 1), "two cheap hits rather than a stepped one");
	fixture.budget[0] = 0.9;
	choose(&fixture, SELECT_INFORMATION, 0);
	ok(fixture.nr == 0, "and what is stepped costs the budget 8 hits");
	fixture_end(&fixture);
}

/* Function 0 is called too often for a breakpoint, and has a window. */
static void test_jumps(void)
{
	struct fixture fixture;

	fixture_start(&fixture, 2, 2);
	add(&fixture, &unit, 0, 100);
	synthetic_hit(&unit, 0, 16, 40);
	synthetic_hit(&unit, 1, 16, 40);
	add(&fixture, &unit, 1, 100);
	fixture.samples.functions[0].cost = SAMPLES_COST_STEPPED | SAMPLES_COST_WINDOW;
	fixture_prepare(&fixture);
	choose(&fixture, SELECT_INFORMATION, 0);
	ok(fixture.nr == 0, "40 hits of a breakpoint are too many");
	fixture.is_inline = true;
	choose(&fixture, SELECT_INFORMATION, 0);
	ok(fixture.nr == 1 && has(&fixture, 0) && fixture.score.end > 0.999,
	   "of a jump they are not, wherever its function has one");
	fixture.budget[0] = 1.2;
	choose(&fixture, SELECT_INFORMATION, 0);
	ok(fixture.nr == 0, "and cost as much as 1.25 of a breakpoint");
	fixture_end(&fixture);
}

/* Function 0 distinguishes types 0 and 1 of loop 0, and is all that loop 1 does. */
static void test_loops(void)
{
	struct fixture fixture;

	fixture_start(&fixture, 3, 4);
	fixture.samples.nr_loops = 2;
	fixture.samples.loops = realloc(fixture.samples.loops, 2 * sizeof(struct samples_loop));
	memset(fixture.samples.loops, 0, 2 * sizeof(struct samples_loop));
	fixture.samples.trees[2].loop = fixture.samples.trees[3].loop = 1;
	synthetic_hit(&unit, 0, 16, 1);
	add(&fixture, &unit, 0, 100);
	synthetic_hit(&unit, 1, 16, 1);
	synthetic_hit(&unit, 2, 16, 2);
	add(&fixture, &unit, 1, 100);
	synthetic_hit(&unit, 0, 16, 8);
	add(&fixture, &unit, 2, 100);
	synthetic_hit(&unit, 0, 16, 8);
	synthetic_hit(&unit, 1, 16, 1);
	add(&fixture, &unit, 3, 100);
	fixture_prepare(&fixture);
	choose(&fixture, SELECT_INFORMATION, 0);
	ok(fixture.nr == 1 && has(&fixture, 1) && fixture.score.end > 0.999,
	   "each loop keeps to its budget, with guards for both");
	fixture_end(&fixture);
}

/* Late markers are hit once, early ones twice. */
static void test_early(void)
{
	struct fixture fixture;

	fixture_start(&fixture, 20, 4);
	for (uint32_t type = 0; type < 4; type++) {
		synthetic_hit(&unit, 8 + type, 16, 2);
		for (uint32_t i = 0; i < 8; i++)
			synthetic_hit(&unit, 12 + i, 16, 1);
		synthetic_hit(&unit, type, 16, 1);
		add(&fixture, &unit, type, 100);
	}
	fixture_prepare(&fixture);
	choose(&fixture, SELECT_INFORMATION, 0);
	ok(fixture.score.end > 0.999 && fixture.score.hits < 0.8,
	   "the cheapest guards, if only the end counts");
	ok(fixture.score.half < 0.3, "which come late");
	choose(&fixture, SELECT_INFORMATION, 0.01);
	/* that none was hit identifies the fourth type only at the end */
	ok(fixture.score.end > 0.999 && fixture.score.half > 0.74,
	   "those that are hit early, if that counts too (%.3f)", fixture.score.half);
	fixture_end(&fixture);
}

/*
 * Function 0 marks a type early, function 1 nearly as well at the end; two units of a thousand,
 * which function 2 marks, take longer.  The budget is for the first, or for the others.
 */
static void test_rare(void)
{
	struct fixture fixture;

	fixture_start(&fixture, 12, 3);
	for (uint32_t kind = 0; kind < 4; kind++) {
		static const uint32_t units[] = { 7000, 2970, 30, 20 };

		if (kind == 1 || kind == 2)
			synthetic_hit(&unit, 0, 16, 1);
		for (uint32_t i = 0; i < 8; i++)
			synthetic_hit(&unit, 4 + i, 16, 1);
		if (kind == 1)
			synthetic_hit(&unit, 1, 16, 1);
		if (kind == 3)
			synthetic_hit(&unit, 2, 16, 1);
		add(&fixture, &unit, kind < 2 ? kind : kind - 1, units[kind]);
	}
	for (uint32_t i = 0; i < fixture.samples.nr_units; i++)
		fixture.samples.units[i].least_ns = fixture.samples.units[i].tree == 2 ? 25000 : 10000;
	fixture_prepare(&fixture);
	fixture.budget[0] = 0.3;
	choose(&fixture, SELECT_INFORMATION, 0.01);
	ok(has(&fixture, 2) && fixture.score.spread < 0.0001,
	   "what is rare and long is not given up for a verdict half-way (%.5f)", fixture.score.spread);
	fixture_end(&fixture);
}

static void test_paper(void)
{
	struct fixture fixture;

	fixture_start(&fixture, 6, 4);
	synthetic_hit(&unit, 0, 16, 1);
	synthetic_hit(&unit, 1, 16, 30);
	add(&fixture, &unit, 0, 1);
	synthetic_hit(&unit, 0, 16, 1);
	synthetic_hit(&unit, 2, 16, 1);
	add(&fixture, &unit, 1, 100);
	synthetic_hit(&unit, 0, 16, 1);
	synthetic_hit(&unit, 2, 16, 1);
	synthetic_hit(&unit, 3, 16, 4);
	add(&fixture, &unit, 2, 100);
	/* held back, with which function 1 would be of two types; and of no type */
	synthetic_hit(&unit, 1, 16, 1);
	synthetic_hit(&unit, 4, 16, 1);
	synthetic_add(&fixture.samples, &unit, 1, 1);
	unit.nr = 0;
	synthetic_hit(&unit, 5, 16, 1);
	add(&fixture, &unit, 3, 1);
	fixture_prepare(&fixture);
	fixture.types.of_tree[3] = SAMPLES_NONE;
	choose(&fixture, SELECT_PAPER, 0);
	ok(fixture.nr == 2 && has(&fixture, 1) && has(&fixture, 2),
	   "the paper takes the fewest types first, hot or not, within the budget");
	fixture.nr_guards = 3;
	choose(&fixture, SELECT_PAPER, 0);
	ok(fixture.nr == 3 && !has(&fixture, 0), "or as many as are wanted, whatever they cost");
	fixture.nr_guards = 9;
	choose(&fixture, SELECT_PAPER, 0);
	ok(fixture.nr == 4 && !has(&fixture, 4) && !has(&fixture, 5),
	   "or all that were learnt from");
	fixture_end(&fixture);
}

static const struct synthetic programs[] = {
	{ .types = 30, .functions = 300, .parts = 40, .parts_per_type = 4, .calls_per_part = 20,
	  .noise = 3, .noise_chance = 0.3, .hot = 2, .units = 1000, .stepped = 7 },
	{ .types = 12, .functions = 60, .parts = 10, .parts_per_type = 3, .calls_per_part = 8,
	  .noise = 5, .noise_chance = 0.5, .units = 1000 },
	{ .types = 50, .functions = 400, .parts = 20, .parts_per_type = 6, .calls_per_part = 15,
	  .noise = 4, .noise_chance = 0.2, .hot = 1, .units = 1500 },
};

enum {
	NR_PROGRAMS = sizeof(programs) / sizeof(programs[0]),
};

/* Accuracy, lazy less eager: the mean over objectives and prices, and the worst. */
static void compare_lazy(struct fixture *fixture, double hits, double *mean, double *worst,
			 uint32_t *equal)
{
	uint32_t *eager = calloc(fixture->samples.nr_functions + 1, sizeof(*eager)), nr;
	struct select_score lazy_score, eager_score;
	const struct features_options table = { 0 };
	struct features features;

	features_init(&features, &fixture->signatures, &fixture->types, &table);
	fixture->budget[0] = hits;
	*mean = *worst = 0;
	*equal = 0;
	for (int way = 0; way < 6; way++) {
		struct greedy_options options = { way / 3, way % 3, 16, fixture->budget, false };

		greedy_choose(&features, &options, fixture->chosen, &fixture->nr);
		options.is_eager = true;
		greedy_choose(&features, &options, eager, &nr);
		select_rate(&fixture->signatures, &fixture->types, fixture->chosen, fixture->nr,
			    &lazy_score);
		select_rate(&fixture->signatures, &fixture->types, eager, nr, &eager_score);
		*equal += nr == fixture->nr && !memcmp(eager, fixture->chosen, nr * sizeof(*eager));
		*mean += (lazy_score.end - eager_score.end) / 6;
		if (lazy_score.end - eager_score.end < *worst)
			*worst = lazy_score.end - eager_score.end;
	}
	free(eager);
	features_deinit(&features);
}

static void test_lazy(void)
{
	for (int i = 0; i < NR_PROGRAMS; i++) {
		struct fixture fixture = { 0 };
		double mean, worst;
		uint32_t equal;

		synthetic_make(&programs[i], &fixture.samples);
		fixture_prepare(&fixture);
		compare_lazy(&fixture, 2, &mean, &worst, &equal);
		ok(mean > -0.02, "program %d: lazy is as good as eager in the mean", i);
		diag("%.2f points in the mean, %.2f at worst; %u of 6 equal", 100 * mean,
		     100 * worst, equal);
		fixture_end(&fixture);
	}
}

/* The same program with its functions in reverse order. */
static void reverse_functions(struct samples *samples)
{
	uint32_t last = samples->nr_functions - 1;

	for (uint32_t i = 0; i <= last / 2; i++) {
		struct samples_function function = samples->functions[i];

		samples->functions[i] = samples->functions[last - i];
		samples->functions[last - i] = function;
	}
	for (uint32_t i = 0; i < samples->nr_units; i++)
		for (uint32_t j = 0; j < samples->units[i].nr_hits; j++)
			samples->units[i].hits[j].function =
				last - samples->units[i].hits[j].function;
}

static void test_determinism(void)
{
	uint32_t first[400], nr;
	struct fixture fixture = { 0 };
	struct select_score score;

	synthetic_make(&programs[0], &fixture.samples);
	fixture_prepare(&fixture);
	fixture.budget[0] = 2;
	choose(&fixture, SELECT_INFORMATION, SELECT_EARLY_SLACK);
	score = fixture.score;
	nr = fixture.nr;
	memcpy(first, fixture.chosen, nr * sizeof(*first));
	memset(fixture.chosen, 0xff, nr * sizeof(*first));
	choose(&fixture, SELECT_INFORMATION, SELECT_EARLY_SLACK);
	ok(nr && nr == fixture.nr && !memcmp(first, fixture.chosen, nr * sizeof(*first)),
	   "the same samples give the same guards");
	signatures_deinit(&fixture.signatures);
	types_deinit(&fixture.types);
	free(fixture.chosen);
	reverse_functions(&fixture.samples);
	fixture_prepare(&fixture);
	choose(&fixture, SELECT_INFORMATION, SELECT_EARLY_SLACK);
	ok(fabs(fixture.score.end - score.end) < 0.01,
	   "and in another order as good ones (%.4f, %.4f)", score.end, fixture.score.end);
	fixture_end(&fixture);
}

/* What is held back must not be looked at. */
static void test_held_back(void)
{
	uint32_t first[400], nr;
	struct fixture fixture = { 0 };

	synthetic_make(&programs[0], &fixture.samples);
	fixture_prepare(&fixture);
	choose(&fixture, SELECT_INFORMATION, SELECT_EARLY_SLACK);
	nr = fixture.nr;
	memcpy(first, fixture.chosen, nr * sizeof(*first));
	for (uint32_t i = 0; i < fixture.samples.nr_units; i++)
		fixture.samples.units[i].units[1] = i;
	choose(&fixture, SELECT_INFORMATION, SELECT_EARLY_SLACK);
	ok(nr == fixture.nr && !memcmp(first, fixture.chosen, nr * sizeof(*first)),
	   "held-back units do not change the choice");
	fixture_end(&fixture);
}

static void test_speed(void)
{
	struct synthetic program = { .types = 60, .functions = 700, .parts = 80,
				     .parts_per_type = 5, .calls_per_part = 40, .noise = 25,
				     .noise_chance = 0.3, .hot = 3, .units = 2100 };
	struct fixture fixture = { 0 };
	double seconds;
	clock_t start;

	synthetic_make(&program, &fixture.samples);
	fixture_prepare(&fixture);
	fixture.budget[0] = 2;
	start = clock();
	choose(&fixture, SELECT_INFORMATION, SELECT_EARLY_SLACK);
	seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
	diag("%u variants, %zu hits: %.2f s, %.1f %% right", fixture.samples.nr_units,
	     fixture.signatures.first_hit[fixture.samples.nr_units], seconds,
	     100 * fixture.score.end);
#ifdef __SANITIZE_ADDRESS__
	skip(1, "the sanitizers take time");
#else
	ok(seconds < 5, "4,000 variants take seconds");
#endif
	fixture_end(&fixture);
}

int main(void)
{
	plan(28);
	test_markers();
	test_depths();
	test_hot();
	test_stepped();
	test_jumps();
	test_loops();
	test_early();
	test_rare();
	test_paper();
	test_lazy();
	test_determinism();
	test_held_back();
	test_speed();
	return tap_status();
}
