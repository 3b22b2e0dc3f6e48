/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the module has counted of a profile that is armed, at a moment.
 */
#ifndef _USER_APP_LEARN_LIVE_READING_H
#define _USER_APP_LEARN_LIVE_READING_H

#include "data/armed.h"

struct link;

struct live_reading {
	struct armed_type *types;
	struct armed_times *times;
	uint32_t nr;
	uint32_t nr_times;
	uint32_t nr_shed; /* guards that are off, to keep the budget */
};

/*
 * Of the profile in the file @path, which has to be armed as it is.  Returns 0 or an exit
 * code, reported; live_reading_deinit() in the first case.
 */
int live_reading_take(struct link *link, const char *path, struct live_reading *ret);
void live_reading_deinit(struct live_reading *reading);

/* By the type's number; NULL if it is not armed. */
const struct armed_type *live_reading_type(const struct live_reading *reading, uint32_t id);
const struct armed_times *live_reading_times(const struct live_reading *reading, uint32_t id);

#endif /* _USER_APP_LEARN_LIVE_READING_H */
