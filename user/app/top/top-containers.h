/* SPDX-License-Identifier: GPL-2.0 */
/* The containers that the processes of a program are in. */
#ifndef _USER_APP_TOP_TOP_CONTAINERS_H
#define _USER_APP_TOP_TOP_CONTAINERS_H

#include "link/link.h"
#include "out/top/top-table.h"

/*
 * Count the processes of each, and the units that they have done a second since the reading
 * @before, which was @span_ns ago; NULL: there is none.  Of more containers than there is room
 * for, the first are taken.  Returns 0, or the link's error.
 */
int top_containers_read(struct link *link, struct top_program *program,
			const struct top_program *before, uint64_t span_ns);

#endif /* _USER_APP_TOP_TOP_CONTAINERS_H */
