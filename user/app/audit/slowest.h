/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The slowest units of an audit.  A unit is reported in several alerts: late ones
 * with stacks while it runs, one with the final times when it ends.
 */
#ifndef _USER_APP_AUDIT_SLOWEST_H
#define _USER_APP_AUDIT_SLOWEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/alert-record.h"
#include "out/alert/alert.h"

struct slow_unit {
	struct record record; /* the latest, without stacks */
	struct alert_stack *stacks; /* of all alerts, in order of time */
	uint32_t nr_stacks;
	bool has_ended;
	bool has_bare; /* it was found late, and no stack of it could be taken */
	bool is_cut; /* its thread is gone, and nothing was heard of its end */
	uint64_t total_ns; /* up to its end or, while it runs, to the audit's */
	char *cgroup; /* or NULL */
};

struct slowest {
	struct slow_unit *units;
	size_t max;
	uint32_t nr;
	uint32_t nr_wanted; /* ended units to keep */
};

/*
 * Take an alert.  The stacks are taken over, also on failure; as is
 * @cgroup.  Returns 0 or -ENOMEM.
 */
int slowest_add(struct slowest *slowest, const struct record *record,
		struct alert_stack *stacks, uint32_t nr_stacks, char *cgroup);

/* The unit that @record is of, or NULL. */
struct slow_unit *slowest_find(struct slowest *slowest, const struct record *record);

/* Forget those for which @fn is true. */
void slowest_drop(struct slowest *slowest, bool (*fn)(const struct slow_unit *unit, void *arg),
		  void *arg);

/*
 * Sort, the slowest first, and keep the wanted number.  The time of units that
 * still run is taken up to @wall_ns.
 */
void slowest_finish(struct slowest *slowest, uint64_t wall_ns);

void slowest_deinit(struct slowest *slowest);

#endif /* _USER_APP_AUDIT_SLOWEST_H */
