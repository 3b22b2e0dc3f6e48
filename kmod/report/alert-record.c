// SPDX-License-Identifier: GPL-2.0

#include "report/alert-record.h"

#include "report/stack.h"
#include "target/tenant.h"

#include <linux/module.h>
#include <linux/slab.h>

/*
 * Who explains alerts leaves the CPU to those that are watched, and may come to read the next ones only
 * when a unit has ended that computes for seconds; such a unit's records, with their stacks, may have
 * 100 KiB each.
 */
static unsigned int ring_kib = 4096;
module_param(ring_kib, uint, 0444);
MODULE_PARM_DESC(ring_kib, "memory for kept alerts, KiB");

/* Recorded waits are read every 100 ms. */
enum { WAITS_KIB = 512 };

/* In which a listener reads a record, jiffies: it looks each second. */
enum { READ_TIME = 5 * HZ };

struct pguard_ring pguard_alerts;
struct pguard_ring pguard_waits;
atomic64_t pguard_lost_memory = ATOMIC64_INIT(0);

/**
 * pguard_alert_record_alloc() - a record of current, without times
 * @kind: enum perfguard_record_kind
 * @gfp: as the caller's context allows
 *
 * Return: the record with one reference, or NULL (counted as lost).
 */
struct pguard_alert_record *pguard_alert_record_alloc(u32 kind, gfp_t gfp)
{
	struct pguard_alert_record *record = kzalloc(sizeof(*record), gfp | __GFP_NOWARN);

	if (!record) {
		atomic64_inc(&pguard_lost_memory);
		return NULL;
	}
	refcount_set(&record->refs, 1);
	INIT_LIST_HEAD(&record->list);
	record->ready = true;
	record->kind = kind;
	record->time_ns = ktime_get_real_ns();
	return record;
}

/* Give a reference back.  Context: any. */
void pguard_alert_record_put(struct pguard_alert_record *record)
{
	if (!record || !refcount_dec_and_test(&record->refs))
		return;
	pguard_stack_free_later(record->stack);
	kfree(record->met);
	kfree(record->request);
	pguard_tenant_put(record->tenant);
	kfree(record);
}

static size_t record_bytes(const struct pguard_alert_record *record)
{
	return sizeof(*record) + record->nr_met * sizeof(*record->met) +
	       record->request_bytes +
	       pguard_stack_footprint(record->stack);
}

/* A record of the ring takes so many bytes more, or less. */
static void ring_charge(struct pguard_ring *ring, struct pguard_alert_record *record, ssize_t bytes)
{
	lockdep_assert_held(&ring->lock);
	ring->bytes += bytes;
	if (record->tenant)
		record->tenant->bytes += bytes;
}

static void ring_insert(struct pguard_ring *ring, struct pguard_alert_record *record)
{
	struct pguard_tenant *tenant = record->tenant;

	record->added = jiffies;
	list_add_tail(&record->list, &ring->records);
	ring_charge(ring, record, record_bytes(record));
	if (!tenant)
		return;
	list_add_tail(&record->in_share, &tenant->records);
	if (list_empty(&tenant->sharing))
		list_add_tail(&tenant->sharing, &ring->tenants);
}

static void ring_remove(struct pguard_ring *ring, struct pguard_alert_record *record)
{
	struct pguard_tenant *tenant = record->tenant;

	list_del_init(&record->list);
	ring_charge(ring, record, -(ssize_t)record_bytes(record));
	if (!tenant)
		return;
	list_del(&record->in_share);
	if (list_empty(&tenant->records))
		list_del_init(&tenant->sharing);
}

/* The record that has to go where the ring is full. */
static struct pguard_alert_record *ring_victim(const struct pguard_ring *ring)
{
	struct pguard_alert_record *oldest =
		list_first_entry(&ring->records, struct pguard_alert_record, list);
	const struct pguard_tenant *tenant, *most = NULL;

