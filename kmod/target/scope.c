// SPDX-License-Identifier: GPL-2.0

#include "target/scope.h"

#include <linux/cred.h>
#include <linux/rcupdate.h>

/* Return: true if @task is in the scope now.  Context: any; @task stays. */
bool pguard_scope_has(const struct pguard_scope *scope, struct task_struct *task)
{
	bool ret = true;

	rcu_read_lock();
	if (scope->cgroup)
		ret = task_under_cgroup_hierarchy(task, scope->cgroup);
	if (ret && uid_valid(scope->uid))
		ret = uid_eq(scope->uid, task_uid(task));
	rcu_read_unlock();
	return ret;
}

/**
 * pguard_scope_excludes() - may no two targets of a file have these scopes
 *
 * Of two limited ones that are not the same, a process that is in both belongs to the
 * target that is older.
 *
 * Context: any.
 */
bool pguard_scope_excludes(const struct pguard_scope *scope, const struct pguard_scope *other)
{
	return pguard_scope_is_any(scope) || pguard_scope_is_any(other) ||
	       pguard_scope_is_same(scope, other);
}

/* The copy has a reference of its own.  Context: any. */
void pguard_scope_copy(struct pguard_scope *to, const struct pguard_scope *from)
{
	*to = *from;
	if (to->cgroup)
		cgroup_get(to->cgroup);
}

/* Give the reference back.  Context: any. */
void pguard_scope_put(struct pguard_scope *scope)
{
	if (scope->cgroup)
		cgroup_put(scope->cgroup);
	scope->cgroup = NULL;
}
