// SPDX-License-Identifier: GPL-2.0
/* How well few hits distinguish types, in made-up programs like real ones. */

#include <time.h>

#include "predict-table.h"
#include "synthetic.h"
#include "tap.h"

static void show(const char *name, const struct predict_row *rows, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		diag("%s budget %.2f %-11s %-5s guards %3u hits %.2f worst %u end %.1f half %.1f",
		     name, rows[i].prediction.budget,
		     rows[i].method == SELECT_PAPER ? "paper" : "information",
		     rows[i].is_paper ? "paper" : "W", rows[i].prediction.nr_guards,
		     rows[i].prediction.hits, rows[i].prediction.worst,
		     100 * rows[i].prediction.accuracy_end,
		     100 * rows[i].prediction.accuracy_half);
}

static const struct predict_row *find(const struct predict_row *rows, uint32_t nr, double budget,
				      enum select_method method, bool is_paper)
{
	for (uint32_t i = 0; i < nr; i++)
		if (fabs(rows[i].prediction.budget - budget) < 1e-9 &&
		    rows[i].method == method && rows[i].is_paper == is_paper)
			return &rows[i];
	return NULL;
}

static void test(const char *name, const struct synthetic *program, double at_two)
{
	const struct predict_row *two, *paper;
	struct signatures signatures;
	struct predict_row *rows;
	struct samples samples;
	struct types types;
	uint32_t *cluster, nr;
	clock_t start;

	synthetic_make(program, &samples);
	cluster = calloc(samples.nr_trees, sizeof(*cluster));
	for (uint32_t i = 0; i < samples.nr_trees; i++)
		cluster[i] = i;
	ok(!signatures_init(&signatures, &samples), "%s: signatures", name);
	ok(!types_init(&types, &samples, cluster), "%s: types", name);
	start = clock();
	ok(!predict_table(&signatures, &types, SELECT_EARLY_SLACK, &rows, &nr), "%s: table", name);
	diag("%s: %u variants, %zu hits, %u contexts: %.2f s for all budgets", name,
	     samples.nr_units, signatures.first_hit[samples.nr_units], signatures.nr_contexts,
	     (double)(clock() - start) / CLOCKS_PER_SEC);
	show(name, rows, nr);
	two = find(rows, nr, 2, SELECT_INFORMATION, false);
	paper = find(rows, nr, 2, SELECT_PAPER, true);
	ok(two && two->prediction.accuracy_end >= at_two, "%s: right at 2 hits a unit", name);
	ok(two && two->prediction.hits <= 2.2, "%s: within the budget", name);
	ok(two && two->prediction.worst <= 20, "%s: and in the worst unit", name);
	ok(two && paper && two->prediction.accuracy_end > paper->prediction.accuracy_end,
	   "%s: better than the paper", name);
	free(rows);
	free(cluster);
	types_deinit(&types);
	signatures_deinit(&signatures);
	samples_deinit(&samples);
}

int main(void)
{
	plan(21);
	test("server", &(struct synthetic){ .types = 60, .functions = 500, .parts = 80,
					    .parts_per_type = 5, .calls_per_part = 30,
					    .noise = 4, .noise_chance = 0.3, .hot = 3,
					    .units = 4000, .stepped = 10 }, 0.95);
	test("small", &(struct synthetic){ .types = 18, .functions = 100, .parts = 25,
					   .parts_per_type = 4, .calls_per_part = 10,
					   .noise = 3, .noise_chance = 0.2, .hot = 1,
					   .units = 4000 }, 0.95);
	test("large", &(struct synthetic){ .types = 30, .functions = 2000, .parts = 50,
					   .parts_per_type = 12, .calls_per_part = 100,
					   .noise = 8, .noise_chance = 0.1, .hot = 5,
					   .units = 2000, .stepped = 8 }, 0.95);
	return tap_status();
}
