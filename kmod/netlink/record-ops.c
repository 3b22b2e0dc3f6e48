// SPDX-License-Identifier: GPL-2.0

/*
 * A record with stacks does not fit one message.  It is sent in several: the
 * fields; then for each stack its fields, each mapping, the bytes in chunks.
 * The dump keeps its position between messages in cb->args, and a reference to
 * the record.
 */

#include "netlink/family.h"

#include "netlink/policy.h"
#include "report/alert-record.h"
#include "request/request-sums.h"
#include "report/stack.h"

#include <linux/workqueue.h>

/* cb->args */
enum {
	ARG_SEQ,	/* the next record wanted */
	ARG_END,	/* the first record that was added after the dump had begun */
	ARG_RECORD,	/* the record being sent, referenced; or 0 */
	ARG_STAGE,
	ARG_STACK,	/* index of the stack */
	ARG_INDEX,	/* of the mapping, or offset of the chunk */
};

enum stage { STAGE_FIELDS, STAGE_STACK, STAGE_MAPPINGS, STAGE_CHUNKS, STAGE_END };

/* Smaller chunks than this wait for the next buffer. */
enum { MIN_CHUNK = 256, CHUNK_OVERHEAD = 128 };

/* Contexts sent of a unit: they have to fit into a message. */
enum { MAX_MET = 64 };

/* It was stopped. */
static int fill_stop(struct sk_buff *skb, const struct pguard_alert_record *record)
{
	if (!record->account.stopped)
		return 0;
	return pguard_nl_put64(skb, PERFGUARD_A_RECORD_STOPPED_NS, record->account.stopped) ||
	       (record->stop_cause &&
		nla_put_u32(skb, PERFGUARD_A_RECORD_STOP_CAUSE, record->stop_cause)) ||
	       (record->stopped_by &&
		nla_put_u32(skb, PERFGUARD_A_RECORD_STOPPED_BY, record->stopped_by)) ||
	       (record->is_stopped && nla_put_flag(skb, PERFGUARD_A_RECORD_IS_STOPPED));
}

static int fill_account(struct sk_buff *skb, const struct pguard_account *account)
{
	if (pguard_nl_put64(skb, PERFGUARD_A_RECORD_ELAPSED_NS, account->elapsed))
		return -EMSGSIZE;
	if (!account->has_times)
		return 0;
	if (pguard_nl_put64(skb, PERFGUARD_A_RECORD_CPU_NS, account->cpu) ||
	    pguard_nl_put64(skb, PERFGUARD_A_RECORD_RUNQUEUE_NS, account->runqueue) ||
	    pguard_nl_put64(skb, PERFGUARD_A_RECORD_BLOCKED_NS, account->blocked) ||
	    pguard_nl_put64(skb, PERFGUARD_A_RECORD_MIN_FAULTS, account->min_faults) ||
	    pguard_nl_put64(skb, PERFGUARD_A_RECORD_MAJ_FAULTS, account->maj_faults) ||
	    pguard_nl_put64(skb, PERFGUARD_A_RECORD_INVOLUNTARY, account->involuntary))
		return -EMSGSIZE;
	if (account->has_block_io)
		return pguard_nl_put64(skb, PERFGUARD_A_RECORD_BLOCK_IO_NS, account->block_io);
	return 0;
}

