// SPDX-License-Identifier: GPL-2.0
/* Threads that fall behind their load, and those that only seem to. */

#include <stdint.h>

#include "app/record/keeping-up.h"
#include "base/duration.h"
#include "data/trace.h"
#include "tap.h"

enum { A = 7, B = 3, PERIOD = 2, SECONDS = 12 };

static uint64_t busy_ns[2];

static uint64_t busy(uint32_t tid)
{
	return busy_ns[tid == B];
}

/* Seconds of a stage, in which each thread makes so many calls a second and is busy so much. */
struct load {
	uint32_t calls[2];
	double busy[2];
};

static uint64_t now_ns = 1000 * NSEC_PER_SEC;

static void second(struct keeping_up *keeping, const struct load *load)
{
	struct perfguard_event event = {
		.what = (uint32_t)PERFGUARD_EVENT_KIND_ENTER << TRACE_KIND_SHIFT,
	};

	for (int thread = 0; thread < 2; thread++) {
		event.tid = thread ? B : A;
		for (uint32_t i = 0; i < load->calls[thread]; i++)
			keeping_up_count(keeping, &event, 1);
		busy_ns[thread] += (uint64_t)(load->busy[thread] * NSEC_PER_SEC);
	}
	now_ns += NSEC_PER_SEC;
}

/* The thread that falls behind, or 0; *@ret_after: seconds after which that is known. */
static uint32_t run(const struct load *before, const struct load *while_slowed, uint32_t *ret_after)
{
	struct keeping_up keeping = { 0 };
	const struct keeping_thread *found = NULL;
	uint32_t ret;

	keeping_up_begin(&keeping, false);
	keeping_up_look(&keeping, now_ns, busy);
	for (int i = 0; i < SECONDS; i++) {
		second(&keeping, before);
		found = keeping_up_look(&keeping, now_ns, busy) ?: found;
	}
	keeping_up_begin(&keeping, true);
	keeping_up_look(&keeping, now_ns, busy);
	for (*ret_after = 0; *ret_after < SECONDS && !found; ++*ret_after) {
		second(&keeping, &while_slowed[*ret_after % PERIOD]);
		second(&keeping, &while_slowed[*ret_after % PERIOD]);
		found = keeping_up_look(&keeping, now_ns, busy);
	}
	ret = found ? found->tid : 0;
	keeping_up_deinit(&keeping);
	return ret;
}

static void check(const char *name, uint32_t expected, struct load before, struct load odd,
		  struct load even)
{
	const struct load slowed[PERIOD] = { odd, even };
	uint32_t after, tid = run(&before, slowed, &after);

	ok(tid == expected && (!tid || after == 3), "%s: thread %u after %u spans", name, tid, after);
}

int main(void)
{
	const struct load calm = { { 100, 50 }, { 0.7, 0.2 } };

	plan(8);
	check("as before", 0, calm, calm, calm);
	check("one has nothing to spare and does less", A, calm, (struct load){ { 80, 50 }, { 1, 0.2 } },
	      (struct load){ { 80, 50 }, { 0.99, 0.2 } });
	check("another one", B, calm, (struct load){ { 100, 20 }, { 0.7, 1 } },
	      (struct load){ { 100, 20 }, { 0.7, 1 } });
	check("nothing to spare, but it does as much", 0, calm, (struct load){ { 98, 50 }, { 1, 0.2 } },
	      (struct load){ { 98, 50 }, { 1, 0.2 } });
	check("it does less, and has time to spare: there is less load", 0, calm,
	      (struct load){ { 20, 50 }, { 0.3, 0.2 } }, (struct load){ { 20, 50 }, { 0.3, 0.2 } });
	check("it catches up in every second span", 0, calm, (struct load){ { 60, 50 }, { 1, 0.2 } },
	      (struct load){ { 140, 50 }, { 1, 0.2 } });
	check("it had nothing to spare before", 0, (struct load){ { 100, 50 }, { 0.98, 0.2 } },
	      (struct load){ { 40, 50 }, { 1, 0.2 } }, (struct load){ { 40, 50 }, { 1, 0.2 } });
	check("it hardly did anything", 0, (struct load){ { 0, 50 }, { 0.1, 0.2 } },
	      (struct load){ { 0, 50 }, { 1, 0.2 } }, (struct load){ { 0, 50 }, { 1, 0.2 } });
	return tap_status();
}
