// SPDX-License-Identifier: GPL-2.0
/* What guarding costs, estimated on a simulated machine that other load disturbs. */

#include "app/arm/cost-estimate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

#define MS 1000000.0

enum { SEEDS = 40, OLD_ROUNDS = 41, OLD_CALLS = 200 };

/* ns, without guards and what they add; the handler is a part of what a hit adds. */
static const double bare_ns[COST_NR_SUBJECTS] = { 4, 4, 5, 260, 420 };
static const double added_ns[COST_NR_SUBJECTS] = { 1300, 1450, 4300, 24, 24 + 95 };
static const double handler_ns = 250;

struct noise {
	const char *name;
	double grain; /* of the clock */
	double run, away; /* mean times: until another one has the processor, and for how long */
	double phase, slow; /* mean time of a phase, and what work takes longer in each second one */
};

struct simulated {
	const struct noise *noise;
	unsigned short seed[3];
	double time, until_away, until_phase;
	bool is_guarded, is_slow;
	double handled;
	int error; /* of the handler */
};

static double random_time(struct simulated *machine, double mean)
{
	return mean ? mean * 2 * erand48(machine->seed) + 1 : 1e18;
}

/* Work for so long, were it alone; how long it took. */
static double work(struct simulated *machine, double ns)
{
	const struct noise *noise = machine->noise;
	double start = machine->time;

	while (ns > 0) {
		double factor = machine->is_slow ? noise->slow : 1, step = ns * factor;

		if (step > machine->until_away)
			step = machine->until_away;
		if (step > machine->until_phase)
			step = machine->until_phase;
		machine->time += step;
		ns -= step / factor;
		machine->until_away -= step;
		machine->until_phase -= step;
		if (machine->until_away <= 0) {
			machine->time += random_time(machine, noise->away);
			machine->until_away = random_time(machine, noise->run);
		}
		if (machine->until_phase <= 0) {
			machine->is_slow = !machine->is_slow;
			machine->until_phase = random_time(machine, noise->phase);
		}
	}
	return machine->time - start;
}

static uint64_t now(void *context)
{
	struct simulated *machine = context;

	work(machine, 30);
	return (uint64_t)(machine->time / machine->noise->grain) *
	       (uint64_t)machine->noise->grain;
}

static int set_guarded(void *context, bool is_guarded)
{
	struct simulated *machine = context;

	work(machine, 20 * MS);
	machine->is_guarded = is_guarded;
	machine->handled = 0;
	return 0;
}

static uint64_t time_round(void *context, enum cost_subject subject, uint32_t calls)
{
	struct simulated *machine = context;
	uint64_t start = now(context);

	for (uint32_t i = 0; i < calls; i++) {
		double added = machine->is_guarded ? added_ns[subject] : 0;

		if (added && subject < COST_NR_HITS) {
			machine->handled += work(machine, handler_ns);
			added -= handler_ns;
		}
		work(machine, bare_ns[subject] + added);
	}
	return now(context) - start;
}

static int handler(void *context, uint64_t *ret_ns)
{
	struct simulated *machine = context;

	*ret_ns = (uint64_t)machine->handled;
	return machine->error;
}

static void simulated_init(struct simulated *machine, const struct noise *noise, uint16_t seed)
{
	*machine = (struct simulated){ .noise = noise, .seed = { 330, 27, seed } };
	machine->until_away = random_time(machine, noise->run);
	machine->until_phase = random_time(machine, noise->phase);
}

static int estimate(struct simulated *machine, struct armed_prices *ret)
{
	const struct cost_machine ops = { machine, now, set_guarded, time_round, handler };

	return cost_estimate(&ops, ret);
}

static void by_subject(const struct armed_prices *prices, double ret[COST_NR_SUBJECTS])
{
	ret[COST_KERNEL_HIT] = prices->kernel_hit_ns;
	ret[COST_MODULE_HIT] = prices->module_hit_ns;
	ret[COST_STEPPED_HIT] = prices->stepped_hit_ns;
	ret[COST_CALL] = prices->call_ns;
	ret[COST_UNIT] = prices->unit_ns;
}

