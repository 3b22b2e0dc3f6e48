/* SPDX-License-Identifier: GPL-2.0 */
/* A profile's tables on their way into the module. */
#ifndef _USER_APP_ARM_UPLOAD_H
#define _USER_APP_ARM_UPLOAD_H

#include <stdint.h>

#include "train/model/loading.h"

struct link;

/*
 * Add all of a loading to profile @id, which is new; @fds are its objects, open.
 * Returns as link.h does.
 */
int upload_profile(struct link *link, uint32_t id, const struct loading *loading, const int *fds);

#endif /* _USER_APP_ARM_UPLOAD_H */