static int fill_kind(struct sk_buff *skb, const struct pguard_alert_record *record)
{
	if (record->kind == PERFGUARD_RECORD_KIND_LOST)
		return pguard_nl_put64(skb, PERFGUARD_A_RECORD_LOST, record->lost);
	if (record->kind == PERFGUARD_RECORD_KIND_WAIT)
		return nla_put_u32(skb, PERFGUARD_A_RECORD_SYSCALL, record->syscall) ||
		       pguard_nl_put64(skb, PERFGUARD_A_RECORD_WAIT_IP, record->wait_ip) ||
		       pguard_nl_put64(skb, PERFGUARD_A_RECORD_WAIT_SP, record->wait_sp) ||
		       pguard_nl_put64(skb, PERFGUARD_A_RECORD_ENTER_NS, record->enter_ns) ||
		       pguard_nl_put64(skb, PERFGUARD_A_RECORD_RESULT, record->result);
	if (record->kind == PERFGUARD_RECORD_KIND_REQUEST)
		return pguard_nl_put64(skb, PERFGUARD_A_RECORD_THRESHOLD_NS,
				       record->threshold_ns) ||
		       pguard_nl_put_slow_request(skb, PERFGUARD_A_RECORD_REQUEST,
						  &record->request->slow,
						  &record->request->peer_name);
	return nla_put_u32(skb, PERFGUARD_A_RECORD_FOUND_BY, record->found_by) ||
	       (record->part && nla_put_u32(skb, PERFGUARD_A_RECORD_PART, record->part)) ||
	       pguard_nl_put64(skb, PERFGUARD_A_RECORD_THRESHOLD_NS, record->threshold_ns);
}

static int fill_type(struct sk_buff *skb, const struct pguard_alert_record *record)
{
	u32 nr_met = min_t(u32, record->nr_met, MAX_MET);

	if (!record->profile_id)
		return 0;
	if (nla_put_u32(skb, PERFGUARD_A_RECORD_PROFILE_ID, record->profile_id) ||
	    (record->type_id && nla_put_u32(skb, PERFGUARD_A_RECORD_TYPE_ID, record->type_id)))
		return -EMSGSIZE;
	if (record->kind == PERFGUARD_RECORD_KIND_REQUEST)
		return 0;
	return nla_put_u32(skb, PERFGUARD_A_RECORD_MARGIN, record->margin) ||
	       pguard_nl_put64(skb, PERFGUARD_A_RECORD_CHECK_NS, record->check_ns) ||
	       (nr_met && nla_put(skb, PERFGUARD_A_RECORD_MET,
				  nr_met * sizeof(*record->met), record->met)) ||
	       (record->is_novel && nla_put_flag(skb, PERFGUARD_A_RECORD_IS_NOVEL)) ||
	       (record->is_degraded && nla_put_flag(skb, PERFGUARD_A_RECORD_IS_DEGRADED));
}

static int fill_fields(struct sk_buff *skb, const struct pguard_alert_record *record)
{
	if (pguard_nl_put64(skb, PERFGUARD_A_RECORD_SEQ, record->seq) ||
	    nla_put_u32(skb, PERFGUARD_A_RECORD_KIND, record->kind) ||
	    pguard_nl_put64(skb, PERFGUARD_A_RECORD_TIME_NS, record->time_ns) ||
	    fill_kind(skb, record))
		return -EMSGSIZE;
	if (record->kind == PERFGUARD_RECORD_KIND_LOST)
		return 0;
	return nla_put_u32(skb, PERFGUARD_A_RECORD_TARGET_ID, record->target_id) ||
	       nla_put_u32(skb, PERFGUARD_A_RECORD_IMAGE_ID, record->image_id) ||
	       nla_put_u32(skb, PERFGUARD_A_RECORD_LOOP_ID, record->loop_id) ||
	       nla_put_u32(skb, PERFGUARD_A_RECORD_PID, record->pid) ||
	       nla_put_u32(skb, PERFGUARD_A_RECORD_TID, record->tid) ||
	       (record->inner.pid &&
		nla_put_u32(skb, PERFGUARD_A_RECORD_NS_PID, record->inner.pid)) ||
	       (record->inner.tid &&
		nla_put_u32(skb, PERFGUARD_A_RECORD_NS_TID, record->inner.tid)) ||
	       nla_put_string(skb, PERFGUARD_A_RECORD_COMM, record->comm) ||
	       pguard_nl_put64(skb, PERFGUARD_A_RECORD_UNIT, record->unit) ||
	       pguard_nl_put64(skb, PERFGUARD_A_RECORD_VOLUNTARY, record->account.voluntary) ||
	       fill_account(skb, &record->account) || fill_stop(skb, record) ||
	       fill_type(skb, record);
}

