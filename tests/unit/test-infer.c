// SPDX-License-Identifier: GPL-2.0
/* Rule W and the paper's rule, against slow and plain versions of them. */

#include <math.h>
#include <stdint.h>
#include <string.h>

#include <perfguard/infer.h>

#include "synthetic.h"
#include "tap.h"

enum {
	TYPES = 40,
	CONTEXTS = 150,
	ROOM = 4096,
};

/* A table with room for the arrays it points to. */
struct fixture {
	struct infer_table table;
	struct infer_type types[TYPES];
	struct infer_context contexts[CONTEXTS];
	struct infer_weight weights[ROOM];
	uint64_t room[2 * ROOM];
	struct infer_state *state;
};

static void fixture_link(struct fixture *fixture)
{
	fixture->table.types = fixture->types;
	fixture->table.contexts = fixture->contexts;
	fixture->table.weights = fixture->weights;
}

static int fixture_init(struct fixture *fixture)
{
	fixture_link(fixture);
	fixture->state = calloc(1, infer_state_size(&fixture->table));
	return infer_table_init(&fixture->table, fixture->room);
}

static uint16_t early_of(const struct fixture *fixture)
{
	return infer_early(&fixture->table, fixture->state);
}

static uint16_t end_of(const struct fixture *fixture)
{
	return infer_end(&fixture->table, fixture->state);
}

static uint32_t hits_of(const struct fixture *fixture, uint16_t type)
{
	return fixture->state->scores[fixture->table.rank_of[type] - 1].hits;
}

/*
 * The text of the paper's Figure 4 was not at hand; this is an example of its
 * kind, made from the algorithm: three types, two guards, one of them hit at
 * two depths.
 */
enum { A, B, C };

static void figure(struct fixture *fixture, bool is_paper)
{
	static const uint8_t candidates[][3] = { { A, B, C }, { A, B }, { B, C } };
	static const struct infer_context contexts[] = {
		{ .site = 1, .depth = 0x40 }, { .site = 1, .depth = 0x80 },
		{ .site = 2, .depth = 0x60 },
	};
	static const uint32_t nr[] = { 3, 2, 2 };

	memset(fixture, 0, sizeof(*fixture));
	fixture->types[A].threshold_ns = 300;
	fixture->types[B].threshold_ns = 100;
	fixture->types[C].threshold_ns = 200;
	fixture->table.nr_types = 3;
	fixture->table.nr_contexts = 3;
	fixture->table.paper = is_paper;
	for (uint32_t i = 0; i < 3; i++) {
		fixture->contexts[i] = contexts[i];
		fixture->contexts[i].first_weight = fixture->table.nr_weights;
		fixture->contexts[i].nr_weights = nr[i];
		for (uint32_t j = 0; j < nr[i]; j++)
			fixture->weights[fixture->table.nr_weights++] =
				(struct infer_weight){ candidates[i][j], 1, 1 };
	}
}

static void test_paper(void)
{
	struct fixture fixture;
	struct infer_state *state;

	figure(&fixture, true);
	ok(!fixture_init(&fixture), "the paper's example is a table");
	state = fixture.state;
	infer_begin(&fixture.table, state);
	ok(early_of(&fixture) == INFER_NO_TYPE, "no hit, no type");
	ok(!infer_hit(&fixture.table, state, 3, 0x40) &&
	   !infer_hit(&fixture.table, state, 1, 0x60) && end_of(&fixture) == INFER_NO_TYPE,
	   "what training did not see does not count");
	infer_hit(&fixture.table, state, 1, 0x40);
	ok(early_of(&fixture) == B, "one hit each: the smallest threshold");
	infer_hit(&fixture.table, state, 1, 0x80);
	ok(early_of(&fixture) == B, "A and B have two each: still B");
	infer_hit(&fixture.table, state, 1, 0x80);
	ok(early_of(&fixture) == B && hits_of(&fixture, A) == 3 && hits_of(&fixture, B) == 3,
	   "a hit at the same depth counts again");
	infer_hit(&fixture.table, state, 2, 0x60);
	ok(end_of(&fixture) == B && hits_of(&fixture, B) == 4 && hits_of(&fixture, C) == 2,
	   "the most hits win");
	infer_begin(&fixture.table, state);
	ok(early_of(&fixture) == INFER_NO_TYPE, "the next unit starts again");
	infer_hit(&fixture.table, state, 2, 0x60);
	ok(end_of(&fixture) == B && hits_of(&fixture, C) == 1, "with no hits but its own");
	for (int i = 0; i < 100000; i++)
		infer_hit(&fixture.table, state, 2, 0x60);
	ok(hits_of(&fixture, B) == 100001, "many hits do not overflow");
	free(fixture.state);
	fixture.types[B].threshold_ns = 0;
	fixture_init(&fixture);
	infer_begin(&fixture.table, fixture.state);
	infer_hit(&fixture.table, fixture.state, 2, 0x60);
	ok(end_of(&fixture) == C, "no threshold loses a tie");
	free(fixture.state);
}

