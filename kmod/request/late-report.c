// SPDX-License-Identifier: GPL-2.0

#include "request/late-report.h"

#include "lib/clock.h"
#include "profile/limits.h"
#include "profile/profile.h"
#include "report/alert-record.h"
#include "report/late-unit.h"
#include "report/report-cost.h"
#include "request/connection.h"
#include "target/image.h"
#include "target/process.h"
#include "target/target.h"
#include "target/tenant.h"
#include "target/thread.h"

#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/slab.h>

/* A year; its doublings are within 64 bits. */
#define MAX_LIMIT_NS (365 * 24 * 3600 * NSEC_PER_SEC)

enum {
	MIN_WAIT_NS = 4 * NSEC_PER_MSEC,
	/* A look at many connections takes time; so much of a CPU at most. */
	MAX_SHARE = 64,
	/* So often it is looked at once again at once, where there was no room for all. */
	MAX_ROUNDS = 8,
};

static bool may_report(const struct pguard_target *target, struct pguard_tenant *tenant)
{
	return pguard_rate_limit_has(&tenant->request_limit) &&
	       (atomic64_read(&target->report_left) > 0 ||
		pguard_rate_limit_take(&tenant->least_limit)) &&
	       pguard_rate_limit_take(&tenant->request_limit);
}

/* Does a thread that is in a unit, as the word says, work for the request? */
static bool works_for(const struct pguard_thread *thread, u64 word,
		      const struct pguard_late_request *late)
{
	const struct pguard_serves *serves = &thread->serves;

	if (!(word & PGUARD_PHASE_RUNNING))
		return false;
	if (thread->tid == late->by && late->unit == (u16)pguard_unit_number(word))
		return true;
	/* It may have woken another one, and go on with it by itself. */
	return READ_ONCE(serves->client) == late->client &&
	       READ_ONCE(serves->id) == late->slow.connection &&
	       READ_ONCE(serves->unit) == pguard_unit_number(word);
}

/* Is the thread that read the client's last message in a unit, while the next one is not read? */
static bool keeps_waiting(const struct pguard_thread *thread, u64 word,
			  const struct pguard_late_request *late)
{
	return late->is_unread && word & PGUARD_PHASE_RUNNING &&
	       thread->task->pid == late->slow.tid;
}

/*
 * The thread that is in a unit for the request, or for which that waits to be read; referenced,
 * with the word of the unit.  NULL: there is none.
 */
static struct pguard_thread *thread_get(const struct pguard_late_request *late, u64 *word)
{
	struct pguard_thread *thread, *ret = NULL;

	rcu_read_lock();
	list_for_each_entry_rcu(thread, &pguard_all_threads, all) {
		*word = READ_ONCE(thread->unit);
		if (!(late->since && works_for(thread, *word, late)) &&
		    !keeps_waiting(thread, *word, late))
			continue;
		if (pguard_thread_get(thread))
			ret = thread;
		break;
	}
	rcu_read_unlock();
	return ret;
}

/* Where the thread is; what has gone by since the last message was in its unit, if that works for it. */
static void describe_unit(struct pguard_late_request *late, struct pguard_alert_record *record)
{
	struct pguard_thread *thread;
	u64 word;

	thread = thread_get(late, &word);
	if (!thread)
		return;
	if (!late->is_unread) {
		late->slow.times.working += late->since;
		record->tid = thread->task->pid;
		record->unit = pguard_unit_number(word);
	}
	record->stack = pguard_late_unit_stack(thread, word);
	pguard_thread_put(thread);
}

/* The name of a process that may have gone, and what it is called in its namespace. */
static void describe_process(struct pguard_alert_record *record)
{
	struct task_struct *task, *thread;

	rcu_read_lock();
	task = pid_task(find_pid_ns(record->pid, &init_pid_ns), PIDTYPE_PID);
	thread = pid_task(find_pid_ns(record->tid, &init_pid_ns), PIDTYPE_PID);
	if (task)
		get_task_comm(record->comm, task);
	if (thread)
		record->inner = pguard_inner_ids_of(thread);
	rcu_read_unlock();
}

/* NULL for lack of memory. */
static struct pguard_reported_request *describe_request(const struct pguard_target *target,
							const struct pguard_slow_request *slow)
{
	struct pguard_reported_request *ret = kzalloc(sizeof(*ret), GFP_KERNEL);
	const struct pguard_socket_name *name =
		pguard_socket_name(&target->connections->names, slow->peer_name);

	if (!ret)
		return NULL;
	ret->slow = *slow;
	if (name)
		ret->peer_name = *name;
	return ret;
}

/* Context: may sleep. */
static void report(struct pguard_target *target, const struct pguard_image *image,
		   struct pguard_late_request *late)
{
	struct pguard_alert_record *record =
		pguard_alert_record_alloc(PERFGUARD_RECORD_KIND_REQUEST, GFP_KERNEL);

