/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names of the system calls in which threads wait (x86-64).
 */
#ifndef _USER_BASE_SYSCALL_NAME_H
#define _USER_BASE_SYSCALL_NAME_H

#include <stdint.h>

/* The name of a call that event loops wait in, else NULL. */
const char *syscall_name(uint32_t number);

/* The same with others that may delay a unit; NULL for rare ones. */
const char *syscall_any_name(uint32_t number);

#endif /* _USER_BASE_SYSCALL_NAME_H */
