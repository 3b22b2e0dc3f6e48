/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Records and the rings that keep them.
 *
 * A ring is the truth about what was reported: bounded in bytes, and numbers have no
 * gaps, so a reader sees what it missed.  Where it is full, the oldest record goes if it
 * has had time to be read, or its target has gone; else the oldest of the tenant whose
 * records take the most: who is late all the time pushes out its own.
 * Netlink only carries copies.
 */
#ifndef _KMOD_REPORT_ALERT_RECORD_H
#define _KMOD_REPORT_ALERT_RECORD_H

#include "lib/account.h"
#include "lib/inner-ids.h"

#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>

#include <linux/perfguard.h>

struct pguard_reported_request;
struct pguard_stack;
struct pguard_tenant;

/**
 * struct pguard_alert_record - something to report
 * @list: in a ring; guarded by its lock, empty when it is in none
 * @refs: the ring's, and one for each reader
 * @tenant: referenced; in whose share of the ring it is, or NULL; set when it is added
 * @added: when, jiffies
 * @in_share: in its tenant's records while it is in the ring; the ring's lock
 * @ready: false while its last stack is being taken; readers wait for that, so that
 *	the order of records is that of what they report
 *
 * The other fields are those of attribute set "record" of the spec, and do
 * not change once the record is ready.
 */
struct pguard_alert_record {
	struct list_head list;
	refcount_t refs;
	struct pguard_tenant *tenant;
	unsigned long added;
	struct list_head in_share;
	bool ready;
	u64 seq;
	u32 kind;
	u32 found_by;
	u64 time_ns;
	u32 target_id;
	u32 image_id;
	u32 loop_id;
	u32 pid;
	u32 tid;
	struct pguard_inner_ids inner;
	char comm[TASK_COMM_LEN];
	u64 unit;
	u32 part;	/* 0: it has no limits */
	u64 threshold_ns;
	struct pguard_account account;
	u32 stop_cause;	/* of its last stop; 0: there was none */
	u32 stopped_by;
	bool is_stopped;
	u32 syscall;
	u64 wait_ip;
	u64 wait_sp;
	u64 enter_ns;
	s64 result;
	u64 lost;
	u32 profile_id;		/* 0: no profile is armed, nor are the next ones reported */
	u32 type_id;		/* 0: none */
	u32 margin;
	u64 check_ns;
	bool is_novel;
	bool is_degraded;
	u32 nr_met;
	struct perfguard_met *met;	/* freed with it */
	struct pguard_reported_request *request;	/* freed with it; NULL of another kind */
	size_t request_bytes;
	struct pguard_stack *stack;	/* the first one, or NULL */
};

/**
 * struct pguard_ring - a bounded sequence of records
 * @lock: guards all members; taken with preemption off, never in interrupts
 * @records: oldest first
 * @tenants: those that have records in it
 * @bytes: memory they take
 * @max_bytes: when one has to go
 * @next_seq: of the next record
 * @overwritten: records that went
 * @wake: called after each addition, or NULL; any context
 */
struct pguard_ring {
	spinlock_t lock;
	struct list_head records;
	struct list_head tenants;
	size_t bytes;
	size_t max_bytes;
	u64 next_seq;
	u64 overwritten;
	void (*wake)(void);
};

extern struct pguard_ring pguard_alerts;
extern struct pguard_ring pguard_waits;
extern atomic64_t pguard_lost_memory;

struct pguard_alert_record *pguard_alert_record_alloc(u32 kind, gfp_t gfp);
void pguard_alert_record_put(struct pguard_alert_record *record);

void pguard_ring_add(struct pguard_ring *ring, struct pguard_alert_record *record);
void pguard_ring_complete(struct pguard_ring *ring, struct pguard_alert_record *record,
			  struct pguard_stack *stack);
struct pguard_alert_record *pguard_ring_get(struct pguard_ring *ring, u64 seq);
void pguard_ring_clear(struct pguard_ring *ring);

int pguard_alert_record_init(void);
void pguard_alert_record_deinit(void);

#endif /* _KMOD_REPORT_ALERT_RECORD_H */