static void test_once(void)
{
	struct fixture fixture;

	figure(&fixture, false);
	fixture.types[A].base_early = 1;
	fixture.types[C].base_final = 1;
	ok(!fixture_init(&fixture), "the same with rule W");
	infer_begin(&fixture.table, fixture.state);
	ok(early_of(&fixture) == A && end_of(&fixture) == C,
	   "no hit: the type of the highest start score");
	infer_hit(&fixture.table, fixture.state, 1, 0x80);
	ok(early_of(&fixture) == A && end_of(&fixture) == B,
	   "a tie goes to the smaller threshold");
	infer_hit(&fixture.table, fixture.state, 1, 0x80);
	infer_hit(&fixture.table, fixture.state, 1, 0x80);
	ok(infer_get(&fixture.table, fixture.state, A, 0) == 2 && fixture.state->contexts == 1,
	   "a context counts once a unit");
	ok(infer_margin(&fixture.table, fixture.state, 0) == 1 &&
	   infer_margin(&fixture.table, fixture.state, 1) == 0, "and margins are returned");
	free(fixture.state);
}

static void test_fit(void)
{
	struct fixture fixture;
	struct infer_state *state;

	figure(&fixture, false);
	fixture.types[A].base_final = 1;
	for (int i = A; i <= C; i++)
		fixture.types[i].least_final = 2;
	fixture_init(&fixture);
	state = fixture.state;
	infer_begin(&fixture.table, state);
	ok(infer_fit(&fixture.table, state) == INFER_FIT_SHORT,
	   "a unit that met nothing is short of its type's contexts");
	infer_hit(&fixture.table, state, 1, 0x40);
	ok(infer_fit(&fixture.table, state) == INFER_FIT_WHOLE && infer_fits(&fixture.table, state),
	   "it fits once its score is what training saw");
	infer_hit(&fixture.table, state, 2, 0x60);
	ok(end_of(&fixture) == B && infer_fit(&fixture.table, state) == INFER_FIT_WHOLE,
	   "also that of another type");
	fixture.types[B].least_final = 3;
	ok(infer_fit(&fixture.table, state) == INFER_FIT_SHORT &&
	   !infer_fits(&fixture.table, state), "or is short of that");
	free(state);
	fixture.types[A].base_final = 9;
	fixture_init(&fixture);
	state = fixture.state;
	infer_begin(&fixture.table, state);
	infer_hit(&fixture.table, state, 2, 0x60);
	ok(end_of(&fixture) == A && infer_fit(&fixture.table, state) == INFER_FIT_NONE,
	   "a context that its type never has makes it none, whatever the score");
	free(fixture.state);
}

static double random_chance(void)
{
	return 0.003 + 0.994 * synthetic_uniform();
}

/* What random tables are made from, for the reference in doubles. */
struct truth {
	double prior[TYPES];
	double chance[CONTEXTS][TYPES]; /* 0: no candidate */
};

