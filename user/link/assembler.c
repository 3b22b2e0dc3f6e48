// SPDX-License-Identifier: GPL-2.0

#include "link/assembler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/perfguard.h>

#include "link/netlink.h"

/* More than the module ever sends; a bound for messages that lie. */
#define MAX_STACKS 64
#define MAX_MAPPINGS 4096
#define MAX_STACK_BYTES (4 * 1024 * 1024)
#define MAX_MET 1024

static struct nla_policy record_policy[PERFGUARD_A_RECORD_MAX + 1] = {
	[PERFGUARD_A_RECORD_SEQ] = { .type = NLA_U64 },
	[PERFGUARD_A_RECORD_KIND] = { .type = NLA_U32 },
	[PERFGUARD_A_RECORD_TIME_NS] = { .type = NLA_U64 },
	[PERFGUARD_A_RECORD_TARGET_ID] = { .type = NLA_U32 },
	[PERFGUARD_A_RECORD_IMAGE_ID] = { .type = NLA_U32 },
	[PERFGUARD_A_RECORD_LOOP_ID] = { .type = NLA_U32 },
	[PERFGUARD_A_RECORD_PID] = { .type = NLA_U32 },
	[PERFGUARD_A_RECORD_TID] = { .type = NLA_U32 },
	[PERFGUARD_A_RECORD_COMM] = { .type = NLA_STRING },
	[PERFGUARD_A_RECORD_UNIT] = { .type = NLA_U64 },
	[PERFGUARD_A_RECORD_FOUND_BY] = { .type = NLA_U32 },
	[PERFGUARD_A_RECORD_THRESHOLD_NS] = { .type = NLA_U64 },
	[PERFGUARD_A_RECORD_ELAPSED_NS] = { .type = NLA_U64 },
	[PERFGUARD_A_RECORD_CPU_NS] = { .type = NLA_U64 },
	[PERFGUARD_A_RECORD_RUNQUEUE_NS] = { .type = NLA_U64 },
	[PERFGUARD_A_RECORD_BLOCKED_NS] = { .type = NLA_U64 },
	[PERFGUARD_A_RECORD_BLOCK_IO_NS] = { .type = NLA_U64 },
	[PERFGUARD_A_RECORD_MIN_FAULTS] = { .type = NLA_U64 },
	[PERFGUARD_A_RECORD_MAJ_FAULTS] = { .type = NLA_U64 },
	[PERFGUARD_A_RECORD_VOLUNTARY] = { .type = NLA_U64 },
	[PERFGUARD_A_RECORD_INVOLUNTARY] = { .type = NLA_U64 },
	[PERFGUARD_A_RECORD_SYSCALL] = { .type = NLA_U32 },
	[PERFGUARD_A_RECORD_WAIT_IP] = { .type = NLA_U64 },
	[PERFGUARD_A_RECORD_WAIT_SP] = { .type = NLA_U64 },
	[PERFGUARD_A_RECORD_ENTER_NS] = { .type = NLA_U64 },
	[PERFGUARD_A_RECORD_LOST] = { .type = NLA_U64 },
	[PERFGUARD_A_RECORD_STACK] = { .type = NLA_NESTED },
	[PERFGUARD_A_RECORD_PROFILE_ID] = { .type = NLA_U32 },
	[PERFGUARD_A_RECORD_TYPE_ID] = { .type = NLA_U32 },
	[PERFGUARD_A_RECORD_MARGIN] = { .type = NLA_U32 },
	[PERFGUARD_A_RECORD_CHECK_NS] = { .type = NLA_U64 },
	[PERFGUARD_A_RECORD_MET] = { .type = NLA_UNSPEC },
	[PERFGUARD_A_RECORD_IS_NOVEL] = { .type = NLA_FLAG },
	[PERFGUARD_A_RECORD_IS_DEGRADED] = { .type = NLA_FLAG },
	[PERFGUARD_A_RECORD_RESULT] = { .type = NLA_S64 },
};

