/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From a record to the alert an operator sees: its stacks unwound.
 */
#ifndef _USER_APP_COMMON_STACKS_H
#define _USER_APP_COMMON_STACKS_H

#include "data/alert-record.h"
#include "out/alert/alert.h"

struct unwinder;

/*
 * Unwind all stacks of a record.  The frames' strings are the unwinder's;
 * stacks_free() frees the rest.  Returns 0 or -ENOMEM.
 */
int stacks_unwind(struct unwinder *unwinder, const struct record *record,
		  struct alert_stack **ret, uint32_t *ret_nr);

/*
 * Add @nr stacks, whose frames it takes over, to *@all, and free their array.
 * Returns 0, or -ENOMEM when all of @stacks are freed.
 */
int stacks_append(struct alert_stack **all, uint32_t *nr_all, struct alert_stack *stacks,
		  uint32_t nr);

/*
 * The stacks of the unit's own thread, in their order, for hotpath_init(); @ret has room for all.
 * Returns how many they are.
 */
uint32_t stacks_own(const struct alert_stack *stacks, uint32_t nr, struct hotpath_stack *ret);

void stacks_free(struct alert_stack *stacks, uint32_t nr);

#endif /* _USER_APP_COMMON_STACKS_H */
