/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the first alerts need, read before they come: the profiles, and the files of the programs
 * that are watched.  In the background, behind programs that leave no CPU time, that would take as
 * long as those last.
 */
#ifndef _USER_APP_WATCH_PREPARATION_H
#define _USER_APP_WATCH_PREPARATION_H

#include "app/watch/watching.h"

/*
 * Takes some seconds at most; files that are left out are read with the first alert.  Returns 0 or
 * a negative errno of the link.
 */
int preparation_make(struct watching *watching);

#endif /* _USER_APP_WATCH_PREPARATION_H */
