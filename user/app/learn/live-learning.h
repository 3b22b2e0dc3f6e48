/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From what the module counts of a profile that is armed to better limits.
 */
#ifndef _USER_APP_LEARN_LIVE_LEARNING_H
#define _USER_APP_LEARN_LIVE_LEARNING_H

#include <stdint.h>

struct learning;

/*
 * Watch the units of the loaded profile, as it is armed, for so long, and add what they take
 * to it.  Returns 0 or an exit code; the error was reported.
 */
int live_learn(struct learning *learning, uint64_t duration_ns);

#endif /* _USER_APP_LEARN_LIVE_LEARNING_H */
