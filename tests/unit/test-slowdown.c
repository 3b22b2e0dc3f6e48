// SPDX-License-Identifier: GPL-2.0
/* Sites go off when they have taken their share, and on when that is small enough again. */

#include "app/record/slowdown.h"

#include <unistd.h>

#include "base/duration.h"
#include "base/time.h"
#include "tap.h"

#define MS UINT64_C(1000000)

static void check_share(void)
{
	struct slowdown slowdown = { .most = 0.5, .hit_ns = 1000, .cpu_ns = 100 * MS };
	double share = slowdown_of(&slowdown, 20000, 100 * MS);

	ok(share > 0.249 && share < 0.251, "20 ms of 100 are a quarter of what is left");
	share = slowdown_of(&slowdown, 200000, 100 * MS);
	ok(share > 199 && share < 201, "what is left is never nothing, however wrong the price is");
	ok(!(slowdown_of(&slowdown, 0, 0) > 0), "nothing is made slower by nothing");
}

static void check_limit(void)
{
	struct slowdown slowdown = { .most = 0.5, .hit_ns = 1000, .cpu_ns = 100 * MS };

	slowdown.hits = slowdown.window_hits = 33000;
	ok(!slowdown_is_over(&slowdown), "33 ms of 100 are within a half");
	slowdown.hits = slowdown.window_hits = 34000;
	ok(slowdown_is_over(&slowdown), "34 are not");
	ok(!slowdown_may_begin(&slowdown), "nor may they be on again");
	slowdown.cpu_ns = 169 * MS;
	ok(!slowdown_may_begin(&slowdown), "as long as the next window would be too much");
	slowdown.cpu_ns = 171 * MS;
	ok(slowdown_may_begin(&slowdown), "but they may once it is not");
	slowdown.hits = slowdown.window_hits = 33000 * 16 * SLOWDOWN_INLINE_HIT;
	slowdown.cpu_ns = 100 * MS;
	ok(!slowdown_is_over(&slowdown), "sixteen times as many hits are within it by jumps");
	slowdown.hits = 4e6;
	slowdown.window_hits = 1e6;
	slowdown_settle(&slowdown);
	ok(slowdown.hits < 100000 && slowdown.hits > 98000 && slowdown.window_hits < 25000 &&
	   slowdown.window_hits > 24000, "hits have taken no more than there was CPU time");
	slowdown.hits = 33000;
	slowdown_settle(&slowdown);
	ok(slowdown.hits > 32999, "and what they can have taken if they may");
	slowdown_begin(&slowdown);
	slowdown_settle(&slowdown);
	ok(!(slowdown.hits > 0) && !slowdown.cpu_ns, "a stage begins with nothing");
}

/* Sites are on for 1,000 wait calls of 10 us and 100 hits each, and off for as many. */
static double price_after(double tried_ns, uint64_t hit_ns, uint32_t waits, uint32_t hits)
{
	struct slowdown slowdown = { .most = 0.5, .hit_ns = tried_ns };

	slowdown_begin(&slowdown);
	slowdown_turn(&slowdown, false, 5000);
	slowdown.cpu_ns += (uint64_t)waits * (10000 + hits * hit_ns);
	slowdown_count(&slowdown, (double)waits * hits);
	slowdown_turn(&slowdown, true, 5000 + waits);
	slowdown.cpu_ns += (uint64_t)waits * 10000;
	slowdown_turn(&slowdown, false, 5000 + 2 * waits);
	return slowdown.hit_ns;
}

static void check_price(void)
{
	double price = price_after(10000, 1300, 1000, 100);

	ok(price > 1299 && price < 1301, "what a hit costs in the program is found out");
	price = price_after(1000, 30000, 1000, 100);
	ok(price < 4001, "but it is no more than four times what was tried out");
	price = price_after(1000, 0, 1000, 100);
	ok(price > 299, "nor for nothing");
	ok(price_after(10000, 1300, 100, 100) > 9999, "nor do a few wait calls say it");
	ok(price_after(10000, 1300, 1000, 0) > 9999, "nor does what is hardly hit");
}

static void check_look(void)
{
	struct slowdown slowdown = { .most = 0.5, .hit_ns = 1000 };
	const uint32_t pids[] = { (uint32_t)getpid(), UINT32_MAX };
	uint64_t begin_ns;
	bool done;

	done = !slowdown_look(&slowdown, pids, 2);
	ok(done && !slowdown.cpu_ns, "what a process did before does not count");
	for (begin_ns = time_now_ns(); time_now_ns() - begin_ns < 50 * MS;)
		;
	done = !slowdown_look(&slowdown, pids, 2);
	ok(done && slowdown.cpu_ns > MS && slowdown.cpu_ns < 10 * NSEC_PER_SEC, "what it does since then does");
	begin_ns = slowdown.cpu_ns;
	done = !slowdown_look(&slowdown, pids, 0);
	ok(done && slowdown.cpu_ns == begin_ns, "one that is gone takes nothing back");
	slowdown_deinit(&slowdown);
}

int main(void)
{
	plan(20);
	check_share();
	check_limit();
	check_price();
	check_look();
	return tap_status();
}
