/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A profile in the module, its guards and its types, with their counters, as
 * the attribute sets "profile", "guard" and "type" of the netlink spec define
 * them.  Plain data.
 */
#ifndef _USER_DATA_ARMED_H
#define _USER_DATA_ARMED_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/perfguard.h>
#include <perfguard/request-part.h>

/* What guarding costs on this machine, and what it may; ns except for the budget. */
struct armed_prices {
	uint32_t budget_ppm; /* of the target's CPU time, in millionths; 0: no limit */
	uint32_t kernel_hit_ns; /* a hit without its handler, by way of the guard */
	uint32_t module_hit_ns;
	uint32_t stepped_hit_ns;
	uint32_t call_ns; /* a hooked call */
	uint32_t unit_ns; /* what a unit adds to it */
	uint32_t handler_ns; /* of a hit; not sent to the module, which measures it */
	uint32_t assumed; /* enum perfguard_unit_cost: those that could not be measured */
};

enum {
	ARMED_SCOPE_MAX_PIDS = 64, /* as the module takes */
	ARMED_SCOPE_MAX_ARGS = 255,
};

/* Whose processes of the program are watched. */
struct armed_scope {
	const char *cgroup; /* as the operator names it; NULL: any; like the next two */
	const char *unit;
	const char *container;
	char *cgroup_path; /* of whichever it was */
	uint64_t cgroup_id; /* 0: any */
	bool has_uid; /* only those of this real user */
	uint32_t uid;
	const char *args; /* only those with this in their command line; NULL: any */
	uint32_t nr_pids; /* only these; 0: any */
	uint32_t pids[ARMED_SCOPE_MAX_PIDS];
};

/* What guarding took, and of how much CPU time; ns. */
struct armed_cost {
	uint64_t cpu;
	uint64_t guards;
	uint64_t boundaries;
	uint64_t report; /* of late units */
};

struct armed_profile {
	uint32_t id;
	char *name; /* never NULL: the path of the file it came from */
	uint64_t hash; /* of the file's contents */
	uint32_t flags; /* enum perfguard_profile_flags */
	uint32_t target_id; /* 0 while it is being loaded */
	uint32_t processes;
	bool is_refused; /* by a guard, identified by the next two */
	uint32_t refused_guard;
	uint32_t refused_error; /* a positive errno */
	uint32_t nr_guards;
	uint32_t nr_types;
	uint32_t nr_contexts;
	uint32_t nr_shed;
	uint64_t units;
	uint64_t novel;
	uint64_t unknown_hits;
	uint64_t stray_hits;
	uint64_t bytes;
	uint64_t armed_ns; /* CLOCK_REALTIME */
	uint64_t check_ns; /* of what guards took, their handlers' part */
	struct armed_prices prices;
	struct armed_cost cost; /* since it was armed */
	struct armed_cost last; /* in the last second or so */
};

struct armed_guard {
	uint32_t index;
	uint32_t object;
	uint64_t offset;
	uint32_t state; /* enum perfguard_guard_state */
	uint32_t step_mode; /* enum perfguard_step_mode */
	uint64_t hits;
	uint64_t stepped;
	uint64_t noted; /* by a jump */
	uint32_t sheds;
	uint32_t share_ppm; /* of the target's CPU time, at the governor's last sample */
};

/* Sums are over the units in time; @late ones have their own. */
struct armed_type {
	uint32_t loop_id;
	uint32_t id;
	uint64_t threshold_ns;
	uint64_t units;
	uint64_t late;
	uint64_t novel;
	uint64_t elapsed_ns;
	uint64_t cpu_ns;
	uint64_t runqueue_ns;
	uint64_t block_io_ns;
	uint64_t min_faults;
	uint64_t maj_faults;
	uint64_t late_elapsed_ns;
	uint64_t request_limit_ns; /* of requests that such units read; 0: none */
	uint64_t own_limit_ns; /* 0: none; likewise the next three */
	uint64_t cpu_limit_ns;
	uint64_t blocked_limit_ns;
	uint64_t block_io_limit_ns;
	uint64_t starved;
	uint64_t stopped; /* likewise by stops, which are in no time */
	uint64_t late_cpu_ns; /* of each at most eight times the limit, as the next */
	uint64_t late_blocked_ns;
};

/* How long the units of a type were, one of 128 of them; see the netlink spec. */
struct armed_times {
	uint32_t id;
	uint32_t first;
	uint32_t request_first[REQUEST_NR_PARTS]; /* of those from PERFGUARD_TIMES_REQUEST on */
	uint32_t nr[PERFGUARD_TIMES_REQUEST_HELD][PERFGUARD_TIMES_BUCKETS]; /* by kind, less 1 */
};

#endif /* _USER_DATA_ARMED_H */
