/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the service, or one before it, has armed and does not want any more.
 */
#ifndef _USER_APP_SERVE_SERVICE_DISARMING_H
#define _USER_APP_SERVE_SERVICE_DISARMING_H

#include <stdbool.h>

struct link;
struct service_config;
struct service_profiles;

/*
 * Disarm what is armed from the directory, by us or by those before us, and is not there any more.
 * Returns 0 or an exit code, reported.
 */
int service_disarm_others(const struct service_profiles *profiles,
			  const struct service_config *config, struct link *link);

/*
 * Disarm what our profiles guarded before they were armed for others: those whom the configuration
 * had if it @has_changed, and else those of whom there is none any more.  Who still runs a file
 * that was replaced is guarded on.
 */
void service_disarm_former(const struct service_profiles *profiles, struct link *link,
			   bool has_changed);

/* Disarm what is armed by our profiles. */
void service_disarm_all(const struct service_profiles *profiles, struct link *link);

#endif /* _USER_APP_SERVE_SERVICE_DISARMING_H */
