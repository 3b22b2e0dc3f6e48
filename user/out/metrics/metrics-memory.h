/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What makes counters of the module's readings that only grow.
 *
 * The module counts how long units were in 32 bits, which begin again at 0, and sums the parts of
 * a type's time one after the other while units end, so that their difference may fall for a
 * moment.  Counters begin again when another profile is armed.
 *
 * Pure: no I/O.
 */
#ifndef _USER_OUT_METRICS_METRICS_MEMORY_H
#define _USER_OUT_METRICS_METRICS_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "out/alert/starvation.h"
#include "out/top/top-table.h"

/* Of a type; its units by their own time, from bucket @first on. */
struct remembered_type {
	uint32_t id;
	uint32_t first;
	bool has_times;
	uint32_t read[PERFGUARD_TIMES_BUCKETS]; /* of the reading before */
	uint64_t nr[PERFGUARD_TIMES_BUCKETS];
	uint64_t blocked_ns;
};

/* Of a container; a process that ends takes its units along. */
struct remembered_container {
	char id[CONTAINER_ID_MAX];
	uint64_t read; /* units, in the reading before */
	uint64_t nr;
};

struct remembered_program {
	uint32_t profile_id;
	struct remembered_container containers[TOP_MAX_CONTAINERS]; /* as those of the reading */
	uint32_t nr_containers;
	uint32_t nr_types;
	struct remembered_type *types; /* as those of the reading */
	struct starvation starvation;
};

struct metrics_memory {
	struct remembered_program *programs; /* as those of the reading */
	uint32_t nr;
};

/* Take a reading; what is not in it is forgotten.  Returns 0 or -ENOMEM, when nothing changes. */
int metrics_memory_update(struct metrics_memory *memory, const struct top_reading *reading);
void metrics_memory_deinit(struct metrics_memory *memory);

#endif /* _USER_OUT_METRICS_METRICS_MEMORY_H */