static double truth(enum cost_subject subject)
{
	return added_ns[subject] - (subject < COST_NR_HITS ? handler_ns :
				    subject == COST_UNIT ? added_ns[COST_CALL] : 0);
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static double median(struct simulated *machine, enum cost_subject subject)
{
	uint64_t times[OLD_ROUNDS];

	for (int i = 0; i < OLD_ROUNDS; i++)
		times[i] = time_round(machine, subject, OLD_CALLS);
	qsort(times, OLD_ROUNDS, sizeof(times[0]), compare);
	return (double)times[OLD_ROUNDS / 2] / OLD_CALLS;
}

/* The control: the median with guards less that without, once; of a call or a unit, the lower. */
static double by_medians(struct simulated *machine)
{
	double bare_unit = median(machine, COST_UNIT), bare_call = median(machine, COST_CALL);
	double unit, call;

	set_guarded(machine, true);
	unit = median(machine, COST_UNIT) - bare_unit;
	call = median(machine, COST_CALL) - bare_call;
	return call < unit - call ? call : unit - call;
}

struct outcome {
	uint32_t blind; /* prices below half of the truth */
	uint32_t high; /* measured ones above twice the truth */
	uint32_t assumed;
	uint32_t blind_medians;
	double longest; /* ns */
};

static struct outcome outcome_of(const struct noise *noise)
{
	struct outcome outcome = { 0 };

	for (uint16_t seed = 0; seed < SEEDS; seed++) {
		double prices[COST_NR_SUBJECTS];
		struct armed_prices armed = { 0 };
		struct simulated machine;

		simulated_init(&machine, noise, seed);
		outcome.blind_medians += by_medians(&machine) < 1;
		simulated_init(&machine, noise, seed);
		estimate(&machine, &armed);
		by_subject(&armed, prices);
		if (machine.time > outcome.longest)
			outcome.longest = machine.time;
		for (int i = 0; i < COST_NR_SUBJECTS; i++) {
			bool is_assumed = armed.assumed & 1u << i;

			outcome.blind += prices[i] < truth(i) / 2;
			outcome.high += !is_assumed && prices[i] > truth(i) * 2;
			outcome.assumed += is_assumed;
		}
	}
	diag("%s: %u of %u prices assumed, %u below half, %u above twice; at most %.1f s; "
	     "by medians %u of %u are nothing",
	     noise->name, outcome.assumed, SEEDS * COST_NR_SUBJECTS, outcome.blind, outcome.high,
	     outcome.longest / 1e9, outcome.blind_medians, SEEDS);
	return outcome;
}

static void quiet(void)
{
	static const struct noise noise = { .name = "quiet", .grain = 1 };
	struct armed_prices armed = { .assumed = ~0u };
	double prices[COST_NR_SUBJECTS];
	struct simulated machine;
	bool good = true;

	simulated_init(&machine, &noise, 1);
	ok(!estimate(&machine, &armed) && !armed.assumed && armed.handler_ns == handler_ns,
	   "on a quiet machine all are measured");
	by_subject(&armed, prices);
	for (int i = 0; i < COST_NR_SUBJECTS; i++)
		good &= abs((int)(prices[i] - truth(i))) <= 2;
	ok(good && machine.time < 500 * MS, "exactly, in %.0f ms", machine.time / MS);
}

static void disturbed(void)
{
	static const struct noise noises[] = {
		{ .name = "others have the processor for 3 ms at a time", .grain = 1,
		  .run = 4 * MS, .away = 3 * MS },
		{ .name = "a busy sibling", .grain = 1, .phase = 60 * MS, .slow = 1.6 },
		{ .name = "both", .grain = 1, .run = 4 * MS, .away = 3 * MS,
		  .phase = 60 * MS, .slow = 1.6 },
		{ .name = "both, slowly", .grain = 1, .run = 30 * MS, .away = 50 * MS,
		  .phase = 900 * MS, .slow = 3 },
		{ .name = "a clock of 0.3 us", .grain = 279, .run = 4 * MS, .away = 3 * MS,
		  .phase = 60 * MS, .slow = 1.6 },
	};
	uint32_t blind_medians = 0;

	for (size_t i = 0; i < sizeof(noises) / sizeof(noises[0]); i++) {
		struct outcome outcome = outcome_of(&noises[i]);

		ok(!outcome.blind, "%s: no price is too low", noises[i].name);
		ok(!outcome.high, "%s: none that was measured is too high", noises[i].name);
		ok(outcome.longest < 10e9, "%s: in bounded time", noises[i].name);
		blind_medians += outcome.blind_medians;
		if (!i)
			ok(!outcome.assumed, "%s: all are measured", noises[i].name);
	}
	ok(blind_medians, "a difference of two medians finds nothing %u times", blind_medians);
}

/* Nothing can be measured. */
static void hopeless(void)
{
	static const struct noise noises[] = {
		{ .name = "a clock of 4 ms", .grain = 4 * MS },
		{ .name = "ten times as slow now and then", .grain = 1, .phase = 0.2 * MS, .slow = 10 },
	};

	for (size_t i = 0; i < sizeof(noises) / sizeof(noises[0]); i++) {
		struct outcome outcome = outcome_of(&noises[i]);

		ok(!outcome.blind && !outcome.high, "%s: no price is wrong", noises[i].name);
	}
	ok(outcome_of(&noises[0]).assumed > SEEDS, "a clock of 4 ms: prices are assumed");
}

static void refused(void)
{
	static const struct noise noise = { .name = "quiet", .grain = 1 };
	struct armed_prices armed;
	struct simulated machine;

	simulated_init(&machine, &noise, 1);
	machine.error = -EPROTO;
	ok(estimate(&machine, &armed) == -EPROTO, "an error ends it");
}

int main(void)
{
	plan(2 + 3 * 5 + 2 + 3 + 1);
	quiet();
	disturbed();
	hopeless();
	refused();
	return tap_status();
}
