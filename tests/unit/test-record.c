// SPDX-License-Identifier: GPL-2.0
/*
 * Records put together from messages: such as the module sends, and such as
 * it never should.
 */

#include <errno.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <string.h>

#include <linux/perfguard.h>

#include "link/assembler.h"
#include "tap.h"

#define MAX_RECORDS 8

static struct record records[MAX_RECORDS];
static unsigned int nr_records;
static int fn_result;

static int keep(struct record *record, void *arg)
{
	(void)arg;
	if (nr_records < MAX_RECORDS) {
		records[nr_records++] = *record;
		memset(record, 0, sizeof(*record));
	}
	return fn_result;
}

static struct assembler assembler = { .fn = keep };

static void restart(void)
{
	assembler_reset(&assembler);
	assembler.skipped = 0;
	while (nr_records)
		record_clear(&records[--nr_records]);
	fn_result = 0;
}

static int feed(struct nl_msg *msg)
{
	int ret = assembler_feed(&assembler, nlmsg_attrdata(nlmsg_hdr(msg), 0),
				 nlmsg_attrlen(nlmsg_hdr(msg), 0));

	nlmsg_free(msg);
	return ret;
}

static struct nl_msg *begin(uint64_t seq)
{
	struct nl_msg *msg = nlmsg_alloc_size(65536);

	nlmsg_put(msg, 0, 0, 0, 0, 0);
	if (seq)
		nla_put_u64(msg, PERFGUARD_A_RECORD_SEQ, seq);
	return msg;
}

static int feed_fields(uint64_t seq, uint32_t kind)
{
	struct nl_msg *msg = begin(seq);

	nla_put(msg, PERFGUARD_A_RECORD_MAX + 1, 0, NULL);
	nla_put_u32(msg, PERFGUARD_A_RECORD_KIND, kind);
	nla_put_u32(msg, PERFGUARD_A_RECORD_TID, 4711);
	nla_put_string(msg, PERFGUARD_A_RECORD_COMM, "a-name-that-is-too-long");
	nla_put_u64(msg, PERFGUARD_A_RECORD_ELAPSED_NS, 1000);
	nla_put_u64(msg, PERFGUARD_A_RECORD_BLOCK_IO_NS, 0);
	return feed(msg);
}

static int feed_stack(uint64_t seq, uint32_t index, uint32_t size)
{
	struct nl_msg *msg = begin(seq);
	struct nlattr *nest = nla_nest_start(msg, PERFGUARD_A_RECORD_STACK);
	uint64_t regs[SLICE_NR_REGS];

	for (unsigned int i = 0; i < SLICE_NR_REGS; i++)
		regs[i] = 100 + i;
	nla_put_u32(msg, PERFGUARD_A_STACK_INDEX, index);
	nla_put_u32(msg, PERFGUARD_A_STACK_STATE, PERFGUARD_STACK_STATE_BLOCKED);
	nla_put_u64(msg, PERFGUARD_A_STACK_AT_NS, 5);
	nla_put(msg, PERFGUARD_A_STACK_REGS, sizeof(regs), regs);
	nla_put_u32(msg, PERFGUARD_A_STACK_SIZE, size);
	nla_put_u32(msg, PERFGUARD_A_STACK_FULL_SIZE, 2 * size);
	nla_nest_end(msg, nest);
	return feed(msg);
}

static int feed_mapping(uint64_t seq, uint32_t index, uint64_t start,
			uint64_t end, const char *path)
{
	struct nl_msg *msg = begin(seq);
	struct nlattr *nest = nla_nest_start(msg, PERFGUARD_A_RECORD_STACK);
	struct nlattr *mapping;

	nla_put_u32(msg, PERFGUARD_A_STACK_INDEX, index);
	mapping = nla_nest_start(msg, PERFGUARD_A_STACK_MAPPING);
	nla_put_u64(msg, PERFGUARD_A_MAPPING_START, start);
	nla_put_u64(msg, PERFGUARD_A_MAPPING_END, end);
	if (path)
		nla_put_string(msg, PERFGUARD_A_MAPPING_PATH, path);
	nla_nest_end(msg, mapping);
	nla_nest_end(msg, nest);
	return feed(msg);
}