	lockdep_assert_held(&ring->lock);
	if (!oldest->tenant || READ_ONCE(oldest->tenant->has_gone) ||
	    time_after(jiffies, oldest->added + READ_TIME))
		return oldest;
	list_for_each_entry(tenant, &ring->tenants, sharing)
		if (!most || tenant->bytes > most->bytes)
			most = tenant;
	return list_first_entry(&most->records, struct pguard_alert_record, in_share);
}

static void ring_shrink(struct pguard_ring *ring)
{
	struct pguard_alert_record *record;

	while (ring->bytes > ring->max_bytes && !list_is_singular(&ring->records)) {
		record = ring_victim(ring);
		ring_remove(ring, record);
		pguard_alert_record_put(record);
		ring->overwritten++;
	}
}

/**
 * pguard_ring_add() - number a record and keep it
 * @ring: the ring
 * @record: complete; the reference is taken over
 *
 * Context: any but interrupts.
 */
void pguard_ring_add(struct pguard_ring *ring, struct pguard_alert_record *record)
{
	spin_lock(&ring->lock);
	record->seq = ring->next_seq++;
	ring_insert(ring, record);
	ring_shrink(ring);
	spin_unlock(&ring->lock);
	if (ring->wake)
		ring->wake();
}

/**
 * pguard_ring_complete() - give a record its last stacks; now it is ready
 * @ring: where it was added
 * @record: referenced by the caller
 * @stack: with those behind it; taken over; may be NULL
 *
 * Context: may sleep.
 */
void pguard_ring_complete(struct pguard_ring *ring, struct pguard_alert_record *record,
			  struct pguard_stack *stack)
{
	/* Nobody else looks at its stacks before it is ready. */
	pguard_stack_free(pguard_stack_pack(record->stack, &stack, GFP_KERNEL));
	spin_lock(&ring->lock);
	pguard_stack_append(&record->stack, stack);
	/* It may have been overwritten meanwhile. */
	if (stack && !list_empty(&record->list)) {
		ring_charge(ring, record, pguard_stack_footprint(stack));
		ring_shrink(ring);
	}
	/* Pairs with pguard_ring_get(): whoever sees it ready sees its stacks. */
	smp_store_release(&record->ready, true);
	spin_unlock(&ring->lock);
	if (ring->wake)
		ring->wake();
}

/**
 * pguard_ring_get() - the first record with this number or a higher one
 *
 * Context: any but interrupts.
 * Return: the record with a reference for the caller; NULL if there is none
 * that is ready.
 */
struct pguard_alert_record *pguard_ring_get(struct pguard_ring *ring, u64 seq)
{
	struct pguard_alert_record *record, *ret = NULL;

	spin_lock(&ring->lock);
	/* Readers mostly want the newest. */
	list_for_each_entry_reverse(record, &ring->records, list) {
		if (record->seq < seq)
			break;
		ret = record;
	}
	/* Pairs with pguard_ring_complete(). */
	if (ret && smp_load_acquire(&ret->ready))
		refcount_inc(&ret->refs);
	else
		ret = NULL;
	spin_unlock(&ring->lock);
	return ret;
}

/* Drop what is kept; the numbers go on. */
void pguard_ring_clear(struct pguard_ring *ring)
{
	struct pguard_alert_record *record, *next;

	spin_lock(&ring->lock);
	list_for_each_entry_safe(record, next, &ring->records, list) {
		ring_remove(ring, record);
		pguard_alert_record_put(record);
	}
	spin_unlock(&ring->lock);
}

static void ring_init(struct pguard_ring *ring, u32 kib)
{
	spin_lock_init(&ring->lock);
	INIT_LIST_HEAD(&ring->records);
	INIT_LIST_HEAD(&ring->tenants);
	ring->max_bytes = (size_t)kib * 1024;
	ring->next_seq = 1;
}

int __init pguard_alert_record_init(void)
{
	ring_kib = clamp(ring_kib, 64U, 64U * 1024);
	ring_init(&pguard_alerts, ring_kib);
	ring_init(&pguard_waits, WAITS_KIB);
	return 0;
}

void pguard_alert_record_deinit(void)
{
	pguard_ring_clear(&pguard_alerts);
	pguard_ring_clear(&pguard_waits);
	pguard_stack_free_wait();
}
