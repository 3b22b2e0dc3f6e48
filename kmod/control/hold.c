// SPDX-License-Identifier: GPL-2.0

/*
 * Which wait calls are hooked, and so refused to others who want a direct call there: those
 * that some target needs.  One that is guarded needs the calls at the boundaries of its
 * profile.  One that is audited or learnt, or whose waits are recorded, needs them all.  Where
 * requests are followed, calls that read and write are hooked as well.
 *
 * If a profile is replaced what the target needs grows: threads may be in units of the one
 * before, which end at its boundaries.
 */

#include "control/control.h"

#include "hook/hook.h"
#include "request/connection.h"
#include "request/late-report.h"
#include "target/target.h"

/* What a target by this profile needs hooked; bits as in hook/hook.h.  Context: any. */
u64 pguard_hold_calls(const struct pguard_profile *profile)
{
	u64 ret = 0;
	u32 i;

	for (i = 0; i < profile->sites->nr; i++)
		ret |= pguard_hook_calls(profile->sites->site[i].syscall);
	return ret;
}

/* Does some target want its requests followed? */
static bool follows_requests(void)
{
	const struct pguard_target *target;

	list_for_each_entry(target, &pguard_targets, list)
		if (target->flags & PERFGUARD_TARGET_FLAGS_REQUESTS)
			return true;
	return false;
}

static u64 calls_needed(void)
{
	const u32 records = PERFGUARD_TARGET_FLAGS_DISCOVER | PERFGUARD_TARGET_FLAGS_RECORD;
	const struct pguard_target *target;
	u64 ret = 0;

	list_for_each_entry(target, &pguard_targets, list) {
		ret |= target->flags & records ? pguard_hook_all(PGUARD_HOOK_WAITS) : target->calls;
		if (target->flags & PERFGUARD_TARGET_FLAGS_REQUESTS)
			ret |= pguard_hook_all(PGUARD_HOOK_MESSAGES);
	}
	return ret;
}

/**
 * pguard_hold_update() - hook what the targets need now, and nothing else
 *
 * Context: may sleep, for some grace periods; pguard_control held.
 * Return: 0, or an error from ftrace or kprobes.  There is none if they need no more than
 * before, so a caller that takes back what it asked for calls it again.
 */
int pguard_hold_update(void)
{
	u64 calls = calls_needed();
	int ret;

	lockdep_assert_held(&pguard_control);
	if (follows_requests())
		static_branch_enable(&pguard_requests_followed);
	else
		static_branch_disable(&pguard_requests_followed);
	ret = pguard_hook_attach(calls);
	if (!ret)
		pguard_hook_release(calls);
	return ret;
}

/**
 * pguard_hold_set() - change what is hooked for a target
 * @target: the target
 * @calls: what it needs
 *
 * Context: as pguard_hold_update().
 * Return: 0, or an error with nothing changed; none if it needs no more than before.
 */
int pguard_hold_set(struct pguard_target *target, u64 calls)
{
	u64 before = target->calls;
	int ret;

	target->calls = calls;
	ret = pguard_hold_update();
	if (ret) {
		target->calls = before;
		pguard_hold_update();
	}
	return ret;
}

/**
 * pguard_hold_connections() - a target has room for connections, if requests are followed
 * @target: the target
 * @flags: enum perfguard_target_flags that it has, or is to have
 *
 * Context: may sleep; pguard_control held, or nobody knows the target yet.
 * Return: 0 or -ENOMEM.
 */
int pguard_hold_connections(struct pguard_target *target, u32 flags)
{
	struct pguard_connection_table *table;

	if (target->connections || !(flags & PERFGUARD_TARGET_FLAGS_REQUESTS))
		return 0;
	table = pguard_connection_table_new(target, pguard_late_report_watch);
	if (!table)
		return -ENOMEM;
	/* Threads may see it before the flag. */
	smp_store_release(&target->connections, table);
	return 0;
}

/**
 * pguard_hold_set_flags() - change what is wanted of a target
 * @target: the target
 * @flags: enum perfguard_target_flags
 *
 * Context: as pguard_hold_update().
 * Return: 0, or an error with nothing changed.
 */
int pguard_hold_set_flags(struct pguard_target *target, u32 flags)
{
	u32 before = target->flags;
	int ret = pguard_hold_connections(target, flags);

	if (ret)
		return ret;
	WRITE_ONCE(target->flags, flags);
	ret = pguard_hold_update();
	if (ret) {
		WRITE_ONCE(target->flags, before);
		pguard_hold_update();
	}
	/* The fast path caches them. */
	pguard_target_unsettle(target);
	if (!ret && before & ~flags & PERFGUARD_TARGET_FLAGS_REQUESTS) {
		pguard_late_report_set_limit(target->connections, 0);
		/* Who has seen the flag may begin a request still. */
		synchronize_rcu();
		pguard_connection_table_forget(target->connections);
	}
	if (!ret && flags & ~before & PERFGUARD_TARGET_FLAGS_REQUESTS)
		pguard_late_report_update(target->connections);
	return ret;
}
