/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Metrics of a service that has run for some seconds: of one program with requests and more types
 * than have samples of their own, and one whose file was replaced, with names that harm who does
 * not expect them.
 */
#ifndef _PGUARD_MADE_METRICS_H
#define _PGUARD_MADE_METRICS_H

#include <stdlib.h>

#include "base/duration.h"
#include "data/histogram.h"
#include "out/metrics/metrics.h"

#define MADE_HOSTILE "/opt/a\"b\\c\nd\xff{} # EOF"

enum { MADE_TYPES = METRICS_MAX_TYPES + 6, MADE_FIRST = 160 };

struct made_program {
	struct top_program *of;
	struct armed_profile armed;
	struct armed_type types[MADE_TYPES];
	struct armed_times times[MADE_TYPES];
	struct top_type_note notes[MADE_TYPES];
	struct requests requests;
};

struct made_metrics {
	struct made_program made[2];
	struct top_program programs[2];
	struct top_reading reading;
	struct metrics_memory memory;
	struct metrics metrics;
};

static inline void made_type(struct made_program *made, uint32_t index, uint64_t seconds)
{
	struct armed_type *type = &made->types[index];
	uint64_t units = (100 - index) * seconds, ns = (1 + index) * NSEC_PER_MSEC;

	*type = (struct armed_type){
		.id = index + 1, .loop_id = 1 + index / 8, .units = units, .late = seconds,
		.elapsed_ns = units * ns, .cpu_ns = units * ns / 2, .runqueue_ns = units * ns / 10,
		.late_elapsed_ns = seconds * 9 * ns, .late_cpu_ns = seconds * 5 * ns,
		.late_blocked_ns = seconds * 4 * ns, .starved = seconds / 2, .stopped = seconds / 3,
		.own_limit_ns = 8 * ns, .blocked_limit_ns = 4 * ns,
	};
	made->times[index] = (struct armed_times){ .id = index + 1, .first = MADE_FIRST };
	for (uint32_t i = 0; i < PERFGUARD_TIMES_BUCKETS; i++)
		made->times[index].nr[PERFGUARD_TIMES_OWN - 1][i] = (uint32_t)seconds * (64 - i);
}

static inline void made_program(struct made_program *made, uint32_t id, uint32_t nr_types,
				uint64_t seconds)
{
	made->armed = (struct armed_profile){
		.id = id, .name = "/etc/perfguard/profiles.d/server.pgp", .target_id = id,
		.nr_guards = 40, .nr_shed = 3, .units = 5000 * seconds, .novel = 2 * seconds,
		.unknown_hits = 7 * seconds, .bytes = 123456,
		.armed_ns = UINT64_C(1735689600) * NSEC_PER_SEC + 1, .prices.budget_ppm = 20000,
		.cost = { 4 * seconds * NSEC_PER_SEC, seconds * 40 * NSEC_PER_MSEC,
			  seconds * 8 * NSEC_PER_MSEC, seconds * NSEC_PER_MSEC },
	};
	for (uint32_t i = 0; i < nr_types; i++) {
		made_type(made, i, seconds);
		made->notes[i] = (struct top_type_note){ i ? NULL : "parse, \"answer\"", 1 + i / 8,
							 i == 1 };
	}
	*made->of = (struct top_program){
		.armed = &made->armed, .types = made->types, .times = made->times,
		.notes = made->notes, .nr_types = nr_types, .nr_times = nr_types, .target_id = id,
		.processes = 4, .exe = "/usr/sbin/server", .hits = 90000 * seconds,
		.suppressed = seconds / 4,
	};
}

static inline void made_requests(struct made_program *made, uint64_t seconds)
{
	struct requests *requests = &made->requests;

	*requests = (struct requests){
		.connections = 12, .requests = 200 * seconds, .unanswered = seconds,
		.elapsed_ns = 200 * seconds * 20 * NSEC_PER_MSEC,
		.queued_ns = 200 * seconds * NSEC_PER_MSEC,
		.working_ns = 200 * seconds * 9 * NSEC_PER_MSEC,
		.peers_ns = 200 * seconds * 10 * NSEC_PER_MSEC,
	};
	requests->hist[histogram_bucket(10 * NSEC_PER_MSEC)] = 190 * seconds;
	requests->hist[histogram_bucket(210 * NSEC_PER_MSEC)] = 10 * seconds;
	made->of->requests = requests;
	made->of->late_requests = 3 * seconds;
}

/* Again with more seconds: the service has gone on. */
static inline void made_metrics(struct made_metrics *made, uint64_t seconds)
{
	static struct metrics_kind alerts[] = { { "late", 0 }, { "level", 0 }, { "lost", 0 } };
	static const struct metrics_kind commands[] = { { "begun", 5 }, { "failed", 1 } };
	static const struct metrics_output outputs[] = {
		{ .name = "nats", .passed = 60, .refused = 1, .lost = 2, .waiting = 7, .retries = 3 },
		{ .name = "otlp", .passed = 50, .left_out = 20 },
	};

	for (int i = 0; i < 2; i++)
		made->made[i].of = &made->programs[i];
	made_program(&made->made[0], 1, MADE_TYPES, seconds);
	made_requests(&made->made[0], seconds);
	made_program(&made->made[1], 2, 2, seconds);
	made->programs[0].nr_containers = 2;
	made->programs[0].containers[0] = (struct top_container){ "3f2a", 3, 90 * seconds, 0 };
	made->programs[0].containers[1] = (struct top_container){ MADE_HOSTILE, 1, 7, 0 };
	made->programs[1].exe = MADE_HOSTILE " (deleted)";
	made->programs[1].is_stale = true;
	made->programs[1].has_uid = true;
	made->programs[1].cgroup = "\xed\xa0\x80";
	made->reading = (struct top_reading){ seconds * NSEC_PER_SEC, made->programs, 2, 1 };
	alerts[0].nr = seconds;
	alerts[1].nr = 1;
	made->metrics = (struct metrics){
		.version = "0.1", .reading = &made->reading, .memory = &made->memory,
		.nr_profiles = 5, .nr_armed = 2, .nr_waiting = 1, .is_alive = true, .lost_overwritten = 1,
		.alerts = alerts, .nr_kinds = 3, .reported = seconds, .silenced = 2,
		.spool = { true, 70, 40960, 5, 0 }, .commands = commands, .nr_commands = 2,
		.outputs = outputs, .nr_outputs = 2,
	};
	if (metrics_memory_update(&made->memory, &made->reading))
		abort();
}

#endif /* _PGUARD_MADE_METRICS_H */
