/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stack of a thread that sleeps in a system call, taken from outside and
 * without the module: the thread is neither stopped nor woken.
 */
#ifndef _USER_BINARY_STACK_SNAPSHOT_H
#define _USER_BINARY_STACK_SNAPSHOT_H

#include <stdint.h>

#include "data/stack-copy.h"

/*
 * Take the stack of thread @tid of process @pid.  Only the stack pointer and
 * the instruction pointer are known; slice.unknown_regs has the others.
 *
 * Returns 0 and fills in @ret (slice_clear() frees it) and *@ret_syscall;
 * -EAGAIN if the thread runs or moved on meanwhile, -ESRCH if it is gone,
 * -EACCES or -EPERM without the right to read it, -ENOMEM, or another
 * negative errno; then @ret holds nothing.
 */
int snapshot_thread(uint32_t pid, uint32_t tid, struct slice *ret, uint32_t *ret_syscall);

/*
 * The executable mappings of a process, in *@slice, which slice_clear() frees
 * in any case.  Returns 0, -ESRCH or another negative errno.
 */
int snapshot_mappings(uint32_t pid, struct slice *slice);

#endif /* _USER_BINARY_STACK_SNAPSHOT_H */
