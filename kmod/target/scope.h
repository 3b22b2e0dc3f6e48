/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The scope of a target: whose processes are watched, of those that execute its file.
 *
 * It decides when a process comes to a target: when it executes the file, when its
 * parent forks it, and, if it runs already, when the target is made.  What the process
 * was then is what counts.  One that changes its cgroup or user afterwards stays as it
 * is, in the scope or out of it, until it executes a file again.
 */
#ifndef _KMOD_TARGET_SCOPE_H
#define _KMOD_TARGET_SCOPE_H

#include <linux/cgroup.h>
#include <linux/uidgid.h>

/**
 * struct pguard_scope - whose processes are watched
 * @cgroup: those in this cgroup of the unified hierarchy or below it; referenced; NULL for
 *	any
 * @uid: those of this real user; INVALID_UID for any
 */
struct pguard_scope {
	struct cgroup *cgroup;
	kuid_t uid;
};

/* Return: true if there is no limit.  Context: any. */
static inline bool pguard_scope_is_any(const struct pguard_scope *scope)
{
	return !scope->cgroup && !uid_valid(scope->uid);
}

/* Return: true if they are the same.  Context: any. */
static inline bool pguard_scope_is_same(const struct pguard_scope *scope,
					const struct pguard_scope *other)
{
	return scope->cgroup == other->cgroup && uid_eq(scope->uid, other->uid);
}

bool pguard_scope_has(const struct pguard_scope *scope, struct task_struct *task);
bool pguard_scope_excludes(const struct pguard_scope *scope, const struct pguard_scope *other);
void pguard_scope_copy(struct pguard_scope *to, const struct pguard_scope *from);
void pguard_scope_put(struct pguard_scope *scope);

#endif /* _KMOD_TARGET_SCOPE_H */
