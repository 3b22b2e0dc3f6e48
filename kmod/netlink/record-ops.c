// SPDX-License-Identifier: GPL-2.0

/*
 * A record with stacks does not fit one message.  It is told in several: the
 * fields; then for each stack its fields, each mapping, the bytes in chunks.
 * The dump keeps its place between messages in cb->args and holds the record
 * meanwhile.
 */

#include "netlink/record-ops.h"

#include "compat.h"
#include "netlink/policy.h"
#include "report/alert-record.h"
#include "report/stack.h"

#include <linux/workqueue.h>

/* cb->args */
enum {
	ARG_SEQ,	/* the next record wanted */
	ARG_RECORD,	/* the one being told, referenced; or 0 */
	ARG_STAGE,
	ARG_STACK,	/* index of the stack */
	ARG_INDEX,	/* of the mapping, or offset of the chunk */
};

enum stage { STAGE_FIELDS, STAGE_STACK, STAGE_MAPPINGS, STAGE_CHUNKS, STAGE_END };

/* Smaller chunks than this wait for the next buffer. */
enum { MIN_CHUNK = 256, CHUNK_OVERHEAD = 128 };

/* Contexts told of a unit: a message has to have room for them. */
enum { MAX_MET = 64 };

static int put_u64(struct sk_buff *skb, int type, u64 value)
{
	return nla_put_u64_64bit(skb, type, value, PERFGUARD_A_RECORD_PAD);
}

static int fill_account(struct sk_buff *skb, const struct pguard_account *account)
{
	if (put_u64(skb, PERFGUARD_A_RECORD_ELAPSED_NS, account->elapsed))
		return -EMSGSIZE;
	if (!account->has_times)
		return 0;
	if (put_u64(skb, PERFGUARD_A_RECORD_CPU_NS, account->cpu) ||
	    put_u64(skb, PERFGUARD_A_RECORD_RUNQUEUE_NS, account->runqueue) ||
	    put_u64(skb, PERFGUARD_A_RECORD_BLOCKED_NS, account->blocked) ||
	    put_u64(skb, PERFGUARD_A_RECORD_MIN_FAULTS, account->min_faults) ||
	    put_u64(skb, PERFGUARD_A_RECORD_MAJ_FAULTS, account->maj_faults) ||
	    put_u64(skb, PERFGUARD_A_RECORD_INVOLUNTARY, account->involuntary))
		return -EMSGSIZE;
	if (account->has_block_io)
		return put_u64(skb, PERFGUARD_A_RECORD_BLOCK_IO_NS, account->block_io);
	return 0;
}

static int fill_kind(struct sk_buff *skb, const struct pguard_record *record)
{
	if (record->kind == PERFGUARD_RECORD_KIND_LOST)
		return put_u64(skb, PERFGUARD_A_RECORD_LOST, record->lost);
	if (record->kind == PERFGUARD_RECORD_KIND_WAIT)
		return nla_put_u32(skb, PERFGUARD_A_RECORD_SYSCALL, record->syscall) ||
		       put_u64(skb, PERFGUARD_A_RECORD_WAIT_IP, record->wait_ip) ||
		       put_u64(skb, PERFGUARD_A_RECORD_WAIT_SP, record->wait_sp) ||
		       put_u64(skb, PERFGUARD_A_RECORD_ENTER_NS, record->enter_ns) ||
		       put_u64(skb, PERFGUARD_A_RECORD_RESULT, record->result);
	return nla_put_u32(skb, PERFGUARD_A_RECORD_FOUND_BY, record->found_by) ||
	       put_u64(skb, PERFGUARD_A_RECORD_THRESHOLD_NS, record->threshold_ns);
}

static int fill_type(struct sk_buff *skb, const struct pguard_record *record)
{
	u32 nr_met = min_t(u32, record->nr_met, MAX_MET);

	if (!record->profile_id)
		return 0;
	return nla_put_u32(skb, PERFGUARD_A_RECORD_PROFILE_ID, record->profile_id) ||
	       (record->type_id &&
		nla_put_u32(skb, PERFGUARD_A_RECORD_TYPE_ID, record->type_id)) ||
	       nla_put_u32(skb, PERFGUARD_A_RECORD_MARGIN, record->margin) ||
	       put_u64(skb, PERFGUARD_A_RECORD_CHECK_NS, record->check_ns) ||
	       (nr_met && nla_put(skb, PERFGUARD_A_RECORD_MET,
				  nr_met * sizeof(*record->met), record->met)) ||
	       (record->is_novel && nla_put_flag(skb, PERFGUARD_A_RECORD_IS_NOVEL)) ||
	       (record->is_degraded && nla_put_flag(skb, PERFGUARD_A_RECORD_IS_DEGRADED));
}

