/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Late requests: each is printed when it is reported first, in short when its time
 * has doubled or it has ended; those that wait for the same folded, as late units are.
 */
#ifndef _USER_APP_WATCH_REQUEST_ALERTS_H
#define _USER_APP_WATCH_REQUEST_ALERTS_H

#include "app/watch/watching.h"

/* A record of kind request.  Returns what watching_take() does. */
int request_alerts_take(struct watching *watching, const struct record *record);

#endif /* _USER_APP_WATCH_REQUEST_ALERTS_H */
