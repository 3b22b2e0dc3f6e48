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
#include <linux/refcount.h>
#include <linux/uidgid.h>

struct pid;
struct pguard_arguments;

enum {
	PGUARD_MAX_SCOPE_PIDS = 64,
};

/* Processes by identity: an id that is used again is another one. */
struct pguard_scope_pids {
	refcount_t refs;
	u32 nr;
	struct pid *pid[];	/* referenced; in the order of the request */
};

/* What a command line has to contain, or the path of a cgroup. */
struct pguard_scope_text {
	refcount_t refs;
	char text[];
};

/**
 * struct pguard_scope - whose processes are watched
 * @cgroup: those in this cgroup of the unified hierarchy or below it; referenced; NULL for
 *	any
 * @path: of that cgroup.  Once that has been removed, the cgroup that comes there is meant: the
 *	next one of a service that is started again
 * @uid: those of this real user; INVALID_UID for any
 * @pids: these alone, without what they fork; NULL for any
 * @text: those with this in their arguments; NULL for any
 */
struct pguard_scope {
	struct cgroup *cgroup;
	struct pguard_scope_text *path;
	kuid_t uid;
	struct pguard_scope_pids *pids;
	struct pguard_scope_text *text;
};

/* Return: true if there is no limit.  Context: any. */
static inline bool pguard_scope_is_any(const struct pguard_scope *scope)
{
	return !scope->cgroup && !uid_valid(scope->uid) && !scope->pids && !scope->text;
}

bool pguard_scope_is_same(const struct pguard_scope *scope, const struct pguard_scope *other);
bool pguard_scope_has(const struct pguard_scope *scope, struct task_struct *task);
bool pguard_scope_has_arguments(const struct pguard_scope *scope,
				const struct pguard_arguments *arguments);
bool pguard_scope_is_over(const struct pguard_scope *scope);
bool pguard_scope_excludes(const struct pguard_scope *scope, const struct pguard_scope *other);
int pguard_scope_set_cgroup(struct pguard_scope *scope, struct cgroup *cgroup);
int pguard_scope_set_pids(struct pguard_scope *scope, const u32 *pids, u32 nr);
int pguard_scope_set_text(struct pguard_scope *scope, const char *text);
void pguard_scope_copy(struct pguard_scope *to, const struct pguard_scope *from);
void pguard_scope_put(struct pguard_scope *scope);

#endif /* _KMOD_TARGET_SCOPE_H */
