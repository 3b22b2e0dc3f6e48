/* SPDX-License-Identifier: GPL-2.0 */
/* An armed profile for people: its guards, and its types by time. */
#ifndef _USER_APP_WATCH_STATUS_PROFILE_H
#define _USER_APP_WATCH_STATUS_PROFILE_H

#include <stdint.h>

struct status_profile;
struct target;

/* @max_types: to show of each loop. */
void status_profile_text(const struct status_profile *profile, const struct target *target,
			 uint32_t max_types);

#endif /* _USER_APP_WATCH_STATUS_PROFILE_H */
