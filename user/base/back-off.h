/* SPDX-License-Identifier: GPL-2.0 */
/* How long to wait for another attempt. */
#ifndef _USER_BASE_BACK_OFF_H
#define _USER_BASE_BACK_OFF_H

#include <stdint.h>

/* @wait_ns: before the last attempt, 0 if there was none: twice that, from @first_ns to @last_ns. */
static inline uint64_t back_off_next(uint64_t wait_ns, uint64_t first_ns, uint64_t last_ns)
{
	if (!wait_ns)
		return first_ns;
	return wait_ns < last_ns / 2 ? 2 * wait_ns : last_ns;
}

#endif /* _USER_BASE_BACK_OFF_H */