static struct nla_policy stack_policy[PERFGUARD_A_STACK_MAX + 1] = {
	[PERFGUARD_A_STACK_INDEX] = { .type = NLA_U32 },
	[PERFGUARD_A_STACK_STATE] = { .type = NLA_U32 },
	[PERFGUARD_A_STACK_AT_NS] = { .type = NLA_U64 },
	[PERFGUARD_A_STACK_REGS] = { .type = NLA_UNSPEC,
				     .minlen = SLICE_NR_REGS * 8 },
	[PERFGUARD_A_STACK_SIZE] = { .type = NLA_U32 },
	[PERFGUARD_A_STACK_FULL_SIZE] = { .type = NLA_U32 },
	[PERFGUARD_A_STACK_MAPPING] = { .type = NLA_NESTED },
	[PERFGUARD_A_STACK_CHUNK_OFFSET] = { .type = NLA_U32 },
	[PERFGUARD_A_STACK_TID] = { .type = NLA_U32 },
	[PERFGUARD_A_STACK_SYSCALL] = { .type = NLA_U32 },
	[PERFGUARD_A_STACK_LOCK] = { .type = NLA_U64 },
	[PERFGUARD_A_STACK_HOLDER] = { .type = NLA_U32 },
};

static struct nla_policy mapping_policy[PERFGUARD_A_MAPPING_MAX + 1] = {
	[PERFGUARD_A_MAPPING_START] = { .type = NLA_U64 },
	[PERFGUARD_A_MAPPING_END] = { .type = NLA_U64 },
	[PERFGUARD_A_MAPPING_OFFSET] = { .type = NLA_U64 },
	[PERFGUARD_A_MAPPING_DEV] = { .type = NLA_U32 },
	[PERFGUARD_A_MAPPING_INODE] = { .type = NLA_U64 },
	[PERFGUARD_A_MAPPING_PATH] = { .type = NLA_STRING },
};

/* Contexts that a unit met; a part of one makes no sense. */
static int parse_met(struct assembler *assembler, const struct nlattr *attr)
{
	struct record *record = &assembler->record;
	size_t size = sizeof(*record->met), nr;

	if (!attr)
		return 0;
	nr = (size_t)nla_len(attr) / size;
	if (nr > MAX_MET || nr * size != (size_t)nla_len(attr)) {
		assembler->skipped++;
		return 0;
	}
	record->met = malloc(nr ? nr * size : 1);
	if (!record->met)
		return -ENOMEM;
	memcpy(record->met, nla_data(attr), nr * size);
	record->nr_met = (uint32_t)nr;
	return 0;
}

static void parse_type(struct nlattr **tb, struct record *record)
{
	record->profile_id = netlink_u32(tb[PERFGUARD_A_RECORD_PROFILE_ID]);
	record->type_id = netlink_u32(tb[PERFGUARD_A_RECORD_TYPE_ID]);
	record->margin = netlink_u32(tb[PERFGUARD_A_RECORD_MARGIN]);
	record->check_ns = netlink_u64(tb[PERFGUARD_A_RECORD_CHECK_NS]);
	record->is_novel = tb[PERFGUARD_A_RECORD_IS_NOVEL] != NULL;
	record->is_degraded = tb[PERFGUARD_A_RECORD_IS_DEGRADED] != NULL;
}

static void parse_fields(struct nlattr **tb, struct record *record)
{
	struct account *account = &record->account;

	record->kind = netlink_u32(tb[PERFGUARD_A_RECORD_KIND]);
	record->found_by = netlink_u32(tb[PERFGUARD_A_RECORD_FOUND_BY]);
	record->time_ns = netlink_u64(tb[PERFGUARD_A_RECORD_TIME_NS]);
	record->target_id = netlink_u32(tb[PERFGUARD_A_RECORD_TARGET_ID]);
	record->image_id = netlink_u32(tb[PERFGUARD_A_RECORD_IMAGE_ID]);
	record->loop_id = netlink_u32(tb[PERFGUARD_A_RECORD_LOOP_ID]);
	record->pid = netlink_u32(tb[PERFGUARD_A_RECORD_PID]);
	record->tid = netlink_u32(tb[PERFGUARD_A_RECORD_TID]);
	netlink_string(tb[PERFGUARD_A_RECORD_COMM], record->comm,
		       sizeof(record->comm));
	record->unit = netlink_u64(tb[PERFGUARD_A_RECORD_UNIT]);
	record->threshold_ns = netlink_u64(tb[PERFGUARD_A_RECORD_THRESHOLD_NS]);
	account->elapsed_ns = netlink_u64(tb[PERFGUARD_A_RECORD_ELAPSED_NS]);
	account->cpu_ns = netlink_u64(tb[PERFGUARD_A_RECORD_CPU_NS]);
	account->runqueue_ns = netlink_u64(tb[PERFGUARD_A_RECORD_RUNQUEUE_NS]);
	account->blocked_ns = netlink_u64(tb[PERFGUARD_A_RECORD_BLOCKED_NS]);
	account->block_io_ns = netlink_u64(tb[PERFGUARD_A_RECORD_BLOCK_IO_NS]);
	account->has_block_io = tb[PERFGUARD_A_RECORD_BLOCK_IO_NS] != NULL;
	account->min_faults = netlink_u64(tb[PERFGUARD_A_RECORD_MIN_FAULTS]);
	account->maj_faults = netlink_u64(tb[PERFGUARD_A_RECORD_MAJ_FAULTS]);
	record->voluntary = netlink_u64(tb[PERFGUARD_A_RECORD_VOLUNTARY]);
	record->involuntary = netlink_u64(tb[PERFGUARD_A_RECORD_INVOLUNTARY]);
	record->syscall = netlink_u32(tb[PERFGUARD_A_RECORD_SYSCALL]);
	record->wait_ip = netlink_u64(tb[PERFGUARD_A_RECORD_WAIT_IP]);
	record->wait_sp = netlink_u64(tb[PERFGUARD_A_RECORD_WAIT_SP]);
	record->enter_ns = netlink_u64(tb[PERFGUARD_A_RECORD_ENTER_NS]);
	record->result = (int64_t)netlink_u64(tb[PERFGUARD_A_RECORD_RESULT]);
	record->lost = netlink_u64(tb[PERFGUARD_A_RECORD_LOST]);
	parse_type(tb, record);
}