static void random_fixture(struct fixture *fixture, struct truth *truth, uint32_t nr_types,
			   uint32_t nr_contexts)
{
	double absence[TYPES] = { 0 };

	memset(fixture, 0, sizeof(*fixture));
	memset(truth, 0, sizeof(*truth));
	fixture->table.nr_types = nr_types;
	fixture->table.nr_contexts = nr_contexts;
	for (uint32_t i = 0; i < nr_contexts; i++) {
		fixture->contexts[i] = (struct infer_context){
			.site = i / 3,
			.depth = 16 * (i % 3 + synthetic_below(2) * 64),
			.first_weight = fixture->table.nr_weights,
		};
		for (uint32_t j = 0; j < nr_types; j++) {
			double p = random_chance();

			if (synthetic_below(5))
				continue;
			truth->chance[i][j] = p;
			absence[j] += log2(1 - p);
			fixture->contexts[i].nr_weights++;
			fixture->weights[fixture->table.nr_weights++] = (struct infer_weight){
				.type = (uint16_t)j,
				.early = (uint8_t)round(4 * (log2(p) + 10)),
				.final = (uint8_t)round(4 * (log2(p / (1 - p)) + 10)),
			};
		}
	}
	for (uint32_t j = 0; j < nr_types; j++) {
		truth->prior[j] = log2(random_chance());
		/* few different thresholds: ties */
		fixture->types[j].threshold_ns = synthetic_below(4);
		fixture->types[j].base_early = (int16_t)round(4 * truth->prior[j]);
		fixture->types[j].base_final = (int16_t)round(4 * (truth->prior[j] + absence[j]));
	}
}

/* All scores again from the set of contexts met, in integers; the best type. */
static uint32_t recompute(const struct fixture *fixture, const bool *met, bool is_final)
{
	int best_score = 0;
	uint32_t best = INFER_NO_TYPE;

	for (uint32_t j = 0; j < fixture->table.nr_types; j++) {
		int score = is_final ? fixture->types[j].base_final : fixture->types[j].base_early;
		uint64_t limit = fixture->types[j].threshold_ns, other;

		for (uint32_t i = 0; i < fixture->table.nr_contexts; i++)
			for (uint32_t k = 0; met[i] && k < fixture->contexts[i].nr_weights; k++) {
				const struct infer_weight *weight =
					&fixture->weights[fixture->contexts[i].first_weight + k];

				if (weight->type == j)
					score += is_final ? weight->final : weight->early;
			}
		limit = limit ? limit : UINT64_MAX;
		other = best == INFER_NO_TYPE ? 0 : fixture->types[best].threshold_ns;
		other = other ? other : UINT64_MAX;
		if (best == INFER_NO_TYPE || score > best_score ||
		    (score == best_score && limit < other)) {
			best = j;
			best_score = score;
		}
	}
	return best;
}

/* The scores in doubles, less those a type has that is nowhere a candidate. */
static double reference(const struct fixture *fixture, const struct truth *truth, const bool *met,
			uint32_t type, bool is_final)
{
	double score = truth->prior[type];

	for (uint32_t i = 0; i < fixture->table.nr_contexts; i++) {
		double p = truth->chance[i][type];

		if (p <= 0)
			continue;
		if (met[i])
			score += log2(p) + 10;
		else if (is_final)
			score += log2(1 - p);
	}
	return score;
}

/* How far any score is from the reference, as a share of what rounding allows. */
static double worst_error(const struct fixture *fixture, const struct truth *truth,
			  const bool *met, uint32_t nr_met)
{
	double worst = 0;

	for (uint32_t j = 0; j < fixture->table.nr_types; j++) {
		for (int is_final = 0; is_final < 2; is_final++) {
			double is = infer_get(&fixture->table, fixture->state, j, is_final) / 4.0;
			double error = fabs(is - reference(fixture, truth, met, j, is_final)) /
				       (0.125 * (1 + nr_met));

			if (error > worst)
				worst = error;
		}
	}
	return worst;
}

/* Which types it may still be of, as a hash. */
static uint64_t may_be(const struct infer_table *table, const struct infer_state *state)
{
	uint64_t hash = 1;

	for (uint32_t i = 0; i < table->nr_types; i++)
		hash = (hash + (uint64_t)infer_may_be(table, state, (uint16_t)i)) * INFER_GOLDEN;
	return hash;
}

/* All results of a unit. */
struct results {
	uint32_t contexts, best_early, best_final, margins[2];
	uint64_t may_be;
	enum infer_fit fit;
};

static struct results results_of(const struct infer_table *table, const struct infer_state *state)
{
	struct results results;

