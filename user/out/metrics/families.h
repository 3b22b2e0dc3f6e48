/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The families of metrics, and what each has of the service, of a program or of a type of its
 * units.
 */
#ifndef _USER_OUT_METRICS_FAMILIES_H
#define _USER_OUT_METRICS_FAMILIES_H

#include <stdbool.h>
#include <stdint.h>

#include "out/metrics/exposition.h"
#include "out/metrics/metrics.h"

/* A type, or all beyond METRICS_MAX_TYPES. */
struct metrics_type {
	char *labels;
	struct top_sums sums;
	uint64_t novel;
	uint64_t stopped;
	const struct armed_type *armed; /* NULL: they are several, like the next one */
	const struct remembered_type *times; /* without has_times there are none */
	bool is_slow;
};

struct metrics_program {
	char *labels;
	const struct top_program *of;
	const struct remembered_program *memory;
	bool is_starved;
	bool is_hidden; /* another one has these labels */
	struct metrics_type *types;
	uint32_t nr_types;
};

/* One of the functions is set. */
struct metrics_family {
	struct exposition_family family;
	void (*service)(struct exposition *text, const struct metrics *metrics);
	void (*program)(struct exposition *text, const struct metrics_program *program);
	void (*type)(struct exposition *text, const struct metrics_type *type);
};

/* They end with one without a name. */
extern const struct metrics_family service_families[];
extern const struct metrics_family program_families[];
extern const struct metrics_family type_families[];

#endif /* _USER_OUT_METRICS_FAMILIES_H */
