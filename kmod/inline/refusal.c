// SPDX-License-Identifier: GPL-2.0

#include "inline/refusal.h"

#include "inline/thread-gs.h"

#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>

#include <linux/perfguard.h>

static u32 refusal_of_threads(void)
{
	const struct task_struct *thread;
	u32 ret = 0;

	rcu_read_lock();
	for_each_thread(current, thread) {
		if (READ_ONCE(thread->ptrace))
			ret = PERFGUARD_INLINE_REFUSAL_TRACED;
		else if (pguard_has_shadow_stack(thread))
			ret = PERFGUARD_INLINE_REFUSAL_SHADOW_STACK;
		if (ret)
			break;
	}
	rcu_read_unlock();
	return ret;
}

/* Its areas and landings would be another's, too, whose threads we may not know. */
static bool is_shared(void)
{
	struct task_struct *process;
	bool ret = false;

	rcu_read_lock();
	for_each_process(process)
		if (READ_ONCE(process->mm) == current->mm && !same_thread_group(process, current))
			ret = true;
	rcu_read_unlock();
	return ret;
}

/*
 * Code that was generated may set GS, and nothing says when.  Memory that the kernel has mapped by
 * itself, as it does the vDSO, has operations of its own.
 */
static bool has_generated(void)
{
	VMA_ITERATOR(vmi, current->mm, 0);
	struct vm_area_struct *vma;
	bool ret = false;

	if (mmap_read_lock_killable(current->mm))
		return true;
	for_each_vma(vmi, vma)
		if (vma->vm_flags & VM_EXEC && !vma->vm_file && !vma->vm_ops) {
			ret = true;
			break;
		}
	mmap_read_unlock(current->mm);
	return ret;
}

/**
 * pguard_inline_refusal() - why the sites of current's process must not jump
 *
 * Asked before its first one does: what it becomes later is seen by nobody but its own threads.
 *
 * Context: current, on its way to user mode; may sleep; takes its memory's map lock.
 * Return: enum perfguard_inline_refusal; 0: there is no reason.
 */
u32 pguard_inline_refusal(void)
{
	if (!user_64bit_mode(task_pt_regs(current)))
		return PERFGUARD_INLINE_REFUSAL_NOT_64_BIT;
	if (is_shared())
		return PERFGUARD_INLINE_REFUSAL_SHARED;
	if (has_generated())
		return PERFGUARD_INLINE_REFUSAL_GENERATED;
	if (rlimit(RLIMIT_AS) != RLIM_INFINITY)
		return PERFGUARD_INLINE_REFUSAL_UNMAPPED;
	if (pguard_gs_is_used())
		return PERFGUARD_INLINE_REFUSAL_GS;
	return refusal_of_threads();
}
