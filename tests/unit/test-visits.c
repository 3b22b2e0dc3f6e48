// SPDX-License-Identifier: GPL-2.0
/* How often the units of a type meet a context. */

#include "tap.h"
#include "train/guards/visits.h"

int main(void)
{
	struct samples_function functions[4] = { { 0 } };
	struct samples_hit first[] = { { 1, 80, 1, 0 }, { 3, 96, 1, 1 } };
	struct samples_hit second[] = { { 1, 80, 5, 0 }, { 1, 160, 2, 0 }, { 2, 96, 9, 0 } };
	struct samples_tree trees[3] = { { 0 } };
	struct samples_unit units[] = {
		{ .tree = 0, .nr_hits = 2, .hits = first, .units = { 60, 30 } },
		{ .tree = 1, .nr_hits = 3, .hits = second, .units = { 10, 0 } },
		{ .tree = 2, .nr_hits = 2, .hits = first, .units = { 7, 0 } },
	};
	struct samples samples = {
		.functions = functions, .nr_functions = 4,
		.trees = trees, .nr_trees = 3,
		.units = units, .nr_units = 3,
	};
	struct model_guard guards[] = { { .function = 3 }, { .function = 1 } };
	struct model_type types[2] = { { .id = 1 }, { .id = 2 } };
	uint32_t type_of_tree[] = { 1, 1, SAMPLES_NONE };
	struct model model = {
		.types = types, .nr_types = 2,
		.guards = guards, .nr_guards = 2,
		.type_of_tree = type_of_tree, .nr_trees = 3,
	};
	const struct visit *visit;
	struct visits visits;

	plan(7);
	ok(!visits_init(&visits, &samples, &model), "made");
	ok(visits.units[1] == 100 && visits.units[0] == 0,
	   "units of a type, learnt from and held back; not those without a type");
	visit = visits_find(&visits, 1, 1, 80);
	ok(visit && visit->units == 100 && visit->hits == 140 && visit->most == 5,
	   "variants count together");
	visit = visits_find(&visits, 1, 0, 96);
	ok(visit && visit->units == 90 && visit->hits == 90 && visit->most == 1,
	   "only those that met it");
	ok(visits_find(&visits, 1, 1, 160) && !visits_find(&visits, 1, 0, 160),
	   "another depth is another context");
	ok(!visits_find(&visits, 0, 1, 80), "no other type met it");
	visits_deinit(&visits);

	model.nr_guards = 0;
	ok(!visits_init(&visits, &samples, &model) && !visits_find(&visits, 1, 0, 96),
	   "no guards, no visits");
	visits_deinit(&visits);
	return tap_status();
}