static int feed_chunk(uint64_t seq, uint32_t index, uint32_t offset,
		      uint32_t len, char fill)
{
	struct nl_msg *msg = begin(seq);
	struct nlattr *nest = nla_nest_start(msg, PERFGUARD_A_RECORD_STACK);
	char bytes[8192];

	memset(bytes, fill, sizeof(bytes));
	nla_put_u32(msg, PERFGUARD_A_STACK_INDEX, index);
	nla_put_u32(msg, PERFGUARD_A_STACK_CHUNK_OFFSET, offset);
	nla_put(msg, PERFGUARD_A_STACK_CHUNK, (int)len, bytes);
	nla_nest_end(msg, nest);
	return feed(msg);
}

static void test_good(void)
{
	const struct slice *stack;

	restart();
	feed_fields(1, PERFGUARD_RECORD_KIND_LATE);
	feed_stack(1, 0, 6000);
	feed_mapping(1, 0, 0x1000, 0x2000, "/bin/x");
	feed_mapping(1, 0, 0x5000, 0x6000, NULL);
	feed_chunk(1, 0, 0, 4096, 'a');
	feed_chunk(1, 0, 4096, 1904, 'b');
	feed_stack(1, 1, 8);
	feed_chunk(1, 1, 0, 8, 'c');
	ok(!nr_records, "a record waits for what comes after it");
	feed_fields(2, PERFGUARD_RECORD_KIND_ENDED);
	ok(nr_records == 1 && records[0].seq == 1, "the next one completes it");
	ok(!assembler_finish(&assembler) && nr_records == 2,
	   "the end completes the last");
	ok(!strcmp(records[0].comm, "a-name-that-is-"), "a name is cut to fit");
	ok(records[0].tid == 4711 && records[0].account.elapsed_ns == 1000 &&
		   records[0].account.has_block_io, "the fields are there");
	ok(records[0].nr_stacks == 2 && records[1].nr_stacks == 0,
	   "each has its stacks");
	stack = records[0].stacks;
	ok(stack && stack[0].size == 6000 && stack[0].full_size == 12000 &&
		   stack[0].bytes[4095] == 'a' && stack[0].bytes[5999] == 'b',
	   "the chunks are in place");
	ok(stack && stack[0].regs[SLICE_REG_RIP] == 116 &&
		   stack[0].state == PERFGUARD_STACK_STATE_BLOCKED,
	   "so are the registers");
	ok(stack && stack[0].nr_mappings == 2 &&
		   !strcmp(stack[0].mappings[0].path, "/bin/x") &&
		   !stack[0].mappings[1].path, "and the mappings");
	ok(stack && stack[1].size == 8 && !assembler.skipped,
	   "nothing was skipped");
}

static void test_parts(void)
{
	restart();
	feed_fields(1, PERFGUARD_RECORD_KIND_LATE);
	feed_stack(0, 0, 16);
	feed_chunk(0, 0, 0, 16, 'x');
	feed_fields(2, PERFGUARD_RECORD_KIND_LATE);
	assembler_finish(&assembler);
	ok(nr_records == 2 && records[0].nr_stacks == 1 &&
		   records[0].stacks[0].size == 16,
	   "parts without a number belong to the record before");

	restart();
	feed_fields(1, PERFGUARD_RECORD_KIND_LATE);
	feed_stack(1, 0, 100);
	feed_chunk(1, 0, 0, 40, 'x');
	feed_chunk(1, 0, 60, 40, 'y');
	assembler_finish(&assembler);
	ok(records[0].stacks[0].size == 40 && assembler.skipped == 1,
	   "behind a gap the stack is cut");

	restart();
	feed_fields(1, PERFGUARD_RECORD_KIND_LATE);
	feed_stack(1, 0, 100);
	feed_chunk(1, 0, 0, 101, 'x');
	feed_chunk(1, 0, 4294967295u, 8, 'x');
	assembler_finish(&assembler);
	ok(records[0].stacks[0].size == 0 && assembler.skipped == 2,
	   "chunks that do not fit are left out");
}

