/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names of the system calls in which threads wait (x86-64).
 */
#ifndef _USER_BASE_SYSCALL_NAME_H
#define _USER_BASE_SYSCALL_NAME_H

#include <stdint.h>

/* The call's name, or NULL if no event loop waits in it. */
const char *syscall_name(uint32_t number);

/* The same of others in which a unit may be held up; NULL for what is rare. */
const char *syscall_any_name(uint32_t number);

#endif /* _USER_BASE_SYSCALL_NAME_H */
