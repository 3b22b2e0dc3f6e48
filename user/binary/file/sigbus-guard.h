/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A guard against SIGBUS from files that are cut short while they are mapped: by
 * an update that writes a program in place, by a file system that fails.
 */
#ifndef _USER_BINARY_FILE_SIGBUS_GUARD_H
#define _USER_BINARY_FILE_SIGBUS_GUARD_H

/*
 * From now on, a read of a mapped file beyond its end gives zeros instead of
 * killing this process by SIGBUS.  Helpers (binary/helper/confine.h) do without:
 * their death is an answer.
 */
void sigbus_guard_enable(void);

#endif /* _USER_BINARY_FILE_SIGBUS_GUARD_H */
