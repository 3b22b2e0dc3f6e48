// SPDX-License-Identifier: GPL-2.0

/*
 * What lock a thread waits for, and who holds it.
 *
 * The kernel only knows the address of a futex.  That it is a lock, and whose,
 * is said by the words there, as the C libraries lay them out.
 */

#include "report/stack.h"

#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched/signal.h>

/*
 * A mutex of glibc: the word that threads wait at, which is 2 while some do,
 * how often its owner has it, and its owner.
 */
enum { WORD_LOCK, WORD_COUNT, WORD_OWNER, NR_WORDS };
enum { LOCK_HELD = 1, LOCK_CONTENDED = 2 };

/* The owner's id as its process knows it, or 0. */
static u32 words_owner(const struct pt_regs *regs, const u32 words[NR_WORDS])
{
	u32 awaited = regs->dx, owner = words[WORD_LOCK] & FUTEX_TID_MASK;

	switch (regs->si & FUTEX_CMD_MASK) {
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		return owner;
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
		/*
		 * A robust mutex has its owner in the word.  A plain one of
		 * musl has a number there that is no thread.
		 */
		if (awaited & FUTEX_WAITERS)
			return owner == EBUSY ? 0 : owner;
		if (awaited == LOCK_CONTENDED && (words[WORD_LOCK] == LOCK_HELD ||
						  words[WORD_LOCK] == LOCK_CONTENDED))
			return words[WORD_OWNER];
	}
	return 0;
}

/*
 * The words may be no lock, or of one whose owner has just changed: what they
 * name has to be another living thread of the process.
 */
static u32 owner_verify(struct task_struct *waiter, u32 tid)
{
	struct pid_namespace *ns;
	struct task_struct *owner = NULL;
	u32 ret = 0;

	rcu_read_lock();
	ns = task_active_pid_ns(waiter);
	if (ns && tid <= INT_MAX)
		owner = pid_task(find_pid_ns(tid, ns), PIDTYPE_PID);
	if (owner && owner != waiter && same_thread_group(owner, waiter) &&
	    !READ_ONCE(owner->exit_state))
		ret = owner->pid;
	rcu_read_unlock();
	return ret;
}

/**
 * pguard_lock_holder() - the thread that holds the lock another one waits for
 * @task: the one that waits; referenced by the caller
 * @regs: its user registers
 *
 * Absent pages are not waited for.
 *
 * Context: may sleep; not @task.
 * Return: its id in the first pid namespace; 0 if it is not known.
 */
u32 pguard_lock_holder(struct task_struct *task, const struct pt_regs *regs)
{
	u64 address = pguard_lock_holder_address(regs);
	u32 words[NR_WORDS] = { 0 };
	u32 owner;

	if (!address || address % sizeof(words[0]))
		return 0;
	if (access_process_vm(task, address, words, sizeof(words), FOLL_NOFAULT) <= 0)
		return 0;
	owner = words_owner(regs, words);
	return owner ? owner_verify(task, owner) : 0;
}
