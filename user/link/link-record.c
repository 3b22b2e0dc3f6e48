// SPDX-License-Identifier: GPL-2.0

#include "link/netlink.h"

#include <errno.h>
#include <string.h>

#include "base/time.h"
#include "link/assembler.h"

struct reading {
	uint64_t next; /* the first record that was not given yet */
	link_record_fn fn;
	void *arg;
};

static int give_record(struct record *record, void *arg)
{
	struct reading *reading = arg;

	if (record->seq >= reading->next)
		reading->next = record->seq + 1;
	record->at_ns = time_now_ns() - (time_wall_ns() - record->time_ns);
	return reading->fn(record, reading->arg);
}

static int feed(struct nlattr *attrs, int len, void *arg)
{
	return assembler_feed(arg, attrs, len);
}

/*
 * A dump that was interrupted continues after the last complete record, so that
 * none is passed on twice.
 */
static int read_records(struct link *link, uint8_t command, uint64_t seq,
			link_record_fn fn, void *arg)
{
	struct reading reading = { .next = seq, .fn = fn, .arg = arg };
	struct assembler assembler = {
		.fn = give_record, .arg = &reading, .keeps_messages = link->keeps_messages,
	};
	int ret = -EAGAIN;

	for (int i = 0; i < NETLINK_TRIES && ret == -EAGAIN; i++) {
		netlink_begin(link, command, NLM_F_DUMP, 0);
		netlink_put_u64(link, PERFGUARD_A_RECORD_SEQ, reading.next);
		ret = netlink_exchange(link, feed, &assembler);
		if (ret)
			assembler_reset(&assembler);
		else
			ret = assembler_finish(&assembler);
	}
	return ret;
}

int link_alerts(struct link *link, uint64_t seq, link_record_fn fn, void *arg)
{
	return read_records(link, PERFGUARD_CMD_ALERT_GET, seq, fn, arg);
}

void link_keep_messages(struct link *link)
{
	link->keeps_messages = true;
}

int link_record_decode(uint8_t *messages, uint32_t size, link_record_fn fn, void *arg)
{
	struct assembler assembler = { .fn = fn, .arg = arg };
	uint32_t at = 0, len;
	int ret = 0;

	while (!ret && at + sizeof(len) <= size) {
		memcpy(&len, messages + at, sizeof(len));
		at += (uint32_t)sizeof(len);
		if (len > size - at)
			break;
		ret = assembler_feed(&assembler, (struct nlattr *)(messages + at), (int)len);
		at += NLA_ALIGN(len);
	}
	if (!ret)
		ret = assembler_finish(&assembler);
	assembler_reset(&assembler);
	return ret;
}

int link_waits(struct link *link, uint64_t seq, link_record_fn fn, void *arg)
{
	return read_records(link, PERFGUARD_CMD_WAIT_GET, seq, fn, arg);
}
