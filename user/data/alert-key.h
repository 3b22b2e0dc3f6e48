/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The key of an alert in the world: MACHINE:BOOT:LOAD:SEQUENCE.  Two copies of one alert have the
 * same key, whenever and however often they were sent, and no two alerts have.
 */
#ifndef _USER_DATA_ALERT_KEY_H
#define _USER_DATA_ALERT_KEY_H

#include <stdint.h>

enum { ALERT_KEY_MAX = 192 };

/*
 * @load: of the module, "BOOT/LOAD"; @seq: of its record.  An alert that is of no record, @seq 0,
 * has the place of a spool, @id, and its time instead.
 */
void alert_key(const char *machine, const char *load, uint64_t seq, uint64_t id, uint64_t time_ns,
	       char ret[ALERT_KEY_MAX]);

#endif /* _USER_DATA_ALERT_KEY_H */
