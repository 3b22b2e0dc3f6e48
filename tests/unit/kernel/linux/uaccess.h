/* SPDX-License-Identifier: GPL-2.0 */
/* The user's memory is ours, from user_start to before user_end; all else faults. */
#ifndef _PGUARD_TEST_UACCESS_H
#define _PGUARD_TEST_UACCESS_H

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

static bool user_is_open;

/* Only whether the address can be a user's; what is not there faults later. */
static inline bool user_access_begin(const void *pointer, u64 size)
{
	(void)size;
	user_is_open = (u64)pointer >> 63 == 0;
	return user_is_open;
}

static inline void user_access_end(void)
{
	user_is_open = false;
}

#define unsafe_get_user(value, pointer, fault)                                          \
	do {                                                                            \
		if (!user_is_open || !user_is_there((u64)(pointer), sizeof(*(pointer)))) \
			goto fault;                                                     \
		memcpy(&(value), pointer, sizeof(*(pointer)));                          \
	} while (0)

#define unsafe_put_user(value, pointer, fault)                                          \
	do {                                                                            \
		__typeof__(*(pointer)) _value = (value);                                \
                                                                                        \
		if (!user_is_open || !user_is_there((u64)(pointer), sizeof(_value)))    \
			goto fault;                                                     \
		memcpy(pointer, &_value, sizeof(_value));                               \
	} while (0)

static inline void pagefault_disable(void)
{
	faults_disabled++;
}

static inline void pagefault_enable(void)
{
	faults_disabled--;
}

#endif /* _PGUARD_TEST_UACCESS_H */
