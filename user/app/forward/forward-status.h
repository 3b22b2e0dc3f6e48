/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How far the service's forwarders are, by what its spool has of them, for who asks.
 */
#ifndef _USER_APP_FORWARD_FORWARD_STATUS_H
#define _USER_APP_FORWARD_FORWARD_STATUS_H

#include <stdbool.h>
#include <stddef.h>

struct spool_forward;

/* "12 passed on, 0 refused, 0 lost, 3 waiting, passing on". */
void forward_status_text(const struct spool_forward *forward, char *text, size_t size);

/*
 * Print each of those that the configuration has used so far, as text or as lines of JSON.  Without
 * a configuration or a spool there is none; what is wrong with these is a warning.
 */
void forward_status_print(const char *config_path, bool is_json);

#endif /* _USER_APP_FORWARD_FORWARD_STATUS_H */
