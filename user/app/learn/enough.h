/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whether there were units enough to learn anything from.
 */
#ifndef _USER_APP_LEARN_ENOUGH_H
#define _USER_APP_LEARN_ENOUGH_H

#include "data/samples.h"

/*
 * @all is what is known with the stage of structure, or that of timing, which is @run
 * alone.  Returns 0, or CMD_FAILED if it taught nothing, reported with what to do.
 */
int enough_structure(const struct samples *run, const struct samples *all);
int enough_timing(const struct samples *run, const struct samples *all);

#endif /* _USER_APP_LEARN_ENOUGH_H */
