// SPDX-License-Identifier: GPL-2.0
/* Records put together from messages, and messages that lie. */

#include <string.h>

#include <netlink/attr.h>
#include <netlink/msg.h>

#include <linux/perfguard.h>

#include "link/assembler.h"
#include "link/link.h"
#include "tap.h"

enum { SIZE = 64 };

static uint64_t regs[SLICE_NR_REGS] = { [SLICE_REG_RSP] = 0x7000 };
static uint8_t bytes[SIZE];
static const struct perfguard_met met[2] = {
	{ .guard = 3, .depth = 64, .hits = 2, .in_profile = 1 },
	{ .guard = 5, .depth = 16, .hits = 1 },
};

/* What the last record was. */
struct seen {
	uint32_t nr;
	struct record record;
};

static int take(struct record *record, void *arg)
{
	struct seen *seen = arg;

	record_clear(&seen->record);
	seen->record = *record;
	memset(record, 0, sizeof(*record));
	seen->nr++;
	return 0;
}

static void feed(struct assembler *assembler, struct nl_msg *msg)
{
	struct nlmsghdr *header = nlmsg_hdr(msg);

	assembler_feed(assembler, nlmsg_attrdata(header, 0), nlmsg_attrlen(header, 0));
	nlmsg_free(msg);
}

static struct nl_msg *message(uint64_t seq)
{
	struct nl_msg *msg = nlmsg_alloc_simple(16, 0);

	nla_put_u64(msg, PERFGUARD_A_RECORD_SEQ, seq);
	return msg;
}

static void feed_fields(struct assembler *assembler, uint64_t seq, size_t met_size)
{
	struct nl_msg *msg = message(seq);

	nla_put_u32(msg, PERFGUARD_A_RECORD_KIND, PERFGUARD_RECORD_KIND_LATE);
	nla_put_u32(msg, PERFGUARD_A_RECORD_PROFILE_ID, 4);
	nla_put_u32(msg, PERFGUARD_A_RECORD_TYPE_ID, 7);
	nla_put_u32(msg, PERFGUARD_A_RECORD_MARGIN, 21);
	nla_put_u64(msg, PERFGUARD_A_RECORD_CHECK_NS, 900);
	if (met_size)
		nla_put(msg, PERFGUARD_A_RECORD_MET, (int)met_size, met);
	nla_put_flag(msg, PERFGUARD_A_RECORD_IS_DEGRADED);
	feed(assembler, msg);
}

static void feed_stack(struct assembler *assembler, uint64_t seq, uint32_t index, uint32_t tid)
{
	struct nl_msg *msg = message(seq);
	struct nlattr *nest = nla_nest_start(msg, PERFGUARD_A_RECORD_STACK);

	nla_put_u32(msg, PERFGUARD_A_STACK_INDEX, index);
	nla_put_u64(msg, PERFGUARD_A_STACK_AT_NS, 1000 + index);
	nla_put(msg, PERFGUARD_A_STACK_REGS, sizeof(regs), regs);
	nla_put_u32(msg, PERFGUARD_A_STACK_SIZE, SIZE);
	nla_put_u32(msg, PERFGUARD_A_STACK_FULL_SIZE, SIZE);
	if (tid) {
		nla_put_u32(msg, PERFGUARD_A_STACK_TID, tid);
	} else {
		nla_put_u32(msg, PERFGUARD_A_STACK_SYSCALL, 202);
		nla_put_u64(msg, PERFGUARD_A_STACK_LOCK, 0x5000);
		nla_put_u32(msg, PERFGUARD_A_STACK_HOLDER, 77);
	}
	nla_nest_end(msg, nest);
	feed(assembler, msg);
}

static void feed_chunk(struct assembler *assembler, uint64_t seq, uint32_t index,
		       uint32_t offset, uint32_t size)
{
	struct nl_msg *msg = message(seq);
	struct nlattr *nest = nla_nest_start(msg, PERFGUARD_A_RECORD_STACK);

	nla_put_u32(msg, PERFGUARD_A_STACK_INDEX, index);
	nla_put_u32(msg, PERFGUARD_A_STACK_CHUNK_OFFSET, offset);
	nla_put(msg, PERFGUARD_A_STACK_CHUNK, (int)size, bytes + offset);
	nla_nest_end(msg, nest);
	feed(assembler, msg);
}

static void feed_whole(struct assembler *assembler, uint64_t seq)
{
	feed_fields(assembler, seq, sizeof(met));
	for (uint32_t i = 0; i < 3; i++) {
		feed_stack(assembler, seq, i, i == 1 ? 77 : 0);
		feed_chunk(assembler, seq, i, 0, 40);
		feed_chunk(assembler, seq, i, 40, SIZE - 40);
	}
}