/* What is missing at the end of a stack was not copied, for all we know. */
static void close_stack(struct assembler *assembler)
{
	struct record *record = &assembler->record;

	if (record->nr_stacks)
		record->stacks[record->nr_stacks - 1].size = assembler->filled;
	assembler->filled = 0;
}

static int begin_stack(struct assembler *assembler, struct nlattr **tb)
{
	uint32_t size = netlink_u32(tb[PERFGUARD_A_STACK_SIZE]);
	struct record *record = &assembler->record;
	struct slice *stacks;

	if (record->nr_stacks == MAX_STACKS || size > MAX_STACK_BYTES) {
		assembler->skipped++;
		return 0;
	}
	close_stack(assembler);
	stacks = reallocarray(record->stacks, record->nr_stacks + 1,
			      sizeof(*stacks));
	if (!stacks)
		return -ENOMEM;
	record->stacks = stacks;
	stacks += record->nr_stacks;
	memset(stacks, 0, sizeof(*stacks));
	stacks->bytes = malloc(size ? size : 1);
	if (!stacks->bytes)
		return -ENOMEM;
	record->nr_stacks++;
	stacks->size = size;
	stacks->at_ns = netlink_u64(tb[PERFGUARD_A_STACK_AT_NS]);
	stacks->state = netlink_u32(tb[PERFGUARD_A_STACK_STATE]);
	stacks->tid = netlink_u32(tb[PERFGUARD_A_STACK_TID]);
	stacks->syscall = SLICE_NO_SYSCALL;
	if (tb[PERFGUARD_A_STACK_SYSCALL])
		stacks->syscall = netlink_u32(tb[PERFGUARD_A_STACK_SYSCALL]);
	stacks->lock = netlink_u64(tb[PERFGUARD_A_STACK_LOCK]);
	stacks->holder = netlink_u32(tb[PERFGUARD_A_STACK_HOLDER]);
	stacks->full_size = netlink_u32(tb[PERFGUARD_A_STACK_FULL_SIZE]);
	memcpy(stacks->regs, nla_data(tb[PERFGUARD_A_STACK_REGS]),
	       sizeof(stacks->regs));
	return 0;
}

static int add_mapping(struct assembler *assembler, struct slice *stack,
		       struct nlattr *attr)
{
	struct nlattr *tb[PERFGUARD_A_MAPPING_MAX + 1];
	struct mapping *mapping;
	char *path = NULL;