static int fill_fields(struct sk_buff *skb, const struct pguard_record *record)
{
	if (put_u64(skb, PERFGUARD_A_RECORD_SEQ, record->seq) ||
	    nla_put_u32(skb, PERFGUARD_A_RECORD_KIND, record->kind) ||
	    put_u64(skb, PERFGUARD_A_RECORD_TIME_NS, record->time_ns) ||
	    fill_kind(skb, record))
		return -EMSGSIZE;
	if (record->kind == PERFGUARD_RECORD_KIND_LOST)
		return 0;
	return nla_put_u32(skb, PERFGUARD_A_RECORD_TARGET_ID, record->target_id) ||
	       nla_put_u32(skb, PERFGUARD_A_RECORD_IMAGE_ID, record->image_id) ||
	       nla_put_u32(skb, PERFGUARD_A_RECORD_LOOP_ID, record->loop_id) ||
	       nla_put_u32(skb, PERFGUARD_A_RECORD_PID, record->pid) ||
	       nla_put_u32(skb, PERFGUARD_A_RECORD_TID, record->tid) ||
	       nla_put_string(skb, PERFGUARD_A_RECORD_COMM, record->comm) ||
	       put_u64(skb, PERFGUARD_A_RECORD_UNIT, record->unit) ||
	       put_u64(skb, PERFGUARD_A_RECORD_VOLUNTARY, record->account.voluntary) ||
	       fill_account(skb, &record->account) || fill_type(skb, record);
}

static int fill_lock(struct sk_buff *skb, const struct pguard_stack *stack)
{
	return (stack->syscall != PGUARD_NO_SYSCALL &&
		nla_put_u32(skb, PERFGUARD_A_STACK_SYSCALL, stack->syscall)) ||
	       (stack->lock && nla_put_u64_64bit(skb, PERFGUARD_A_STACK_LOCK, stack->lock,
						 PERFGUARD_A_STACK_PAD)) ||
	       (stack->holder &&
		nla_put_u32(skb, PERFGUARD_A_STACK_HOLDER, stack->holder));
}

static int fill_stack(struct sk_buff *skb, const struct pguard_stack *stack)
{
	return nla_put_u32(skb, PERFGUARD_A_STACK_STATE, stack->state) ||
	       (stack->tid && nla_put_u32(skb, PERFGUARD_A_STACK_TID, stack->tid)) ||
	       fill_lock(skb, stack) ||
	       nla_put_u64_64bit(skb, PERFGUARD_A_STACK_AT_NS, stack->at_ns,
				 PERFGUARD_A_STACK_PAD) ||
	       nla_put(skb, PERFGUARD_A_STACK_REGS, sizeof(stack->regs), stack->regs) ||
	       nla_put_u32(skb, PERFGUARD_A_STACK_SIZE, stack->size) ||
	       nla_put_u32(skb, PERFGUARD_A_STACK_FULL_SIZE, stack->full_size);
}

