// SPDX-License-Identifier: GPL-2.0

#include "link/assembler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/perfguard.h>

#include "base/array.h"
#include "link/netlink.h"

/* More than the module sends; limits for invalid messages. */
#define MAX_STACKS 64
#define MAX_MAPPINGS 4096
#define MAX_STACK_BYTES (4 * 1024 * 1024)
#define MAX_MET 1024

/* Calling contexts of a unit; an incomplete one is invalid. */
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

/* Without it the record is of a request of which nothing is known. */
static void parse_request(struct assembler *assembler, struct nlattr *attr)
{
	struct slow_request *request = &assembler->record.request;

	if (!attr || !decode_nested(link_slow_request_fields, attr, request))
		return;
	memset(request, 0, sizeof(*request));
	assembler->skipped++;
}

/* Bytes that are missing at the end of a stack were not copied. */
static void close_stack(struct assembler *assembler)
{
	struct record *record = &assembler->record;

	if (record->nr_stacks)
		record->stacks[record->nr_stacks - 1].size = assembler->filled;
	assembler->filled = 0;
}

static int begin_stack(struct assembler *assembler, struct nlattr *part)
{
	struct slice stack = { .syscall = SLICE_NO_SYSCALL };
	struct record *record = &assembler->record;

	if (decode_nested(link_stack_fields, part, &stack) ||
	    record->nr_stacks == MAX_STACKS || stack.size > MAX_STACK_BYTES) {
		assembler->skipped++;
		return 0;
	}
	close_stack(assembler);
	if (array_resize(record->stacks, record->nr_stacks + 1UL))
		return -ENOMEM;
	stack.bytes = malloc(stack.size ? stack.size : 1);
	if (!stack.bytes)
		return -ENOMEM;
	record->stacks[record->nr_stacks++] = stack;
	return 0;
}

static int add_mapping(struct assembler *assembler, struct slice *stack,
		       struct nlattr *attr)
{
	struct mapping mapping = { 0 };
	int ret = decode_nested(link_mapping_fields, attr, &mapping);

	if (ret != -ENOMEM && (ret || mapping.start >= mapping.end ||
			       stack->nr_mappings == MAX_MAPPINGS)) {
		free(mapping.path);
		assembler->skipped++;
		return 0;
	}
	if (ret || array_resize(stack->mappings, stack->nr_mappings + 1UL)) {
		free(mapping.path);
		return -ENOMEM;
	}
	stack->mappings[stack->nr_mappings++] = mapping;
	return 0;
}

/* Chunks come in increasing order; those after a gap are discarded. */
static void add_chunk(struct assembler *assembler, struct slice *stack,
		      const struct nlattr *chunk, const struct nlattr *at)
{
	uint32_t offset = decode_u32(at);
	uint32_t len = (uint32_t)nla_len(chunk);

	if (offset != assembler->filled || len > stack->size - offset) {
		assembler->skipped++;
		return;
	}
	memcpy(stack->bytes + offset, nla_data(chunk), len);
	assembler->filled += len;
}

static int add_stack_part(struct assembler *assembler, struct nlattr *part)
{
	struct record *record = &assembler->record;
	struct nlattr *tb[PERFGUARD_A_STACK_MAX + 1];
	struct slice *stack;
	uint32_t index;
	int ret = 0;

	nla_parse_nested(tb, PERFGUARD_A_STACK_MAX, part, NULL);
	index = record->nr_stacks ? record->nr_stacks - 1 : 0;
	if (tb[PERFGUARD_A_STACK_INDEX])
		index = decode_u32(tb[PERFGUARD_A_STACK_INDEX]);

	if (tb[PERFGUARD_A_STACK_REGS] && index == record->nr_stacks)
		ret = begin_stack(assembler, part);
	/* Parts belong to the last stack. */
	if (ret || !record->nr_stacks || index != record->nr_stacks - 1) {
		assembler->skipped += !ret;
		return ret;
	}
	stack = &record->stacks[index];
	if (tb[PERFGUARD_A_STACK_MAPPING])
		ret = add_mapping(assembler, stack,
				  tb[PERFGUARD_A_STACK_MAPPING]);
	if (!ret && tb[PERFGUARD_A_STACK_CHUNK])
		add_chunk(assembler, stack, tb[PERFGUARD_A_STACK_CHUNK],
			  tb[PERFGUARD_A_STACK_CHUNK_OFFSET]);
	return ret;
}

/* Behind those before it: its length, and its attributes. */
static int keep_message(struct record *record, const struct nlattr *attrs, uint32_t len)
{
	uint32_t size = record->messages_size;
	uint8_t *at;

	if (array_resize(record->messages, size + sizeof(len) + NLA_ALIGN(len)))
		return -ENOMEM;
	at = record->messages + size;
	memcpy(at, &len, sizeof(len));
	memset(at + sizeof(len), 0, NLA_ALIGN(len));
	memcpy(at + sizeof(len), attrs, len);
	record->messages_size = size + (uint32_t)sizeof(len) + NLA_ALIGN(len);
	return 0;
}

int assembler_feed(struct assembler *assembler, struct nlattr *attrs, int len)
{
	struct nlattr *part = nla_find(attrs, len, PERFGUARD_A_RECORD_STACK);
	struct record *record = &assembler->record, next = { 0 };
	int ret;

	if (decode_attrs(link_record_fields, attrs, len, &next)) {
		assembler->skipped++;
		return 0;
	}
	if (next.seq && (!assembler->has_record || next.seq != record->seq)) {
		ret = assembler_finish(assembler);
		if (ret)
			return ret;
		if (!next.kind) {
			assembler->skipped++;
			return 0;
		}
		*record = next;
		record->account.has_block_io =
			nla_find(attrs, len, PERFGUARD_A_RECORD_BLOCK_IO_NS) != NULL;
		assembler->has_record = true;
		parse_request(assembler, nla_find(attrs, len, PERFGUARD_A_RECORD_REQUEST));
		ret = parse_met(assembler, nla_find(attrs, len, PERFGUARD_A_RECORD_MET));
		if (ret)
			return ret;
	}
	ret = 0;
	if (assembler->keeps_messages && assembler->has_record)
		ret = keep_message(record, attrs, (uint32_t)len);
	if (!part || ret)
		return ret;
	if (!assembler->has_record) {
		assembler->skipped++;
		return 0;
	}
	return add_stack_part(assembler, part);
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
