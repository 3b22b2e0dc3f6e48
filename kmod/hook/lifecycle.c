// SPDX-License-Identifier: GPL-2.0

/*
 * Probes on the scheduler's fork, exec and exit tracepoints, registered while
 * there is a target.  All run in the task itself, with preemption off (until
 * 7.0) or in an RCU section; they do not sleep.
 */

#include "hook/hook.h"

#include "inline/area.h"
#include "lib/tracepoint.h"
#include "probe/noted-hits.h"
#include "probe/probe-set.h"
#include "target/image.h"
#include "target/newcomer.h"
#include "target/process.h"
#include "target/thread.h"
#include "trainstream/stream.h"
#include "unit/unit.h"

#include <linux/binfmts.h>
#include <linux/sched/signal.h>
#include <linux/tracepoint.h>

static bool process_maybe_watched(const struct task_struct *task)
{
	return test_bit(pguard_process_slot(task->tgid), pguard_process_slots);
}

static void probe_fork(void *data, struct task_struct *parent, struct task_struct *child)
{
	if (likely(!process_maybe_watched(parent)))
		return;
	pguard_area_fork(child);
	if (child->tgid == parent->tgid)
		return;
	pguard_process_add_like(parent->tgid, child);
}

/* What becomes of the unit at hand: @end is pguard_unit_exit() or pguard_unit_drop(). */
static void state_drop(struct task_struct *task, void (*end)(struct pguard_thread *))
{
	struct pguard_thread *thread = pguard_thread_remove(task);

	if (!thread)
		return;
	pguard_noted_hits_take(thread);
	end(thread);
	pguard_area_leave(thread);
	pguard_stream_end(thread);
	atomic64_inc(&thread->image->target->ended_threads);
	pguard_thread_put(thread);
}

/* Which target the process belongs to with its new executable. */
static struct pguard_target *exec_target(const struct linux_binprm *bprm, struct task_struct *task)
{
	struct pguard_image *old = pguard_process_image_get(task->tgid);
	struct pguard_target *target = NULL;
	bool is_newcomer = bprm->file && pguard_newcomer_expect(bprm->file, task);

	spin_lock(&pguard_images_lock);
	if (bprm->file && !is_newcomer)
		target = pguard_target_match(bprm->file, task);
	/* A process that was named itself stays, whatever it executes. */
	if (!target && old && !old->target->inode && !old->target->dying)
		target = old->target;
	if (target)
		kref_get(&target->kref);
	spin_unlock(&pguard_images_lock);
	pguard_image_put(old);
	return target;
}

static void probe_exec(void *data, struct task_struct *task, pid_t old_pid,
		       struct linux_binprm *bprm)
{
	struct pguard_target *target = exec_target(bprm, task);

	if (process_maybe_watched(task)) {
		/* The state belongs to the image that was; the thread gets a new one. */
		state_drop(task, pguard_unit_drop);
		pguard_process_del(task->tgid);
	}
	if (target) {
		pguard_process_add(target, task);
		pguard_target_put(target);
	}
}

static void probe_exit(PGUARD_EXIT_PROBE_ARGS)
{
	/* Threads that exit together may see their process gone already. */
	state_drop(task, pguard_unit_exit);
	/* The last thread of the group takes the process along. */
	if (unlikely(process_maybe_watched(task)) && !atomic_read(&task->signal->live)) {
		pguard_process_del(task->tgid);
		pguard_probe_set_tidy();
	}
}

static struct probe {
	const char *name;
	void *function;
	struct tracepoint *tracepoint;
	bool registered;
} probes[] = {
	{ "sched_process_fork", probe_fork },
	{ "sched_process_exec", probe_exec },
	{ "sched_process_exit", probe_exit },
};

/**
 * pguard_lifecycle_start() - register the probes, if they are not
 *
 * Context: may sleep; pguard_control held.
 * Return: 0, or an error with no probe registered.
 */
int pguard_lifecycle_start(void)
{
	u32 i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		if (probes[i].registered)
			continue;
		probes[i].tracepoint = pguard_tracepoint_find(probes[i].name);
		ret = probes[i].tracepoint ?
			      tracepoint_probe_register(probes[i].tracepoint, probes[i].function,
							NULL) : -ENOENT;
		if (ret) {
			pguard_lifecycle_stop();
			return ret;
		}
		probes[i].registered = true;
	}
	return 0;
}

/**
 * pguard_lifecycle_stop() - unregister the probes
 *
 * Some may still run; they find nothing that is watched.
 *
 * Context: may sleep; pguard_control held.
 */
void pguard_lifecycle_stop(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		if (!probes[i].registered)
			continue;
		tracepoint_probe_unregister(probes[i].tracepoint, probes[i].function, NULL);
		probes[i].registered = false;
	}
}

/* No probe runs any more on return. */
void pguard_lifecycle_deinit(void)
{
	tracepoint_synchronize_unregister();
}
