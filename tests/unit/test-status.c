// SPDX-License-Identifier: GPL-2.0
/* When a load is said to be another than that of the training. */

#include "app/watch/status-query.h"
#include "tap.h"

/* Of @held_back units @expected were novel; now @novel of @units are. */
static bool is_reported(uint64_t held_back, uint64_t expected, uint64_t units, uint64_t novel)
{
	struct novelty_floor_share share = { .units = held_back, .novel = expected };
	struct armed_profile armed = { .units = units, .novel = novel };
	struct status_profile profile = {
		.armed = &armed,
		.is_known = true,
		.samples = { .nr_loops = 1 },
		.floors = { .shares = &share },
	};

	return status_has_news(&profile);
}

int main(void)
{
	struct armed_profile armed = { .units = 1000, .novel = 1000 };
	struct status_profile profile = { .armed = &armed };

	plan(11);
	ok(!is_reported(5000, 0, 0, 0), "nothing before the first unit");
	ok(!is_reported(5000, 0, 1, 1), "nor by one novel unit");
	ok(!is_reported(5000, 0, 10000, 6), "nor by a few of many");
	ok(is_reported(5000, 0, 10000, 100), "1 in 100 where none were");
	ok(!is_reported(5000, 50, 100000, 1100), "11 in 1000 where 10 were, of however many");
	ok(is_reported(5000, 50, 100000, 2000), "2 in 100 where 1 was");
	ok(!is_reported(5000, 50, 500, 9), "not if that can be chance");
	ok(!is_reported(20, 0, 100, 20), "nor if training saw too little to judge");
	ok(is_reported(20, 0, 100, 60), "unless most are novel");
	ok(!status_has_news(&profile), "without the file nothing is known");
	ok(!is_reported(0, 0, 0, 0), "nor of no units");
	return tap_status();
}