	if (nla_parse_nested(tb, PERFGUARD_A_MAPPING_MAX, attr,
			     mapping_policy) ||
	    netlink_u64(tb[PERFGUARD_A_MAPPING_START]) >=
		    netlink_u64(tb[PERFGUARD_A_MAPPING_END]) ||
	    stack->nr_mappings == MAX_MAPPINGS) {
		assembler->skipped++;
		return 0;
	}
	mapping = reallocarray(stack->mappings, stack->nr_mappings + 1,
			       sizeof(*mapping));
	if (!mapping)
		return -ENOMEM;
	stack->mappings = mapping;
	if (tb[PERFGUARD_A_MAPPING_PATH]) {
		path = nla_strdup(tb[PERFGUARD_A_MAPPING_PATH]);
		if (!path)
			return -ENOMEM;
	}
	mapping += stack->nr_mappings++;
	mapping->start = netlink_u64(tb[PERFGUARD_A_MAPPING_START]);
	mapping->end = netlink_u64(tb[PERFGUARD_A_MAPPING_END]);
	mapping->offset = netlink_u64(tb[PERFGUARD_A_MAPPING_OFFSET]);
	mapping->inode = netlink_u64(tb[PERFGUARD_A_MAPPING_INODE]);
	mapping->dev = netlink_u32(tb[PERFGUARD_A_MAPPING_DEV]);
	mapping->path = path;
	return 0;
}

/* Chunks come in rising order; after a gap the bytes are of no use. */
static void add_chunk(struct assembler *assembler, struct slice *stack,
		      struct nlattr **tb)
{
	uint32_t offset = netlink_u32(tb[PERFGUARD_A_STACK_CHUNK_OFFSET]);
	struct nlattr *chunk = tb[PERFGUARD_A_STACK_CHUNK];
	uint32_t len = (uint32_t)nla_len(chunk);

	if (offset != assembler->filled || len > stack->size - offset) {
		assembler->skipped++;
		return;
	}
	memcpy(stack->bytes + offset, nla_data(chunk), len);
	assembler->filled += len;
}

static int add_stack_part(struct assembler *assembler, struct nlattr *attr)
{
	struct nlattr *tb[PERFGUARD_A_STACK_MAX + 1];
	struct record *record = &assembler->record;
	struct slice *stack;
	uint32_t index;
	int ret = 0;

	if (nla_parse_nested(tb, PERFGUARD_A_STACK_MAX, attr, stack_policy)) {
		assembler->skipped++;
		return 0;
	}
	index = record->nr_stacks ? record->nr_stacks - 1 : 0;
	if (tb[PERFGUARD_A_STACK_INDEX])
		index = netlink_u32(tb[PERFGUARD_A_STACK_INDEX]);

	if (tb[PERFGUARD_A_STACK_REGS] && index == record->nr_stacks)
		ret = begin_stack(assembler, tb);
	/* Parts are those of the stack that was begun last. */
	if (ret || !record->nr_stacks || index != record->nr_stacks - 1) {
		assembler->skipped += !ret;
		return ret;
	}
	stack = &record->stacks[index];
	if (tb[PERFGUARD_A_STACK_MAPPING])
		ret = add_mapping(assembler, stack,
				  tb[PERFGUARD_A_STACK_MAPPING]);
	if (!ret && tb[PERFGUARD_A_STACK_CHUNK])
		add_chunk(assembler, stack, tb);
	return ret;
}

int assembler_feed(struct assembler *assembler, struct nlattr *attrs, int len)
{
	struct nlattr *tb[PERFGUARD_A_RECORD_MAX + 1];
	struct record *record = &assembler->record;
	int ret;

	if (nla_parse(tb, PERFGUARD_A_RECORD_MAX, attrs, len, record_policy)) {
		assembler->skipped++;
		return 0;
	}
	if (tb[PERFGUARD_A_RECORD_SEQ] &&
	    (!assembler->has_record ||
	     netlink_u64(tb[PERFGUARD_A_RECORD_SEQ]) != record->seq)) {
		ret = assembler_finish(assembler);
		if (ret)
			return ret;
		if (!tb[PERFGUARD_A_RECORD_KIND]) {
			assembler->skipped++;
			return 0;
		}
		record->seq = netlink_u64(tb[PERFGUARD_A_RECORD_SEQ]);
		parse_fields(tb, record);
		assembler->has_record = true;
		ret = parse_met(assembler, tb[PERFGUARD_A_RECORD_MET]);
		if (ret)
			return ret;
	}
	if (!tb[PERFGUARD_A_RECORD_STACK])
		return 0;
	if (!assembler->has_record) {
		assembler->skipped++;
		return 0;
	}
	return add_stack_part(assembler, tb[PERFGUARD_A_RECORD_STACK]);
}

int assembler_finish(struct assembler *assembler)
{
	int ret = 0;

	if (assembler->has_record) {
		close_stack(assembler);
		ret = assembler->fn(&assembler->record, assembler->arg);
	}
	assembler_reset(assembler);
	return ret;
}

void assembler_reset(struct assembler *assembler)
{
	record_clear(&assembler->record);
	assembler->has_record = false;
	assembler->filled = 0;
}
