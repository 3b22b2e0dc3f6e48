/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Durations in nanoseconds, as text.
 */
#ifndef _USER_BASE_DURATION_H
#define _USER_BASE_DURATION_H

#include <stdint.h>

#define NSEC_PER_USEC UINT64_C(1000)
#define NSEC_PER_MSEC UINT64_C(1000000)
#define NSEC_PER_SEC UINT64_C(1000000000)

/* Room for any text of duration_format(). */
#define DURATION_TEXT_MAX 24

/*
 * Read "50ms", "2s", "300us", "1.5 s", "2m", "1h", "800ns"; a number without a
 * unit is seconds.  Returns 0 or -EINVAL (also for negative, infinite or too
 * large a value: the most is about 292 years).
 */
int duration_parse(const char *text, uint64_t *ret_ns);

/* Three significant digits and a unit: "1.23 ms".  Returns @text. */
char *duration_format(uint64_t ns, char text[DURATION_TEXT_MAX]);

#endif /* _USER_BASE_DURATION_H */
