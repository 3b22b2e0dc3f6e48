/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The service: it arms profiles, watches what they guard, and gives each alert to where the
 * operator has it, until it is asked to end.  SIGHUP reads the configuration again.
 */
#ifndef _USER_APP_SERVE_SERVICE_H
#define _USER_APP_SERVE_SERVICE_H

struct http_address;

/*
 * @metrics: where they are, whatever the configuration has; NULL: where that has them.  Returns an
 * enum cmd_exit; what is wrong was reported.
 */
int service_run(const char *config_path, const struct http_address *metrics);

/* Read the configuration, and say what is wrong with it.  Returns the same. */
int service_check(const char *config_path);

#endif /* _USER_APP_SERVE_SERVICE_H */
