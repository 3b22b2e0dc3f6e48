/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The metrics of the service, as text for who collects such: from plain data.
 *
 * Pure: no I/O but the writing; what is lent must outlive it.
 */
#ifndef _USER_OUT_METRICS_METRICS_H
#define _USER_OUT_METRICS_METRICS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "out/metrics/metrics-memory.h"
#include "out/top/top-table.h"

/* So many types of a profile have samples of their own; the sums of the others are one. */
enum { METRICS_MAX_TYPES = 64 };

struct metrics_kind {
	const char *name;
	uint64_t nr;
};

struct metrics_spool {
	bool is_there;
	uint64_t alerts;
	uint64_t bytes;
	uint64_t dropped;
	uint64_t unsaved;
};

/* What passes alerts of the spool on; see the spool for what it means. */
struct metrics_output {
	char name[16];
	uint64_t passed;
	uint64_t refused;
	uint64_t left_out;
	uint64_t lost;
	uint64_t waiting;
	uint64_t retries;
};

struct metrics {
	const char *version;
	const struct top_reading *reading;
	const struct metrics_memory *memory; /* which has taken the reading */
	uint32_t nr_profiles; /* of the service */
	uint32_t nr_armed; /* of them */
	uint32_t nr_waiting; /* others, for their processes */
	bool is_alive; /* the module, by its hooks */
	uint64_t lost_memory; /* alerts, by the module */
	uint64_t lost_overwritten;
	uint64_t torn_stacks;
	uint64_t crowded_stacks;
	const struct metrics_kind *alerts; /* since the service began */
	uint32_t nr_kinds;
	uint64_t reported;
	uint64_t silenced;
	struct metrics_spool spool;
	const struct metrics_output *outputs;
	uint32_t nr_outputs;
	const struct metrics_kind *commands; /* for alerts, by what came of them */
	uint32_t nr_commands;
};

/*
 * Write them all, as OpenMetrics 1.0 or as the text format 0.0.4.  Of programs with equal labels
 * only the one that was armed last has samples.  Returns 0 or -ENOMEM.
 */
int metrics_text(FILE *file, const struct metrics *metrics, bool is_open_metrics);

#endif /* _USER_OUT_METRICS_METRICS_H */
