// SPDX-License-Identifier: GPL-2.0
/* Times of the machine where a profile is armed take the place of those of its training. */

#include <errno.h>
#include <math.h>

#include "synthetic.h"
#include "tap.h"
#include "train/model/adopt.h"
#include "train/model/derive.h"
#include "train/samples/times.h"

static const struct synthetic program = {
	.types = 8, .functions = 80, .parts = 16, .parts_per_type = 4, .calls_per_part = 8,
	.noise = 3, .noise_chance = 0.3, .hot = 2, .units = 4000,
};

struct profile {
	struct samples samples;
	struct model model;
	struct derive_options options;
	struct adopt_type *seen;
};

static void begin(struct profile *profile)
{
	uint32_t functions[80], nr;

	*profile = (struct profile){ 0 };
	synthetic_make(&program, &profile->samples);
	derive_options_init(&profile->options);
	model_derive(&profile->samples, &profile->options, &profile->model);
	nr = profile->model.nr_guards;
	for (uint32_t i = 0; i < nr; i++)
		functions[i] = profile->model.guards[i].function;
	synthetic_time(&profile->samples, functions, nr, 5);
	for (uint32_t i = 0; i < profile->samples.nr_timings; i++)
		for (int half = 0; half < 2; half++) {
			struct samples_parts *parts = &profile->samples.timings[i].times[half];

			parts->of[SAMPLES_CPU] = parts->of[SAMPLES_OWN];
			parts->requests[0] = parts->of[SAMPLES_OWN];
		}
	model_derive_limits(&profile->samples, &profile->model);
	profile->seen = calloc(profile->model.nr_types, sizeof(*profile->seen));
}

static void end(struct profile *profile)
{
	samples_deinit(&profile->samples);
	model_deinit(&profile->model);
	free(profile->seen);
}

/* So many units of a type, that take @factor times what they took. */
static void see(struct profile *profile, uint32_t type, uint32_t nr, double factor)
{
	double mean = profile->model.types[type].mean_ns[SAMPLES_OWN];

	for (uint32_t i = 0; i < nr; i++) {
		struct samples_parts *parts = &profile->seen[type].times[i % 2];
		uint64_t ns = (uint64_t)(factor * mean * (0.9 + 0.2 * synthetic_uniform()));

		times_add(&parts->of[SAMPLES_OWN], ns);
		times_add(&parts->of[SAMPLES_CPU], ns);
		times_add(&parts->of[SAMPLES_BLOCKED], 0);
	}
}

static double limit(const struct profile *profile, uint32_t type)
{
	return (double)profile->model.types[type].limit_ns[SAMPLES_OWN];
}

static void test_half_speed(void)
{
	struct adopt_pace pace = { 0 };
	struct profile profile;
	uint32_t nr_scaled = 0;
	uint64_t requests;
	double before[8];

	begin(&profile);
	requests = profile.model.types[1].requests[0].nr;
	for (int i = 0; i < 40; i++)
		times_add(&profile.seen[2].times[i % 2].requests[0], 1000000);
	for (uint32_t i = 0; i < profile.model.nr_types; i++) {
		before[i] = limit(&profile, i);
		see(&profile, i, i ? 400 : 3, 2);
	}
	ok(!adopt_times(&profile.samples, &profile.model, profile.seen, &pace) &&
		   !model_derive_limits(&profile.samples, &profile.model),
	   "a machine of half the speed");
	ok(fabs(pace.of[SAMPLES_CPU] - 2) < 0.05 && fabs(pace.of[SAMPLES_OWN] - 2) < 0.05,
	   "is recognised");
	for (uint32_t i = 0; i < profile.model.nr_types; i++)
		nr_scaled += limit(&profile, i) > 1.2 * before[i] &&
			     limit(&profile, i) < 2.6 * before[i];
	ok(nr_scaled == profile.model.nr_types, "all limits follow it");
	ok(!profile.seen[0].is_adopted && profile.seen[1].is_adopted,
	   "by its own units where there are enough");
	ok(fabs(profile.model.types[1].mean_ns[SAMPLES_CPU] /
			profile.model.types[1].mean_ns[SAMPLES_OWN] - 1) < 0.01 &&
		   profile.model.types[1].times.nr == 400,
	   "which are all that counts then");
	ok(profile.model.types[1].requests[0].nr == requests && requests > 40 &&
		   profile.model.types[2].requests[0].nr == 40 &&
		   profile.model.types[2].request_ns[0] > 1000000,
	   "as are requests, if they were followed");
	end(&profile);
}

static void test_slow_type(void)
{
	struct adopt_pace pace;
	struct profile profile;
	double before;

	begin(&profile);
	before = limit(&profile, 2);
	for (uint32_t i = 0; i < profile.model.nr_types; i++)
		see(&profile, i, 400, i == 2 ? 2 : 1);
	adopt_times(&profile.samples, &profile.model, profile.seen, &pace);
	model_derive_limits(&profile.samples, &profile.model);
	ok(profile.seen[2].is_slow && !profile.seen[2].is_adopted && !profile.seen[3].is_slow,
	   "a type that alone is slow is not learnt");
	ok(limit(&profile, 2) < 1.3 * before, "and keeps its limit");
	end(&profile);
}

static void test_untimed(void)
{
	struct adopt_pace pace;
	struct profile profile;
	uint32_t type, nr;

	begin(&profile);
	type = profile.model.nr_types - 1;
	nr = profile.samples.nr_timings;
	for (uint32_t i = 0; i < nr; i++)
		memset(profile.samples.timings[i].times, 0,
		       sizeof(profile.samples.timings[i].times));
	adopt_times(&profile.samples, &profile.model, profile.seen, &pace);
	model_derive_limits(&profile.samples, &profile.model);
	ok(!profile.model.types[type].times.nr && !limit(&profile, type),
	   "without units there is no limit");
	profile.model.types[type].mean_ns[SAMPLES_OWN] = 1e5;
	see(&profile, type, 400, 1);
	profile.model.types[type].mean_ns[SAMPLES_OWN] = 0;
	ok(!adopt_times(&profile.samples, &profile.model, profile.seen, &pace) &&
		   !model_derive_limits(&profile.samples, &profile.model) &&
		   profile.model.types[type].times.nr == 400 && limit(&profile, type) > 1e5,
	   "a type that training never timed gets one");
	end(&profile);
}

int main(void)
{
	plan(10);
	test_half_speed();
	test_slow_type();
	test_untimed();
	return tap_status();
}