static int fill_stack(struct sk_buff *skb, const struct pguard_stack *stack)
{
	return nla_put_u32(skb, PERFGUARD_A_STACK_STATE, stack->state) ||
	       (stack->tid && nla_put_u32(skb, PERFGUARD_A_STACK_TID, stack->tid)) ||
	       (stack->syscall != PGUARD_NO_SYSCALL &&
		nla_put_u32(skb, PERFGUARD_A_STACK_SYSCALL, stack->syscall)) ||
	       (stack->lock && pguard_nl_put64(skb, PERFGUARD_A_STACK_LOCK, stack->lock)) ||
	       (stack->holder && nla_put_u32(skb, PERFGUARD_A_STACK_HOLDER, stack->holder)) ||
	       pguard_nl_put64(skb, PERFGUARD_A_STACK_AT_NS, stack->at_ns) ||
	       nla_put(skb, PERFGUARD_A_STACK_REGS, sizeof(stack->regs), stack->regs) ||
	       nla_put_u32(skb, PERFGUARD_A_STACK_SIZE, stack->size) ||
	       nla_put_u32(skb, PERFGUARD_A_STACK_FULL_SIZE, stack->full_size);
}

static int fill_mapping(struct sk_buff *skb, const struct pguard_mapping *mapping)
{
	struct nlattr *nest = nla_nest_start(skb, PERFGUARD_A_STACK_MAPPING);

	if (!nest ||
	    pguard_nl_put64(skb, PERFGUARD_A_MAPPING_START, mapping->start) ||
	    pguard_nl_put64(skb, PERFGUARD_A_MAPPING_END, mapping->end) ||
	    pguard_nl_put64(skb, PERFGUARD_A_MAPPING_OFFSET, mapping->offset) ||
	    nla_put_u32(skb, PERFGUARD_A_MAPPING_DEV, mapping->dev) ||
	    pguard_nl_put64(skb, PERFGUARD_A_MAPPING_INODE, mapping->inode) ||
	    (mapping->path &&
	     nla_put_string(skb, PERFGUARD_A_MAPPING_PATH, mapping->path)))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int fill_chunk(struct sk_buff *skb, const struct pguard_stack *stack, long *offset)
{
	const struct pguard_stack *outer = stack->outer;
	const u8 *from = stack->bytes + *offset;
	u32 size = stack->nr_own - *offset;
	int room = skb_tailroom(skb) - CHUNK_OVERHEAD;

	if (room < MIN_CHUNK)
		return -EMSGSIZE;
	if (*offset >= stack->nr_own) {
		size = stack->size - *offset;
		from = outer->bytes + outer->size - size;
	}
	size = min_t(u32, size, room);
	if (nla_put_u32(skb, PERFGUARD_A_STACK_CHUNK_OFFSET, *offset) ||
	    nla_put(skb, PERFGUARD_A_STACK_CHUNK, size, from))
		return -EMSGSIZE;
	*offset += size;
	return 0;
}

/* The dump's current stack, or NULL after the last one. */
static const struct pguard_stack *stack_at(const struct pguard_alert_record *record,
					   const long *args)
{
	const struct pguard_stack *stack = record->stack;
	long i;

	for (i = 0; stack && i < args[ARG_STACK]; i++)
		stack = stack->next;
	return stack;
}

static int fill_stack_part(struct sk_buff *skb, const struct pguard_stack *stack, long *args)
{
	int ret;

	if (nla_put_u32(skb, PERFGUARD_A_STACK_INDEX, args[ARG_STACK]))
		return -EMSGSIZE;
	if (args[ARG_STAGE] == STAGE_STACK)
		return fill_stack(skb, stack);
	if (args[ARG_STAGE] == STAGE_CHUNKS)
		return fill_chunk(skb, stack, &args[ARG_INDEX]);
	ret = fill_mapping(skb, &stack->mappings->list[args[ARG_INDEX]]);
	args[ARG_INDEX] += !ret;
	return ret;
}

/* Put the dump's current part of the record. */
static int fill_part(struct sk_buff *skb, const struct pguard_alert_record *record, long *args)
{
	struct nlattr *nest;
	int ret;

	if (args[ARG_STAGE] == STAGE_FIELDS)
		return fill_fields(skb, record);
	/* Identifies the record of the part. */
	if (pguard_nl_put64(skb, PERFGUARD_A_RECORD_SEQ, record->seq))
		return -EMSGSIZE;
	nest = nla_nest_start(skb, PERFGUARD_A_RECORD_STACK);
	if (!nest)
		return -EMSGSIZE;
	ret = fill_stack_part(skb, stack_at(record, args), args);
	nla_nest_end(skb, nest);
	return ret;
}

/* Return: true if the current stage of the stack is complete. */
static bool stage_done(const struct pguard_stack *stack, const long *args)
{
	switch (args[ARG_STAGE]) {
	case STAGE_MAPPINGS:
		return !stack->mappings || args[ARG_INDEX] >= stack->mappings->nr;
	case STAGE_CHUNKS:
		return args[ARG_INDEX] >= stack->size;
	}
	return false;
}

static void stack_begin(const struct pguard_alert_record *record, long *args, long index)
{
	args[ARG_STACK] = index;
	args[ARG_STAGE] = stack_at(record, args) ? STAGE_STACK : STAGE_END;
}

static void stage_next(const struct pguard_alert_record *record, long *args)
{
	const struct pguard_stack *stack;

	if (args[ARG_STAGE] == STAGE_FIELDS) {
		stack_begin(record, args, 0);
		return;
	}
	if (args[ARG_STAGE] == STAGE_STACK) {
		args[ARG_STAGE]++;
		args[ARG_INDEX] = 0;
	}
	stack = stack_at(record, args);
	while (stage_done(stack, args)) {
		args[ARG_STAGE]++;
		args[ARG_INDEX] = 0;
	}
	if (args[ARG_STAGE] == STAGE_END)
		stack_begin(record, args, args[ARG_STACK] + 1);
}

/* Add one message; -EMSGSIZE if there is no room for it. */
static int dump_part(struct sk_buff *skb, struct netlink_callback *cb, int command,
		     const struct pguard_alert_record *record)
{
	if (PGUARD_NL_DUMP(skb, cb, command, fill_part(skb, record, cb->args)))
		return -EMSGSIZE;
	stage_next(record, cb->args);
	return 0;
}

/*
 * The next record, referenced; a record "lost" if there is a gap before it; or -ENOMEM.
 * A dump goes no further than to where it began: a reader that is slower than the records
 * come would see no end.
 */
static struct pguard_alert_record *dump_next(struct pguard_ring *ring, long *args)
{
	struct pguard_alert_record *record, *lost;

	if (args[ARG_SEQ] >= args[ARG_END])
		return NULL;
	record = pguard_ring_get(ring, args[ARG_SEQ]);
	if (!record || record->seq == args[ARG_SEQ])
		return record;
	lost = pguard_alert_record_alloc(PERFGUARD_RECORD_KIND_LOST, GFP_KERNEL);
	if (!lost) {
		pguard_alert_record_put(record);
		return ERR_PTR(-ENOMEM);
	}
	lost->seq = record->seq - 1;
	lost->lost = record->seq - args[ARG_SEQ];
	pguard_alert_record_put(record);
	return lost;
}

static void dump_begin(struct pguard_ring *ring, struct netlink_callback *cb)
{
	u64 seq = pguard_nl_u64(pguard_dump_attrs(cb)[PERFGUARD_A_RECORD_SEQ]);
	struct pguard_alert_record *record;

	cb->args[ARG_END] = READ_ONCE(ring->next_seq);
	/* Without a number: all records of the ring, and none are lost before them. */
	if (!seq) {
		record = pguard_ring_get(ring, 0);
		seq = record ? record->seq : LONG_MAX;
		pguard_alert_record_put(record);
	}
	cb->args[ARG_SEQ] = seq;
}

/* One buffer of the dump of a ring. */
static int dump_ring(struct pguard_ring *ring, int command, struct sk_buff *skb,
		     struct netlink_callback *cb)
{
	struct pguard_alert_record *record;
	long *args = cb->args;

	if (!args[ARG_SEQ])
		dump_begin(ring, cb);
	for (;;) {
		record = (struct pguard_alert_record *)args[ARG_RECORD];
		if (!record) {
			record = dump_next(ring, args);
			if (!record)
				break;
			if (IS_ERR(record))
				return skb->len ?: PTR_ERR(record);
			args[ARG_RECORD] = (long)record;
			args[ARG_STAGE] = STAGE_FIELDS;
		}
		while (args[ARG_STAGE] != STAGE_END)
			if (dump_part(skb, cb, command, record))
				return skb->len;
		args[ARG_SEQ] = record->seq + 1;
		args[ARG_RECORD] = 0;
		pguard_alert_record_put(record);
	}
	return skb->len;
}

int pguard_nl_alert_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump_ring(&pguard_alerts, PERFGUARD_CMD_ALERT_GET, skb, cb);
}

