/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A set of places, parted into groups by the call that they leave a frame by,
 * and the choice of the group that is the loop wait.  boundary.c explains
 * the reasons.
 */
#ifndef _USER_TRAIN_LOOPS_GROUP_H
#define _USER_TRAIN_LOOPS_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "train/loops/pool.h"

enum {
	GROUP_NO_LEVEL = UINT32_MAX,
};

/* How a group that is not the best belongs to the same loop. */
enum group_joins {
	GROUP_JOINS_NOT,
	GROUP_JOINS_NEARER, /* all of it, it waits next to the loop */
	GROUP_JOINS_INNER, /* what is best in it, there is other work */
	GROUP_JOINS_IDLE, /* those of its shapes that threads come to from empty polls */
};

struct group {
	uint64_t call;
	uint32_t runs; /* of consecutive waits in this group */
	uint32_t slept; /* runs in which it did */
	uint32_t sleeps; /* waits in which it did */
	uint32_t empty; /* of those, that brought nothing */
	uint32_t depth; /* calls from the branch frame to the system call */
	uint32_t kind; /* enum shape_kind, the likeliest of its shapes */
	uint32_t kinds; /* a bit for each kind of its shapes */
	bool is_own; /* some waits in it are no longer reported */
	uint32_t own_waits; /* those reported before */
	uint32_t own_slept;
	bool stays; /* belongs to the best */
	enum group_joins joins; /* its waits are loop waits, as the best's are */
	uint64_t blocked_ns;
	uint64_t last_ns; /* when the last wait in it was entered */
};

/* How a shape is slept in: in all, and by those that come from an empty poll. */
struct group_idle {
	uint32_t sleeps;
	uint32_t polled;
	uint64_t slept_ns;
	uint64_t polled_ns;
	bool joins; /* it is why its group joins */
};

struct groups {
	const struct pools *pools;
	uint32_t pool; /* whose waits count */
	bool *set; /* by shape */
	uint32_t *of_shape; /* valid for the shapes in the set */
	struct group_idle *idle; /* by shape */
	struct group *entries;
	uint32_t nr;
	uint64_t *gaps; /* room for two samples, each of pools->nr_waits */
	uint32_t *last; /* by thread, while waits are counted */
	bool *slept; /* by thread, in the run at hand */
};

/* @pools must outlive the groups.  Returns 0 or -ENOMEM. */
int groups_init(struct groups *groups, const struct pools *pools);
void groups_deinit(struct groups *groups);

/* Start with the shapes in which threads of @pool wait; false if there are none. */
bool groups_take(struct groups *groups, uint32_t pool);

/* The level at which the set's places part, or GROUP_NO_LEVEL if it holds one shape. */
uint32_t groups_level(const struct groups *groups);

/* Part the set at @level.  Returns the number of groups. */
uint32_t groups_part(struct groups *groups, uint32_t level);

/*
 * Take all groups out of the set that do not belong to the best.  Returns how
 * many stay.  Those that are waits of the same loop, only in another place,
 * are returned by groups_joins() until the next part.
 */
uint32_t groups_keep_best(struct groups *groups);
enum group_joins groups_joins(const struct groups *groups, uint32_t shape);

#endif /* _USER_TRAIN_LOOPS_GROUP_H */