static int fill_mapping(struct sk_buff *skb, const struct pguard_mapping *mapping)
{
	struct nlattr *nest = nla_nest_start(skb, PERFGUARD_A_STACK_MAPPING);

	if (!nest ||
	    nla_put_u64_64bit(skb, PERFGUARD_A_MAPPING_START, mapping->start,
			      PERFGUARD_A_MAPPING_PAD) ||
	    nla_put_u64_64bit(skb, PERFGUARD_A_MAPPING_END, mapping->end,
			      PERFGUARD_A_MAPPING_PAD) ||
	    nla_put_u64_64bit(skb, PERFGUARD_A_MAPPING_OFFSET, mapping->offset,
			      PERFGUARD_A_MAPPING_PAD) ||
	    nla_put_u32(skb, PERFGUARD_A_MAPPING_DEV, mapping->dev) ||
	    nla_put_u64_64bit(skb, PERFGUARD_A_MAPPING_INODE, mapping->inode,
			      PERFGUARD_A_MAPPING_PAD) ||
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

/* The stack the dump stands at, or NULL behind the last one. */
static const struct pguard_stack *stack_at(const struct pguard_record *record,
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

/* The part of the record the dump stands at, and one step on. */
static int fill_part(struct sk_buff *skb, const struct pguard_record *record, long *args)
{
	struct nlattr *nest;
	int ret;

	if (args[ARG_STAGE] == STAGE_FIELDS)
		return fill_fields(skb, record);
	/* Which record the part belongs to. */
	if (put_u64(skb, PERFGUARD_A_RECORD_SEQ, record->seq))
		return -EMSGSIZE;
	nest = nla_nest_start(skb, PERFGUARD_A_RECORD_STACK);
	if (!nest)
		return -EMSGSIZE;
	ret = fill_stack_part(skb, stack_at(record, args), args);
	nla_nest_end(skb, nest);
	return ret;
}

/* Whether the stage at hand has nothing (more) to tell of its stack. */
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

static void stack_begin(const struct pguard_record *record, long *args, long index)
{
	args[ARG_STACK] = index;
	args[ARG_STAGE] = stack_at(record, args) ? STAGE_STACK : STAGE_END;
}

static void stage_next(const struct pguard_record *record, long *args)
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

/* Tell one message; -EMSGSIZE if it does not fit any more. */
static int dump_part(struct sk_buff *skb, struct netlink_callback *cb, int command,
		     const struct pguard_record *record)
{
	void *header = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
				   &pguard_nl_family, NLM_F_MULTI, command);

	if (!header)
		return -EMSGSIZE;
	if (fill_part(skb, record, cb->args)) {
		genlmsg_cancel(skb, header);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, header);
	stage_next(record, cb->args);
	return 0;
}

/* The next record to tell, referenced; what is missing before it is one too, or -ENOMEM. */
static struct pguard_record *dump_next(struct pguard_ring *ring, long *args)
{
	struct pguard_record *record = pguard_ring_get(ring, args[ARG_SEQ]);
	struct pguard_record *lost;

	if (!record || record->seq == args[ARG_SEQ])
		return record;
	lost = pguard_record_alloc(PERFGUARD_RECORD_KIND_LOST, GFP_KERNEL);
	if (!lost) {
		pguard_record_put(record);
		return ERR_PTR(-ENOMEM);
	}
	lost->seq = record->seq - 1;
	lost->lost = record->seq - args[ARG_SEQ];
	pguard_record_put(record);
	return lost;
}

/**
 * pguard_record_dump_start() - begin a dump at the number asked for
 *
 * Context: may sleep.
 */
int pguard_record_dump_start(struct netlink_callback *cb)
{
	struct nlattr *seq = pguard_dump_attrs(cb)[PERFGUARD_A_RECORD_SEQ];

	/* Without a number: all there is, and nothing is lost before it. */
	cb->args[ARG_SEQ] = seq ? nla_get_u64(seq) : 0;
	return 0;
}

/**
 * pguard_record_dump() - one buffer of the dump of a ring
 *
 * Context: may sleep.
 */
int pguard_record_dump(struct pguard_ring *ring, int command, struct sk_buff *skb,
		       struct netlink_callback *cb)
{
	struct pguard_record *record;
	long *args = cb->args;

	if (!args[ARG_SEQ]) {
		record = pguard_ring_get(ring, 0);
		args[ARG_SEQ] = record ? record->seq : LONG_MAX;
		pguard_record_put(record);
	}
	for (;;) {
		record = (struct pguard_record *)args[ARG_RECORD];
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
		pguard_record_put(record);
	}
	return skb->len;
}

/* The dump ends, maybe before its time. */
int pguard_record_dump_done(struct netlink_callback *cb)
{
	pguard_record_put((struct pguard_record *)cb->args[ARG_RECORD]);
	cb->args[ARG_RECORD] = 0;
	return 0;
}

static u64 next_bell = 1;	/* bell_work's own */
static u64 unheard;		/* of records before this one nobody hears any more */

static bool has_listeners(void)
{
	return genl_has_listeners(&pguard_nl_family, &init_net, PGUARD_NL_MCGRP_ALERTS);
}

static void bell_send(const struct pguard_record *record)
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
	/* Who reads too slowly finds it in the ring. */
	genlmsg_multicast(&pguard_nl_family, skb, 0, PGUARD_NL_MCGRP_ALERTS, GFP_KERNEL);
}

static void bell_work(struct work_struct *work)
{
	struct pguard_record *record;

	next_bell = max(next_bell, READ_ONCE(unheard));
	while ((record = pguard_ring_get(&pguard_alerts, next_bell))) {
		/* Else the ring has it. */
		if (has_listeners())
			bell_send(record);
		next_bell = record->seq + 1;
		pguard_record_put(record);
	}
}

static DECLARE_WORK(bell, bell_work);

/**
 * pguard_record_ring_bell() - an alert was added
 *
 * Without listeners no worker is woken for it, which takes as much as eight hits.  Who begins to
 * listen hears of records that are added from then on; of one that was added before and gets its
 * stack only then it may not.
 *
 * Context: any.
 */
void pguard_record_ring_bell(void)
{
	/* Before it is asked who listens: what is added after it is heard. */
	u64 next = READ_ONCE(pguard_alerts.next_seq);

	if (has_listeners())
		queue_work(system_unbound_wq, &bell);
	else if (next > READ_ONCE(unheard))
		WRITE_ONCE(unheard, next);	/* should it sink, a bell is rung in vain */
}

void pguard_record_silence(void)
{
	cancel_work_sync(&bell);
}
