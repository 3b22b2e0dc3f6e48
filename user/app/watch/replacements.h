/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reports, once each, that the file of an armed target was replaced.
 */
#ifndef _USER_APP_WATCH_REPLACEMENTS_H
#define _USER_APP_WATCH_REPLACEMENTS_H

#include <stdint.h>

struct watching;

struct replacements {
	uint32_t *ids; /* of the targets that were reported */
	uint32_t nr;
};

/* Returns 0, -EIO, -ENOMEM or the link's error. */
int replacements_look(struct watching *watching);
void replacements_deinit(struct replacements *replacements);

#endif /* _USER_APP_WATCH_REPLACEMENTS_H */
