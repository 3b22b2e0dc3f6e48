/* SPDX-License-Identifier: GPL-2.0 */
/* What the module's files that run in a test need of the kernel. */
#ifndef _PGUARD_TEST_COMPILER_H
#define _PGUARD_TEST_COMPILER_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s64 s64;

#define likely(condition) (condition)
#define unlikely(condition) (condition)
#define noinline __attribute__((noinline))
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#define __aligned(size) __attribute__((aligned(size)))

#define READ_ONCE(object) (*(const volatile __typeof__(object) *)&(object))
#define WRITE_ONCE(object, value) (*(volatile __typeof__(object) *)&(object) = (value))
#define smp_load_acquire(pointer) __atomic_load_n(pointer, __ATOMIC_ACQUIRE)
#define smp_store_release(pointer, value) __atomic_store_n(pointer, value, __ATOMIC_RELEASE)
#define container_of(pointer, type, member) \
	((type *)((const char *)(pointer)-offsetof(type, member)))

#endif /* _PGUARD_TEST_COMPILER_H */
