// SPDX-License-Identifier: GPL-2.0
/*
 * Traces that are well formed and make no sense.  What comes out does not
 * matter, as long as something does, and soon.
 */

#include <errno.h>
#include <unistd.h>

#include "servers.h"
#include "tap.h"
#include "train/samples/extract-timing.h"
#include "units.h"

enum {
	CHECKS = 11,
	HANGS_AFTER_S = 120,
};

static uint64_t random_state = 88172645463325252;

static uint64_t random_below(uint64_t end)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % end;
}

static bool learns(struct sim *sim, const struct samples *profile)
{
	struct samples samples;
	int error;

	sim_finish(sim);
	error = extract_samples(&sim->trace, &samples, NULL);
	if (!error)
		samples_deinit(&samples);
	if (error && error != -EBADMSG)
		return false;
	sim->trace.loops = sim_add(sim->trace.loops, &sim->trace.nr_loops,
				   sizeof(*sim->trace.loops), &profile->loops[0].hash);
	error = extract_timing(&sim->trace, profile, &samples);
	if (!error)
		samples_deinit(&samples);
	return !error || error == -EBADMSG;
}

static void put(struct sim *sim, uint32_t tid, enum perfguard_event_kind kind, uint32_t number,
		uint64_t sp, uint64_t value)
{
	struct perfguard_event event = {
		.time_ns = sim->now_ns++,
		.sp = sp,
		.value = value,
		.tid = tid,
		.what = (uint32_t)kind << TRACE_KIND_SHIFT | number,
	};

	sim_put(sim, &event);
}

/* A million frames, and waits below them; the caller of a call is nowhere. */
static void deep(const struct samples *profile)
{
	struct thread t;
	struct sim sim;

	sim_init(&sim, "MLWABC");
	sim_image(&sim, 1, BASE);
	begin(&t, &sim, 7);
	for (uint32_t i = 0; i < 10; i++)
		plain_iteration(&t, false);
	sim_note_call(&sim, 'C', sim_offset('C') + 16, 'A', LOOP);
	for (uint32_t i = 0; i < 1000000; i++)
		put(&sim, 7, PERFGUARD_EVENT_KIND_HIT, sim.site_of['A'], t.sp - 8 - 8 * i,
		    BASE + sim_offset(i % 2 ? 'C' : 'A') + 16);
	t.sp -= 8 * 1000000 + 64;
	for (uint32_t i = 0; i < 100000; i++)
		system_call(&t, SYS_read, 3, 1);
	ok(learns(&sim, profile), "a million frames");
	sim_deinit(&sim);
}

static void many_threads(const struct samples *profile)
{
	struct sim sim;

	sim_init(&sim, "MLWABC");
	sim_image(&sim, 1, BASE);
	for (uint32_t i = 0; i < 300000; i++) {
		struct thread *t = calloc(1, sizeof(*t));

		thread_start(t, &sim, PID, 1 + i, 1, BASE);
		t->sp = UINT64_C(0x7ff000000000) - i % 1000 * 16;
		call(t, 'L', 0);
		for (uint32_t j = 0; j < 3; j++) {
			/* Each thread's frame is elsewhere. */
			call(t, 'W', 1 | LOOP);
			t->sp -= 16 * (i % 7);
			wait_call(t, 1, SYS_read, 'W', 5, 1, SLEEP_NS);
			ret(t);
			leaf(t, 'A', 2 | LOOP);
		}
		free(t);
	}
	ok(learns(&sim, profile), "300,000 threads");
	sim_deinit(&sim);
}

/* Images by the thousand, with as many contexts as they can have. */
static void many_images(const struct samples *profile)
{
	struct sim sim;

	sim_init(&sim, "MLWABC");
	sim.trace.contexts = calloc(4000 * 256, sizeof(*sim.trace.contexts));
	for (uint32_t image = 1; image <= 4000; image++) {
		for (uint32_t i = 0; i < 256; i++)
			sim.trace.contexts[sim.trace.nr_contexts++] = (struct trace_context){
				.image = image,
				.loop = 1 + i / 4,
				.syscall = (uint32_t)random_below(8),
				.return_offset = random_below(1 << 20),
				.distance = (uint32_t)random_below(1 << 16),
			};
		for (uint32_t i = 0; i < 100; i++) {
			uint32_t number = (1 + i / 30) << TRACE_LOOP_SHIFT | i % 8;

			if (!i)
				put(&sim, image, PERFGUARD_EVENT_KIND_START, 0, 0,
				    (uint64_t)image << 32);
			put(&sim, image, PERFGUARD_EVENT_KIND_ENTER, number, BASE, BASE);
			put(&sim, image, PERFGUARD_EVENT_KIND_LEAVE, number, 3, 1);
		}
	}
	ok(learns(&sim, profile), "a million contexts");
	sim_deinit(&sim);
}

