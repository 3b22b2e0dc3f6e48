/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The key of an alert, BOOT/LOAD/KIND/NUMBER, which is in its JSON and goes with it wherever that
 * is sent: two copies of one alert have the same key, whenever and however often they were read
 * or sent, and no two alerts of any machines have.
 */
#ifndef _USER_DATA_ALERT_KEY_H
#define _USER_DATA_ALERT_KEY_H

#include <stdint.h>

enum { ALERT_KEY_MAX = 160 };

/*
 * @load: of the module, "BOOT/LOAD"; @seq: of its record.  An alert that is of no record, @seq 0,
 * has the time when it was made instead, CLOCK_REALTIME.
 */
void alert_key(const char *load, const char *kind, uint64_t seq, uint64_t time_ns,
	       char ret[ALERT_KEY_MAX]);

#endif /* _USER_DATA_ALERT_KEY_H */