	if (!record)
		return;
	record->target_id = target->id;
	record->image_id = image->id;
	record->pid = late->slow.pid;
	record->tid = late->slow.tid;
	record->threshold_ns = pguard_clock_ns(late->excess.limit);
	record->profile_id = late->excess.profile;
	record->type_id = late->excess.type;
	late->slow.part = late->excess.part;
	describe_unit(late, record);
	describe_process(record);
	record->account.elapsed = pguard_clock_ns(late->slow.times.elapsed);
	record->request = describe_request(target, &late->slow);
	if (!record->request) {
		pguard_alert_record_put(record);
		return;
	}
	record->request_bytes = sizeof(*record->request);
	record->tenant = pguard_tenant_get(image->tenant);
	pguard_ring_add(&pguard_alerts, record);
}

/* Of a process that has gone meanwhile nobody is to be warned. */
static void try_report(struct pguard_connection_table *table, struct pguard_late_request *late)
{
	struct pguard_image *image = pguard_process_image_get(late->slow.pid);

	if (!image)
		return;
	if (image->target != table->target ||
	    !(READ_ONCE(table->target->flags) & PERFGUARD_TARGET_FLAGS_REQUESTS))
		goto out;
	if (may_report(table->target, image->tenant))
		report(table->target, image, late);
	else
		atomic64_inc(&table->late.suppressed);
out:
	pguard_image_put(image);
}

static void report_all(struct pguard_connection_table *table)
{
	struct pguard_late_request late;

	while (pguard_late_requests_take(&table->late, &late))
		try_report(table, &late);
}

/*
 * Look at the connections, if that is due, and report those that are late.  Many may be of
 * one tenant, who has no tokens left: they are not to keep others out.
 *
 * Return: in how many ns the next look is; U64_MAX if there need not be one.
 */
static u64 look(struct pguard_connection_table *table, u64 soonest)
{
	struct pguard_late_requests *late = &table->late;
	u64 begun = pguard_clock(), now = ktime_get_ns(), next;
	struct pguard_account account;
	struct pguard_mark mark;
	u32 rounds = MAX_ROUNDS;

	if (!soonest)
		return U64_MAX;
	/* What has ended may bring us here sooner. */
	if (now < late->next_look)
		return late->next_look - now;
	pguard_account_mark(&mark);
	next = pguard_connection_table_look(table, soonest);
	pguard_account_current(&mark, pguard_clock_ns(pguard_clock() - begun), &account);
	for (; !next && rounds; rounds--) {
		report_all(table);
		next = pguard_connection_table_look(table, soonest);
	}
	late->next_look = now + max_t(u64, MIN_WAIT_NS, MAX_SHARE * account.cpu);
	if (next == U64_MAX)
		return next;
	/* Others may come meanwhile, and find the work pending. */
	next = pguard_clock_ns(min(next, soonest));
	return max(next, late->next_look - now);
}

/* Report what is late now.  Context: may sleep; a work of the table's late requests. */
void pguard_late_report_watch(struct work_struct *work)
{
	struct pguard_connection_table *table =
		container_of(to_delayed_work(work), struct pguard_connection_table, late.watch);
	u64 soonest = READ_ONCE(table->late.soonest), next;
	struct pguard_report_cost cost;

	/* As in pguard_late_requests_expect(). */
	smp_mb();
	pguard_report_cost_begin(&cost);
	next = look(table, soonest);
	report_all(table);
	pguard_report_cost_end(&cost, table->target);
	if (next != U64_MAX)
		mod_delayed_work(system_dfl_wq, &table->late.watch, nsecs_to_jiffies(next) + 1);
}

/**
 * pguard_late_report_update() - the target has another profile, or another limit
 * @table: of the target
 *
 * Context: any; pguard_control held.
 */
void pguard_late_report_update(struct pguard_connection_table *table)
{
	const struct pguard_profile *profile = pguard_target_profile(table->target);
	u64 limit = READ_ONCE(table->late.limit), learnt = 0;

	if (profile && profile->request_least &&
	    READ_ONCE(table->target->flags) & PERFGUARD_TARGET_FLAGS_REQUESTS)
		learnt = max(profile->request_least, pguard_clock_ticks(PGUARD_LEAST_LEARNT_NS));
	WRITE_ONCE(table->late.is_learnt, learnt);
	WRITE_ONCE(table->late.soonest, pguard_limit_sooner(limit, learnt));
	mod_delayed_work(system_dfl_wq, &table->late.watch, 0);
}

/**
 * pguard_late_report_set_limit() - from when on requests are late, by the wish of people
 * @table: of a target
 * @limit_ns: 0 for no limit
 *
 * Context: any; pguard_control held.
 */
void pguard_late_report_set_limit(struct pguard_connection_table *table, u64 limit_ns)
{
	WRITE_ONCE(table->late.limit, pguard_clock_ticks(min_t(u64, limit_ns, MAX_LIMIT_NS)));
	pguard_late_report_update(table);
}