static uint64_t any_sp(uint64_t near)
{
	switch (random_below(8)) {
	case 0:
		return 0;
	case 1:
		return UINT64_MAX - random_below(64);
	case 2:
		return random_below(64);
	case 3:
		return random_state;
	default:
		return near - 8 * random_below(4096);
	}
}

static void any_events(const struct samples *profile)
{
	uint32_t survived = 0, runs = 200;

	for (uint32_t run = 0; run < runs; run++) {
		struct sim sim;

		sim_init(&sim, "MLPWHRGSTUFabcdef");
		run_dispatch(&sim);
		for (uint32_t i = 0; i < 3000; i++) {
			enum perfguard_event_kind kind =
				(enum perfguard_event_kind)random_below(16);
			uint32_t number = (uint32_t)(random_below(4) << TRACE_LOOP_SHIFT |
						     random_below(2) * SYS_epoll_wait);

			if (kind == PERFGUARD_EVENT_KIND_HIT || kind == PERFGUARD_EVENT_KIND_GUARD)
				number = (uint32_t)random_below(run % 10 ? 17 : 18);
			sim.now_ns = 1000000 + random_below(2000000);
			put(&sim, random_below(3) ? 7 : (uint32_t)random_below(3), kind, number,
			    any_sp(UINT64_C(0x7fef90000000)),
			    random_below(2) ? BASE + random_below(1 << 20) : random_state);
		}
		survived += learns(&sim, profile);
		sim_deinit(&sim);
	}
	is_number(survived, runs, "events at random among sound ones");
}

static int refused_event(const struct samples *profile, enum perfguard_event_kind kind,
			 uint32_t number, uint64_t sp)
{
	struct samples samples;
	struct sim sim;
	int error;

	sim_init(&sim, "MLWABC");
	sim.trace.loops = sim_add(NULL, &sim.trace.nr_loops, sizeof(*sim.trace.loops),
				  &profile->loops[0].hash);
	put(&sim, 7, kind, number, sp, 1000);
	error = extract_timing(&sim.trace, profile, &samples);
	if (!error)
		samples_deinit(&samples);
	sim_deinit(&sim);
	return -error;
}

static void refused(const struct samples *profile)
{
	uint64_t loop = profile->loops[0].hash + 1;
	struct samples samples;
	struct sim sim;

	is_number((uint64_t)refused_event(profile, PERFGUARD_EVENT_KIND_UNIT, 1,
					  UINT64_C(1) << 32), 0, "a unit of a loop");
	is_number((uint64_t)refused_event(profile, PERFGUARD_EVENT_KIND_UNIT, 1,
					  UINT64_C(2) << 32), EBADMSG,
		  "a unit of a loop that is not there");
	is_number((uint64_t)refused_event(profile, PERFGUARD_EVENT_KIND_UNIT, 1, 0), EBADMSG,
		  "a unit of no loop");
	is_number((uint64_t)refused_event(profile, PERFGUARD_EVENT_KIND_GUARD, 6, 8), EBADMSG,
		  "a guard that is not there");
	sim_init(&sim, "MLWABC");
	sim.trace.loops = sim_add(NULL, &sim.trace.nr_loops, sizeof(loop), &loop);
	is_number((uint64_t)-extract_timing(&sim.trace, profile, &samples), EBADMSG,
		  "a loop that the profile does not have");
	sim.trace.nr_loops = 0;
	sim.trace.functions[1].offset++;
	is_number((uint64_t)-extract_timing(&sim.trace, profile, &samples), EBADMSG,
		  "a function that it does not have");
	sim_deinit(&sim);
}

static void nothing(void)
{
	struct trace trace = { 0 };
	struct extracted of = extracted_of(&trace);

	is_number(of.result.nr_units, 0, "an empty trace has no units");
	extracted_deinit(&of);
}

int main(void)
{
	struct extracted profile;
	struct sim sim;

	plan(CHECKS);
	alarm(HANGS_AFTER_S);
	sim_init(&sim, "MLWABCPHRGSTUFabcdef");
	run_dispatch(&sim);
	profile = extracted_of(&sim.trace);
	sim_deinit(&sim);
	nothing();
	refused(&profile.samples);
	any_events(&profile.samples);
	deep(&profile.samples);
	many_threads(&profile.samples);
	many_images(&profile.samples);
	extracted_deinit(&profile);
	return tap_status();
}
