/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Late units that still run, or that more will be heard of: their stacks so
 * far, and what was printed of them.
 */
#ifndef _USER_APP_WATCH_LATE_UNITS_H
#define _USER_APP_WATCH_LATE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/alert-record.h"
#include "out/alert/alert.h"

struct late_unit {
	uint32_t target_id;
	uint32_t tid;
	uint64_t unit;
	uint64_t heard; /* of it last: a number that rises with each record */
	uint64_t fold_id; /* window it is folded into; 0: none */
	uint64_t printed_path; /* hotpath_hash() that was printed */
	uint64_t printed_ns; /* its time when it was */
	bool is_counted; /* for -n */
	bool is_printed;
	uint32_t nr_stacks;
	struct alert_stack *stacks; /* of all its records, in the order of time */
};

struct late_units {
	struct late_unit *entries;
	size_t max;
	uint32_t nr;
	uint64_t heard;
};

/*
 * The unit of a record, a new one if there is none.  Valid until the next call;
 * NULL if there is no memory.  Of very many the one that was not heard of for
 * longest is forgotten.
 */
struct late_unit *late_units_get(struct late_units *units, const struct record *record);
void late_units_remove(struct late_units *units, struct late_unit *unit);
void late_units_deinit(struct late_units *units);

/* Forget what is known of it but which one it is, and that it was heard of. */
void late_unit_reset(struct late_unit *unit);

/*
 * Add the stacks of a record, whose frames it takes over, and free the array.
 * Of very many every second one goes.  Returns 0 or -ENOMEM, when all of
 * @stacks are freed.
 */
int late_unit_add(struct late_unit *unit, struct alert_stack *stacks, uint32_t nr);

#endif /* _USER_APP_WATCH_LATE_UNITS_H */
