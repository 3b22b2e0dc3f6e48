/* SPDX-License-Identifier: GPL-2.0 */
/* The user's memory is ours, from user_start to before user_end; all else faults. */
#ifndef _PGUARD_TEST_UACCESS_H
#define _PGUARD_TEST_UACCESS_H

#include <errno.h>
#include <string.h>

#include <linux/ptrace.h>

#define __user

static u64 user_start, user_end;
static int faults_disabled;

static inline bool user_is_there(u64 address, u64 size)
{
	return faults_disabled == 1 && address >= user_start && address < user_end &&
	       user_end - address >= size;
}

#define get_user(value, pointer) \
	(user_is_there((u64)(pointer), sizeof(*(pointer))) ? \
	 (memcpy(&(value), pointer, sizeof(*(pointer))), 0) : ((value) = 0, -EFAULT))

#define put_user(value, pointer) ({ \
	__typeof__(*(pointer)) _value = (value); \
	user_is_there((u64)(pointer), sizeof(_value)) ? \
		(memcpy(pointer, &_value, sizeof(_value)), 0) : -EFAULT; \
})

static inline void pagefault_disable(void)
{
	faults_disabled++;
}

static inline void pagefault_enable(void)
{
	faults_disabled--;
}

#endif /* _PGUARD_TEST_UACCESS_H */
