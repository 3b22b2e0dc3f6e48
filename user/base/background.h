/* SPDX-License-Identifier: GPL-2.0 */
/* Work that has to make way for the programs that are guarded. */
#ifndef _USER_BASE_BACKGROUND_H
#define _USER_BASE_BACKGROUND_H

/*
 * From now on this process preempts nobody and gets what processor time others
 * leave, but never none.  Else a late unit begets others: what it makes us do
 * takes the CPU from the next ones.  Where something forbids that, it goes on
 * as before.
 */
void background_enter(void);

#endif /* _USER_BASE_BACKGROUND_H */
