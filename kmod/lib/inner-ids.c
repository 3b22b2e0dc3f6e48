// SPDX-License-Identifier: GPL-2.0

#include "lib/inner-ids.h"

#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

/* Context: any; @task stays. */
struct pguard_inner_ids pguard_inner_ids_of(struct task_struct *task)
{
	struct pguard_inner_ids ret = { };
	struct pid_namespace *ns;

	rcu_read_lock();
	ns = task_active_pid_ns(task);
	if (ns && ns != &init_pid_ns) {
		ret.pid = task_tgid_nr_ns(task, ns);
		ret.tid = task_pid_nr_ns(task, ns);
	}
	rcu_read_unlock();
	return ret;
}
