/* SPDX-License-Identifier: GPL-2.0 */
/* A lock that a test may hold, as another thread would. */
#ifndef _PGUARD_TEST_SPINLOCK_H
#define _PGUARD_TEST_SPINLOCK_H

#include <linux/compiler.h>

typedef struct {
	bool is_held;
} spinlock_t;

static inline void spin_lock_init(spinlock_t *lock)
{
	lock->is_held = false;
}

static inline bool spin_trylock(spinlock_t *lock)
{
	return !__atomic_test_and_set(&lock->is_held, __ATOMIC_ACQUIRE);
}

static inline void spin_unlock(spinlock_t *lock)
{
	__atomic_clear(&lock->is_held, __ATOMIC_RELEASE);
}

#endif /* _PGUARD_TEST_SPINLOCK_H */