	memset(&results, 0, sizeof(results));
	results.contexts = state->contexts;
	results.best_early = state->best_early;
	results.best_final = state->best_final;
	results.margins[0] = infer_margin(table, state, 0);
	results.margins[1] = infer_margin(table, state, 1);
	results.may_be = may_be(table, state);
	results.fit = infer_fit(table, state);
	return results;
}

/* The same of the same contexts in another order. */
static bool recount_agrees(const struct fixture *fixture, const bool *met)
{
	const struct infer_table *table = &fixture->table;
	struct infer_state *state = calloc(1, infer_state_size(table));
	struct results before = results_of(table, fixture->state), after;

	infer_begin(table, state);
	for (uint32_t i = table->nr_contexts; i--;) {
		if (!met[i])
			continue;
		infer_mark(table, state, i);
		infer_add(table, state, i);
	}
	after = results_of(table, state);
	free(state);
	return !memcmp(&before, &after, sizeof(before));
}

/* Random units: after each hit all is as if computed again. */
static bool run_units(struct fixture *fixture, const struct truth *truth, uint32_t units,
		      double *error)
{
	bool met[CONTEXTS];

	for (uint32_t unit = 0; unit < units; unit++) {
		uint32_t hits = synthetic_below(12), nr_met = 0;

		memset(met, 0, sizeof(met));
		infer_begin(&fixture->table, fixture->state);
		for (uint32_t hit = 0; hit <= hits; hit++) {
			uint32_t at = synthetic_below(fixture->table.nr_contexts);
			double now;

			if (early_of(fixture) != recompute(fixture, met, false) ||
			    end_of(fixture) != recompute(fixture, met, true))
				return false;
			if (synthetic_below(8) == 0 && !recount_agrees(fixture, met))
				return false;
			now = worst_error(fixture, truth, met, nr_met);
			*error = now > *error ? now : *error;
			if (hit && synthetic_below(4) == 0)
				at = 0;
			infer_hit(&fixture->table, fixture->state, fixture->contexts[at].site,
				  fixture->contexts[at].depth);
			nr_met += !met[at];
			met[at] = true;
		}
	}
	return true;
}

static void test_random(void)
{
	struct fixture *fixture = malloc(sizeof(*fixture));
	struct truth *truth = malloc(sizeof(*truth));
	bool all_right = true, all_wrap = true, all_careful = true;
	double error = 0;

	for (int i = 0; i < 200; i++) {
		random_fixture(fixture, truth, 1 + synthetic_below(TYPES),
			       1 + synthetic_below(CONTEXTS));
		if (fixture_init(fixture) == -EEXIST) {
			free(fixture->state);
			continue;
		}
		all_right &= run_units(fixture, truth, 10, &error);
		fixture->state->epoch = UINT16_MAX - 5;
		all_wrap &= run_units(fixture, truth, 10, &error);
		all_wrap &= fixture->state->epoch < 10;
		fixture->table.nr_safe = synthetic_below(4);
		all_careful &= run_units(fixture, truth, 10, &error);
		free(fixture->state);
	}
	ok(all_right, "after each hit the best types are those computed again, in any order");
	ok(all_wrap, "also where epochs wrap");
	ok(all_careful, "and where a score may become too large");
	ok(error <= 1.0001, "no score is further from the logarithms than rounding (%.3f)", error);
	free(fixture);
	free(truth);
}

/* A state of a unit 2^32 units ago must not come back. */
static void test_wrap(void)
{
	struct fixture fixture;

	figure(&fixture, false);
	fixture_init(&fixture);
	fixture.state->epoch = UINT16_MAX;
	for (uint32_t i = 0; i < 3; i++)
		fixture.state->scores[i] = (struct infer_score){ .epoch = 1, .early = 99 };
	infer_seen(&fixture.table, fixture.state)[0] = (struct infer_seen){ 1, ~0u };
	infer_begin(&fixture.table, fixture.state);
	ok(fixture.state->epoch == 1 && infer_get(&fixture.table, fixture.state, A, 0) == 0 &&
	   infer_hit(&fixture.table, fixture.state, 1, 0x40) && fixture.state->contexts == 1,
	   "epochs wrap to a clean state");
	free(fixture.state);
}

