/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Targets of a file that was replaced by the one that was armed just now.
 */
#ifndef _USER_APP_ARM_STALE_TARGETS_H
#define _USER_APP_ARM_STALE_TARGETS_H

#include <stdint.h>

struct link;

/*
 * Disarm those of the same path and scope as @target_id that no process runs any more, and
 * print which, and which stay as there are some that do.
 */
void stale_targets_replace(struct link *link, uint32_t target_id);

#endif /* _USER_APP_ARM_STALE_TARGETS_H */
