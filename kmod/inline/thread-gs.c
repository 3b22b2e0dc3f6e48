// SPDX-License-Identifier: GPL-2.0

#include "inline/thread-gs.h"

#include "inline/area.h"

#include <linux/mm_types.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/smp.h>

struct gs_look {
	const struct mm_struct *mm;
	bool is_used;
};

/* The saved base of a thread that runs may be an old one. */
static void look_at_running(void *argument)
{
	struct gs_look *look = argument;

	if (current->mm == look->mm && !pguard_area_has_base(pguard_gs_base()))
		WRITE_ONCE(look->is_used, true);
}

/**
 * pguard_gs_is_used() - does a thread of current's process use GS
 *
 * Except for what we have set.
 *
 * Context: current, in a system call or task work; may sleep.
 */
bool pguard_gs_is_used(void)
{
	struct gs_look look = { .mm = current->mm };
	const struct task_struct *thread;

	on_each_cpu_mask(mm_cpumask(current->mm), look_at_running, &look, true);
	rcu_read_lock();
	for_each_thread(current, thread)
		if (READ_ONCE(thread->thread.gsindex) ||
		    (!READ_ONCE(thread->on_cpu) &&
		     !pguard_area_has_base(READ_ONCE(thread->thread.gsbase))))
			look.is_used = true;
	rcu_read_unlock();
	return look.is_used;
}
