// SPDX-License-Identifier: GPL-2.0
/* Limits that people set: in samples, and of the types that come of them. */

#include <errno.h>
#include <stdlib.h>

#include "tap.h"
#include "train/model/objectives.h"

enum { TREES = 4, TYPES = 2 };

static struct samples_tree trees[TREES] = { { .hash = 40 }, { .hash = 10 }, { .hash = 30 },
					    { .hash = 20 } };

struct fixture {
	struct samples samples;
	struct model_type types[TYPES];
	uint32_t type_of_tree[TREES];
	struct model model;
};

/* Types 7 of trees 0 and 1, and 8 of trees 2 and 3. */
static void begin(struct fixture *fixture)
{
	*fixture = (struct fixture){
		.samples = { .trees = trees, .nr_trees = TREES },
		.types = { { .id = 7, .example = 0 }, { .id = 8, .example = 2 } },
		.type_of_tree = { 0, 0, 1, 1 },
		.model = { .nr_types = TYPES, .nr_trees = TREES },
	};
	fixture->model.types = fixture->types;
	fixture->model.type_of_tree = fixture->type_of_tree;
}

static bool are(const struct fixture *fixture, uint64_t first, uint64_t second)
{
	return fixture->types[0].objective_ns == first && fixture->types[1].objective_ns == second;
}

static void derive(struct fixture *fixture)
{
	for (int i = 0; i < TYPES; i++)
		fixture->types[i].objective_ns = 0;
	set_objectives(&fixture->samples, fixture->type_of_tree, &fixture->model);
}

static bool are_rising(const struct samples *samples)
{
	for (uint32_t i = 1; i < samples->nr_objectives; i++)
		if (samples->objectives[i].tree <= samples->objectives[i - 1].tree)
			return false;
	return true;
}

static void test_list(void)
{
	static const uint64_t order[] = { 30, 0, 50, 10, 30, 20 };
	struct samples samples = { 0 };
	uint32_t nr;

	for (uint64_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		samples_set_objective(&samples, order[i], 100 + i);
	ok(samples.nr_objectives == 5 && are_rising(&samples) &&
	   samples.objectives[3].limit_ns == 104, "one of each tree, in order; the last one counts");
	nr = samples.nr_objectives;
	samples_set_objective(&samples, 15, 0);
	ok(samples.nr_objectives == nr, "what is not there cannot be taken off");
	for (uint64_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		samples_set_objective(&samples, order[i], 0);
	ok(!samples.nr_objectives, "what is there can");
	free(samples.objectives);
}

static void test_types(void)
{
	struct fixture fixture;

	begin(&fixture);
	derive(&fixture);
	ok(are(&fixture, 0, 0), "nothing is set, nothing is limited");
	objective_set(&fixture.samples, &fixture.model, 8, 500);
	derive(&fixture);
	ok(are(&fixture, 0, 500), "a type's limit is its own");
	objective_set(&fixture.samples, &fixture.model, 0, 900);
	derive(&fixture);
	ok(are(&fixture, 900, 500), "that of all types holds where there is none, or a longer one");
	objective_set(&fixture.samples, &fixture.model, 0, 100);
	derive(&fixture);
	ok(are(&fixture, 100, 100), "the strictest holds");
	objective_set(&fixture.samples, &fixture.model, 0, 0);
	/* Learnt again: the trees of type 8 are of two types now, in another order. */
	fixture.type_of_tree[2] = 0;
	fixture.type_of_tree[0] = fixture.type_of_tree[1] = 1;
	derive(&fixture);
	ok(are(&fixture, 500, 0), "it goes with the tree that was the type's example");
	fixture.types[0].example = 3;
	fixture.type_of_tree[3] = 0;
	objective_set(&fixture.samples, &fixture.model, 7, 600);
	derive(&fixture);
	ok(are(&fixture, 600, 0) && fixture.samples.nr_objectives == 1,
	   "a new one takes the place of those of all trees of the type");
	objective_set(&fixture.samples, &fixture.model, 7, 0);
	derive(&fixture);
	ok(are(&fixture, 0, 0), "and none takes it off");
	ok(objective_set(&fixture.samples, &fixture.model, 9, 100) == -ENOENT,
	   "there has to be such a type");
	free(fixture.samples.objectives);
}

int main(void)
{
	plan(11);
	test_list();
	test_types();
	return tap_status();
}