static void test_bad(void)
{
	struct nl_msg *msg;

	restart();
	ok(!feed_chunk(0, 0, 0, 8, 'x') && !feed_stack(0, 0, 8) &&
		   assembler.skipped == 2 && !assembler_finish(&assembler) &&
		   !nr_records, "parts of no record are left out");

	restart();
	msg = begin(3);
	feed(msg);
	ok(assembler.skipped == 1 && !assembler_finish(&assembler) && !nr_records,
	   "a record without a kind is left out");

	restart();
	feed_fields(1, PERFGUARD_RECORD_KIND_LATE);
	feed_stack(1, 0, 4294967295u);
	feed_stack(1, 7, 8);
	feed_mapping(1, 0, 0x1000, 0x2000, NULL);
	assembler_finish(&assembler);
	ok(nr_records == 1 && !records[0].nr_stacks && assembler.skipped >= 3,
	   "so are stacks too large or out of turn, and their parts");

	restart();
	feed_fields(1, PERFGUARD_RECORD_KIND_LATE);
	feed_stack(1, 0, 8);
	feed_mapping(1, 0, 0x2000, 0x2000, NULL);
	feed_mapping(1, 0, 0x3000, 0x2000, NULL);
	assembler_finish(&assembler);
	ok(!records[0].stacks[0].nr_mappings && assembler.skipped == 2,
	   "and mappings of no size");

	restart();
	msg = begin(1);
	nla_put(msg, PERFGUARD_A_RECORD_KIND, 1, "x");
	feed(msg);
	msg = begin(0);
	nla_put(msg, PERFGUARD_A_RECORD_SEQ, 3, "xyz");
	feed(msg);
	msg = begin(1);
	nla_put_u32(msg, PERFGUARD_A_RECORD_KIND, PERFGUARD_RECORD_KIND_LATE);
	nla_put(msg, PERFGUARD_A_RECORD_COMM, 3, "abc");
	feed(msg);
	ok(assembler.skipped == 3 && !assembler.has_record,
	   "values of a wrong size or without an end are refused");

	restart();
	feed_fields(1, PERFGUARD_RECORD_KIND_LATE);
	msg = begin(1);
	nla_put(msg, PERFGUARD_A_RECORD_STACK, 5, "\x03\0\x01\0z");
	feed(msg);
	msg = begin(1);
	nla_put(msg, PERFGUARD_A_RECORD_STACK, 0, NULL);
	feed(msg);
	assembler_finish(&assembler);
	ok(nr_records == 1 && !records[0].nr_stacks,
	   "a nest of garbage is no stack");

	restart();
	for (unsigned int i = 0; i < 70; i++) {
		if (!i)
			feed_fields(1, PERFGUARD_RECORD_KIND_LATE);
		feed_stack(1, i, 8);
	}
	assembler_finish(&assembler);
	ok(records[0].nr_stacks == 64 && assembler.skipped > 0,
	   "the number of stacks is bounded");
}

static void test_errors(void)
{
	restart();
	fn_result = -EIO;
	feed_fields(1, PERFGUARD_RECORD_KIND_LATE);
	ok(feed_fields(2, PERFGUARD_RECORD_KIND_LATE) == -EIO,
	   "the callback's error comes back");

	restart();
	feed_fields(1, PERFGUARD_RECORD_KIND_LATE);
	feed_stack(1, 0, 8);
	assembler_reset(&assembler);
	ok(!assembler_finish(&assembler) && !nr_records,
	   "a record can be forgotten");
}

/* Any bytes at all: nothing to check but that it ends and nothing breaks. */
static void test_noise(void)
{
	unsigned int seed = 1;

	restart();
	for (unsigned int round = 0; round < 20000; round++) {
		union {
			struct nlattr attr;
			unsigned char bytes[256];
		} noise;
		unsigned int len = 0;

		while (len + 4 < sizeof(noise) && rand_r(&seed) % 16) {
			struct nlattr *attr = (void *)(noise.bytes + len);
			unsigned int left = sizeof(noise) - len;
			unsigned int size = 4 + rand_r(&seed) % 40;

			for (unsigned int i = 0; i < left; i++)
				noise.bytes[len + i] = (unsigned char)rand_r(&seed);
			if (size > left)
				size = left;
			attr->nla_len = (unsigned short)(rand_r(&seed) % 8 ?
					size : (unsigned int)rand_r(&seed));
			attr->nla_type = (unsigned short)(1 + rand_r(&seed) % 28);
			len += (size + 3) & ~3u;
		}
		if (len > sizeof(noise))
			len = sizeof(noise);
		assembler_feed(&assembler, &noise.attr, (int)len);
		if (nr_records == MAX_RECORDS)
			restart();
	}
	restart();
	ok(true, "20000 messages of noise");
}

int main(void)
{
	plan(23);
	test_good();
	test_parts();
	test_bad();
	test_errors();
	test_noise();
	return tap_status();
}
