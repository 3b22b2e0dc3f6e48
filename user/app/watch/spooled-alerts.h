/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Alerts that the service has kept in its spool, printed.
 */
#ifndef _USER_APP_WATCH_SPOOLED_ALERTS_H
#define _USER_APP_WATCH_SPOOLED_ALERTS_H

#include <stdbool.h>
#include <stdint.h>

struct spooled_alerts {
	const char *path; /* of the spool */
	uint64_t since_ns; /* CLOCK_REALTIME */
	uint32_t last; /* so many; 0: all */
	bool is_json;
	bool is_brief; /* see watching.is_brief */
	bool is_unwound; /* once more, with the names that are known now */
};

/*
 * A moment, as time_parse() has it, or how long ago: 2h.  Returns 0 or -EINVAL.
 */
int spooled_alerts_since(const char *text, uint64_t *ret_ns);

/* Returns an enum cmd_exit; what is wrong was reported. */
int spooled_alerts_print(const struct spooled_alerts *wanted);

#endif /* _USER_APP_WATCH_SPOOLED_ALERTS_H */