static void test_refusals(void)
{
	struct fixture fixture;

	figure(&fixture, false);
	fixture.weights[2].type = 3;
	ok(fixture_init(&fixture) == -EINVAL, "a candidate that is no type is refused");
	free(fixture.state);
	figure(&fixture, false);
	fixture.weights[2].final = 128;
	ok(fixture_init(&fixture) == -EINVAL, "so is a weight beyond 127");
	free(fixture.state);
	figure(&fixture, false);
	fixture.contexts[2].first_weight = UINT32_MAX;
	ok(fixture_init(&fixture) == -EINVAL, "and a context beyond the weights");
	free(fixture.state);
	figure(&fixture, false);
	fixture.contexts[1].depth = 0x40;
	ok(fixture_init(&fixture) == -EEXIST, "and a context that is there twice");
	free(fixture.state);
	memset(&fixture, 0, sizeof(fixture));
	ok(!fixture_init(&fixture), "a loop without types and guards has a table");
	infer_begin(&fixture.table, fixture.state);
	ok(!infer_hit(&fixture.table, fixture.state, 1, 0x40) &&
	   end_of(&fixture) == INFER_NO_TYPE, "that infers nothing");
	free(fixture.state);
}

/* How many contexts are not in the slot where the search for them starts. */
static uint32_t misplaced(uint32_t nr_sites, uint32_t nr_depths)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	const struct infer_table *table = &fixture->table;
	uint32_t ret = 0;

	for (uint32_t i = 0; i < nr_sites * nr_depths; i++)
		fixture->contexts[i] = (struct infer_context){
			.site = i / nr_depths, .depth = 0x60 + 0x30 * (i % nr_depths),
		};
	fixture->table.nr_contexts = nr_sites * nr_depths;
	fixture_init(fixture);
	for (uint32_t i = 0; i < table->nr_contexts; i++) {
		uint64_t key = infer_key(fixture->contexts[i].site, fixture->contexts[i].depth);

		ret += table->slots[infer_hash(table, key)].key != key;
	}
	free(fixture->state);
	free(fixture);
	return ret;
}

static void test_slots(void)
{
	uint32_t sum = misplaced(10, 1) + misplaced(16, 1) + misplaced(10, 2) + misplaced(8, 4);

	ok(!sum, "few guards at few depths share no slot (%u)", sum);
	sum = misplaced(CONTEXTS, 1) + misplaced(CONTEXTS / 4, 4);
	ok(sum <= 2 * CONTEXTS / 10, "more of them hardly do (%u of %u)", sum, 2 * CONTEXTS);
}

static void test_limits(void)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct infer_table table = { .nr_types = 100, .nr_contexts = 1984 };

	fixture->table.nr_types = 2;
	fixture->types[0].base_early = fixture->types[0].base_final = 32000;
	fixture->types[1].base_early = fixture->types[1].base_final = INT16_MIN;
	for (uint32_t i = 0; i < CONTEXTS; i++) {
		fixture->contexts[i] = (struct infer_context){ i, 16, i, 1 };
		fixture->weights[i] = (struct infer_weight){ 0, 127, 127 };
	}
	fixture->table.nr_contexts = fixture->table.nr_weights = CONTEXTS;
	ok(!fixture_init(fixture), "a table of many certain contexts");
	infer_begin(&fixture->table, fixture->state);
	for (uint32_t i = 0; i < CONTEXTS; i++)
		infer_hit(&fixture->table, fixture->state, i, 16);
	ok(infer_get(&fixture->table, fixture->state, 0, 1) == INFER_MAX_SCORE &&
	   end_of(fixture) == 0, "scores stay at their largest value");
	ok(infer_margin(&fixture->table, fixture->state, 1) == INFER_MAX_SCORE,
	   "and margins too");
	ok(infer_state_size(&table) <= 512 + 8 * table.nr_types,
	   "a state takes at most 512 bytes and 8 for each type");
	free(fixture->state);
	free(fixture);
}

int main(void)
{
	plan(38);
	test_paper();
	test_once();
	test_fit();
	test_random();
	test_wrap();
	test_refusals();
	test_slots();
	test_limits();
	return tap_status();
}