int pguard_nl_wait_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump_ring(&pguard_waits, PERFGUARD_CMD_WAIT_GET, skb, cb);
}

/* The dump ends, possibly early. */
int pguard_nl_record_dump_done(struct netlink_callback *cb)
{
	pguard_alert_record_put((struct pguard_alert_record *)cb->args[ARG_RECORD]);
	cb->args[ARG_RECORD] = 0;
	return 0;
}

static u64 next_seq = 1;	/* used by notify_work() only */
static u64 unsent;		/* records before this one are not sent any more */

static bool has_listeners(void)
{
	return genl_has_listeners(&pguard_nl_family, &init_net, PGUARD_NL_MCGRP_ALERTS);
}

static void notify_send(const struct pguard_alert_record *record)
{
	struct sk_buff *skb = genlmsg_new(NLMSG_GOODSIZE, GFP_KERNEL);
	void *header;

	if (!skb)
		return;
	header = genlmsg_put(skb, 0, 0, &pguard_nl_family, 0, PERFGUARD_CMD_ALERT_NTF);
	if (!header || fill_fields(skb, record)) {
		nlmsg_free(skb);
		return;
	}
	genlmsg_end(skb, header);
	/* A listener that misses it finds it in the ring. */
	genlmsg_multicast(&pguard_nl_family, skb, 0, PGUARD_NL_MCGRP_ALERTS, GFP_KERNEL);
}

static void notify_work(struct work_struct *work)
{
	struct pguard_alert_record *record;

	next_seq = max(next_seq, READ_ONCE(unsent));
	while ((record = pguard_ring_get(&pguard_alerts, next_seq))) {
		/* Without listeners it is in the ring only. */
		if (has_listeners())
			notify_send(record);
		next_seq = record->seq + 1;
		pguard_alert_record_put(record);
	}
}

static DECLARE_WORK(notify, notify_work);

/**
 * pguard_alert_record_notify() - an alert was added
 *
 * Without listeners no worker is woken, which costs as much as eight hits.  A new listener
 * receives the records that are added from then on; not necessarily one that was added before and
 * gets its stack afterwards.
 *
 * Context: any.
 */
void pguard_alert_record_notify(void)
{
	/* Read before the listeners: records that are added later are sent. */
	u64 next = READ_ONCE(pguard_alerts.next_seq);

	if (has_listeners())
		queue_work(system_dfl_wq, &notify);
	else if (next > READ_ONCE(unsent))
		WRITE_ONCE(unsent, next);	/* if it decreases, a record is sent needlessly */
}

void pguard_alert_record_notify_stop(void)
{
	cancel_work_sync(&notify);
}
