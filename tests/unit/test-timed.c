// SPDX-License-Identifier: GPL-2.0
/* Of which type the units of a timing are, if they are of one. */

#include "tap.h"
#include "train/guards/timed.h"

enum { GUARD = 1, OTHER = 2 };

int main(void)
{
	uint32_t functions[] = { GUARD, OTHER };
	struct samples_guards guards[] = { { .nr = 2, .functions = functions },
					   { .nr = 1, .functions = &functions[1] } };
	struct samples_hit known = { .function = GUARD, .depth = 64 };
	struct samples_hit hits[] = { known, { .function = GUARD, .depth = 72 },
				      { .function = OTHER, .depth = 72 } };
	struct samples_timing timings[] = {
		{ 0 },
		{ .hits = hits, .nr_hits = 1 },
		{ .hits = hits, .nr_hits = 2 },
		{ .hits = &hits[2], .nr_hits = 1 },
		{ .guards = 1 },
	};
	struct samples_loop loop = { 0 };
	struct samples_function names[3] = { 0 };
	struct samples samples = { .loops = &loop, .nr_loops = 1, .functions = names,
				   .nr_functions = 3, .guards = guards, .nr_guards = 2,
				   .timings = timings, .nr_timings = 5 };
	struct model_type types[] = { { .id = 1, .base_final = 4, .base_early = 4 }, { .id = 2 } };
	struct model_guard guard = { .function = GUARD };
	struct model_weight weight = { .type = 1, .early = 100, .final = 100 };
	struct model_context context = { .depth = 64, .first_weight = 0, .nr_weights = 1 };
	struct model model = { .types = types, .nr_types = 2, .guards = &guard, .nr_guards = 1,
			       .contexts = &context, .nr_contexts = 1, .weights = &weight,
			       .nr_weights = 1 };
	uint32_t of[5];

	plan(6);
	ok(!timed_types(&samples, &model, of), "types are found");
	ok(of[0] == 0, "units without a hit are of the type that has none");
	ok(of[1] == 1, "those that hit a guard in a context that the model knows, of that context's");
	ok(of[2] == SAMPLES_NONE, "those that also hit it in another one may be of none");
	ok(of[3] == 0, "what they hit of other functions does not matter");
	ok(of[4] == SAMPLES_NONE, "if the guard was not on nothing is known");
	return tap_status();
}
