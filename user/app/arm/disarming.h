/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _USER_APP_ARM_DISARMING_H
#define _USER_APP_ARM_DISARMING_H

/*
 * Disarm the targets that @name means: an id, a file or a process; all if it is
 * NULL.  Returns 0 or an exit code; the error was reported.
 */
int disarm(const char *name);

#endif /* _USER_APP_ARM_DISARMING_H */
