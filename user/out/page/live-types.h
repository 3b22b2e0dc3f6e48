/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Types of units as the module counts them, of programs that are guarded now.
 */
#ifndef _USER_OUT_PAGE_LIVE_TYPES_H
#define _USER_OUT_PAGE_LIVE_TYPES_H

#include <stdint.h>
#include <stdio.h>

#include "data/samples.h"

struct live_type {
	uint32_t id; /* 0: no type yet, or none */
	uint32_t loop; /* as 'show' counts them; 0: not known */
	const char *name; /* functions that identify it; NULL: not known */
	uint64_t units; /* late ones, too */
	uint64_t late;
	uint64_t time_ns; /* of all of them */
	uint64_t limit_ns; /* of a unit's own time; 0: none */
	uint64_t least_ns; /* shorter times than this are only short */
	struct samples_times times; /* own times, of a part of the units */
};

struct live_program {
	const char *exe; /* NULL: not known */
	uint64_t armed_ns; /* CLOCK_REALTIME */
	struct live_type *types; /* those with most time first */
	uint32_t nr_types;
};

struct live_programs {
	struct live_program *of;
	uint32_t nr;
	uint64_t now_ns; /* CLOCK_REALTIME, when they were read */
};

/* A section of a page. */
void live_types_put(FILE *file, const struct live_programs *programs);

#endif /* _USER_OUT_PAGE_LIVE_TYPES_H */