/* What is kept of one makes the same once more. */
static void test_kept(struct assembler *assembler, struct seen *seen)
{
	struct seen again = { 0 };
	uint8_t *messages;
	uint32_t size, nr = 0;

	feed_whole(assembler, 5);
	assembler_finish(assembler);
	ok(!seen->record.messages, "messages are not kept unless it is wanted");
	assembler->keeps_messages = true;
	feed_whole(assembler, 6);
	feed_whole(assembler, 7);
	assembler_finish(assembler);
	messages = seen->record.messages;
	size = seen->record.messages_size;
	ok(messages && !link_record_decode(messages, size, take, &again) && again.nr == 1 &&
	   again.record.seq == 7 && again.record.nr_stacks == 3 && again.record.type_id == 7 &&
	   again.record.nr_met == 2 && !memcmp(again.record.met, met, sizeof(met)) &&
	   !memcmp(again.record.stacks[2].bytes, bytes, SIZE),
	   "what was kept of a record is that record");
	for (uint32_t cut = 0; cut < size; cut++) {
		uint8_t *part = malloc(cut + 1);

		memcpy(part, messages, cut);
		nr += link_record_decode(part, cut, take, &again) != 0;
		free(part);
	}
	ok(!nr, "cut anywhere it is less, and nothing else");
	record_clear(&again.record);
}

static void test_whole(struct assembler *assembler, struct seen *seen)
{
	const struct slice *stacks;

	feed_whole(assembler, 1);
	assembler_finish(assembler);
	stacks = seen->record.stacks;
	ok(seen->nr == 1 && seen->record.nr_stacks == 3 && !assembler->skipped,
	   "a record with three stacks");
	ok(seen->record.profile_id == 4 && seen->record.type_id == 7 &&
	   seen->record.margin == 21 && seen->record.check_ns == 900 &&
	   seen->record.is_degraded && !seen->record.is_novel,
	   "what is known of its type");
	ok(seen->record.nr_met == 2 &&
	   !memcmp(seen->record.met, met, sizeof(met)), "the contexts it met");
	if (seen->record.nr_stacks != 3)
		exit(1);
	for (uint32_t i = 0; i < 3; i++)
		ok(stacks[i].size == SIZE && stacks[i].at_ns == 1000 + i &&
		   !memcmp(stacks[i].bytes, bytes, SIZE), "stack %u is whole", i);
	ok(stacks[0].syscall == 202 && stacks[0].lock == 0x5000 &&
	   stacks[0].holder == 77 && !stacks[0].tid, "what the thread waits for");
	ok(stacks[1].tid == 77 && stacks[1].syscall == SLICE_NO_SYSCALL &&
	   !stacks[1].lock && !stacks[1].holder, "the holder's stack, in no call");
}

static void test_lies(struct assembler *assembler, struct seen *seen)
{
	feed_fields(assembler, 2, sizeof(met) - 1);
	assembler_finish(assembler);
	ok(seen->record.seq == 2 && !seen->record.nr_met && assembler->skipped == 1,
	   "a context cut off in the middle is left out");

	assembler->skipped = 0;
	feed_fields(assembler, 3, 0);
	feed_stack(assembler, 3, 0, 0);
	feed_chunk(assembler, 3, 0, 0, 40);
	feed_stack(assembler, 3, 2, 0);
	feed_chunk(assembler, 3, 1, 0, 40);
	feed_chunk(assembler, 3, 0, 32, 32);
	assembler_finish(assembler);
	ok(seen->record.nr_stacks == 1 && seen->record.stacks[0].size == 40 &&
	   assembler->skipped == 3,
	   "a stack out of turn and chunks of others are left out");

	feed_fields(assembler, 4, 0);
	for (uint32_t i = 0; i < 200; i++)
		feed_stack(assembler, 4, i, 0);
	assembler_finish(assembler);
	ok(seen->record.nr_stacks < 200, "stacks are bounded");
	feed_chunk(assembler, 5, 0, 0, 40);
	assembler_finish(assembler);
	ok(seen->nr == 4, "a stack without a record is none");
}

int main(void)
{
	struct seen seen = { 0 };
	struct assembler assembler = { .fn = take, .arg = &seen };

	plan(15);
	for (uint32_t i = 0; i < SIZE; i++)
		bytes[i] = (uint8_t)(i * 7);
	test_whole(&assembler, &seen);
	test_lies(&assembler, &seen);
	test_kept(&assembler, &seen);
	record_clear(&seen.record);
	return tap_status();
}
