// SPDX-License-Identifier: GPL-2.0

#include "target/scope.h"

#include "target/arguments.h"

#include <linux/cred.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>

static bool has_pid(const struct pguard_scope_pids *pids, const struct pid *pid)
{
	u32 i;

	for (i = 0; i < pids->nr; i++)
		if (pids->pid[i] == pid)
			return true;
	return false;
}

/*
 * Returns true if a cgroup is at this path, or below it.  Without memory it is not.  A path is
 * only made where the cgroup that was there is gone.
 */
static bool is_below(struct cgroup *cgroup, const char *path)
{
	size_t len = strlen(path);
	char *buf = kmalloc(PATH_MAX, GFP_NOWAIT | __GFP_NOWARN);
	bool ret = false;

	if (!buf)
		return false;
	if (cgroup_path(cgroup, buf, PATH_MAX) > 0)
		ret = !strncmp(buf, path, len) && (!buf[len] || buf[len] == '/');
	kfree(buf);
	return ret;
}

/* Caller holds RCU. */
static bool has_cgroup(const struct pguard_scope *scope, struct task_struct *task)
{
	if (task_under_cgroup_hierarchy(task, scope->cgroup))
		return true;
	return !(READ_ONCE(scope->cgroup->self.flags) & CSS_ONLINE) &&
	       is_below(task_dfl_cgroup(task), scope->path->text);
}

/*
 * Return: true if @task is in the scope now, if its arguments are.  Context: any; @task stays.
 */
bool pguard_scope_has(const struct pguard_scope *scope, struct task_struct *task)
{
	bool ret = true;

	rcu_read_lock();
	if (scope->cgroup)
		ret = has_cgroup(scope, task);
	if (ret && uid_valid(scope->uid))
		ret = uid_eq(scope->uid, task_uid(task));
	if (ret && scope->pids)
		ret = has_pid(scope->pids, task_tgid(task));
	rcu_read_unlock();
	return ret;
}

/* Return: true if a process with these arguments is in the scope otherwise.  Context: any. */
bool pguard_scope_has_arguments(const struct pguard_scope *scope,
				const struct pguard_arguments *arguments)
{
	return !scope->text || strnstr(arguments->text, scope->text->text, arguments->len);
}

/* Return: true if nobody can be in it any more: its processes have gone.  Context: any. */
bool pguard_scope_is_over(const struct pguard_scope *scope)
{
	bool ret = scope->pids;
	u32 i;

	rcu_read_lock();
	for (i = 0; ret && i < scope->pids->nr; i++)
		ret = !pid_task(scope->pids->pid[i], PIDTYPE_TGID);
	rcu_read_unlock();
	return ret;
}

static bool is_same_pids(const struct pguard_scope_pids *pids,
			 const struct pguard_scope_pids *other)
{
	if (!pids || !other)
		return pids == other;
	return pids->nr == other->nr &&
	       !memcmp(pids->pid, other->pid, array_size(pids->nr, sizeof(*pids->pid)));
}

static bool is_same_text(const struct pguard_scope_text *text,
			 const struct pguard_scope_text *other)
{
	if (!text || !other)
		return text == other;
	return !strcmp(text->text, other->text);
}

/* Return: true if they are the same.  Context: any. */
bool pguard_scope_is_same(const struct pguard_scope *scope, const struct pguard_scope *other)
{
	return is_same_text(scope->path, other->path) && uid_eq(scope->uid, other->uid) &&
	       is_same_pids(scope->pids, other->pids) && is_same_text(scope->text, other->text);
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

/**
 * pguard_scope_set_pids() - limit a scope to some processes
 * @scope: the scope; without such a limit
 * @pids: their ids in the first pid namespace
 * @nr: how many
 *
 * Context: may sleep.
 * Return: 0; -ESRCH if one is not there, or is no process; -ENOMEM.
 */
int pguard_scope_set_pids(struct pguard_scope *scope, const u32 *pids, u32 nr)
{
	struct pguard_scope_pids *ret = kzalloc(struct_size(ret, pid, nr), GFP_KERNEL);

	if (!ret)
		return -ENOMEM;
	refcount_set(&ret->refs, 1);
	scope->pids = ret;
	for (; ret->nr < nr; ret->nr++) {
		struct pid *pid;

		rcu_read_lock();
		pid = find_pid_ns(pids[ret->nr], &init_pid_ns);
		pid = pid && pid_task(pid, PIDTYPE_TGID) ? get_pid(pid) : NULL;
		rcu_read_unlock();
		if (!pid)
			return -ESRCH;
		ret->pid[ret->nr] = pid;
	}
	return 0;
}

static struct pguard_scope_text *text_new(const char *text)
{
	size_t size = strlen(text) + 1;
	struct pguard_scope_text *ret = kzalloc(struct_size(ret, text, size), GFP_KERNEL);

	if (!ret)
		return NULL;
	refcount_set(&ret->refs, 1);
	memcpy(ret->text, text, size);
	return ret;
}

/* Limit a scope to processes with @text in their arguments.  Returns 0 or -ENOMEM; may sleep. */
int pguard_scope_set_text(struct pguard_scope *scope, const char *text)
{
	scope->text = text_new(text);
	return scope->text ? 0 : -ENOMEM;
}

/* Limit a scope to a cgroup; takes ownership of the reference.  Returns 0 or an error; may sleep. */
int pguard_scope_set_cgroup(struct pguard_scope *scope, struct cgroup *cgroup)
{
	char *buf = kmalloc(PATH_MAX, GFP_KERNEL);
	int len;

	scope->cgroup = cgroup;
	if (!buf)
		return -ENOMEM;
	len = cgroup_path(cgroup, buf, PATH_MAX);
	if (len >= 0 && len < PATH_MAX)
		scope->path = text_new(buf);
	kfree(buf);
	return len < 0 || len >= PATH_MAX ? -ENAMETOOLONG : scope->path ? 0 : -ENOMEM;
}

/* The copy has references of its own.  Context: any. */
void pguard_scope_copy(struct pguard_scope *to, const struct pguard_scope *from)
{
	*to = *from;
	if (to->cgroup)
		cgroup_get(to->cgroup);
	if (to->path)
		refcount_inc(&to->path->refs);
	if (to->pids)
		refcount_inc(&to->pids->refs);
	if (to->text)
		refcount_inc(&to->text->refs);
}

static void pids_put(struct pguard_scope_pids *pids)
{
	u32 i;

	if (!pids || !refcount_dec_and_test(&pids->refs))
		return;
	for (i = 0; i < pids->nr; i++)
		put_pid(pids->pid[i]);
	kfree(pids);
}

static void text_put(struct pguard_scope_text *text)
{
	if (text && refcount_dec_and_test(&text->refs))
		kfree(text);
}

/* Give the references back.  Context: any. */
void pguard_scope_put(struct pguard_scope *scope)
{
	if (scope->cgroup)
		cgroup_put(scope->cgroup);
	pids_put(scope->pids);
	text_put(scope->text);
	text_put(scope->path);
	scope->cgroup = NULL;
	scope->path = NULL;
	scope->pids = NULL;
	scope->text = NULL;
}
