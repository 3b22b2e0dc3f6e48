// SPDX-License-Identifier: GPL-2.0

#include "link/netlink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct nla_policy stats_policy[PERFGUARD_A_STATS_MAX + 1] = {
	[PERFGUARD_A_STATS_TARGETS] = { .type = NLA_U32 },
	[PERFGUARD_A_STATS_THREADS] = { .type = NLA_U32 },
	[PERFGUARD_A_STATS_ALIVE] = { .type = NLA_U32 },
	[PERFGUARD_A_STATS_NEXT_ALERT] = { .type = NLA_U64 },
	[PERFGUARD_A_STATS_NEXT_WAIT] = { .type = NLA_U64 },
	[PERFGUARD_A_STATS_LOST_MEMORY] = { .type = NLA_U64 },
	[PERFGUARD_A_STATS_LOST_OVERWRITTEN] = { .type = NLA_U64 },
	[PERFGUARD_A_STATS_TORN_STACKS] = { .type = NLA_U64 },
	[PERFGUARD_A_STATS_RING_BYTES] = { .type = NLA_U32 },
	[PERFGUARD_A_STATS_SITES] = { .type = NLA_U32 },
	[PERFGUARD_A_STATS_STREAM_LOST] = { .type = NLA_U64 },
	[PERFGUARD_A_STATS_CROWDED_STACKS] = { .type = NLA_U64 },
	[PERFGUARD_A_STATS_HOOK] = { .type = NLA_NESTED },
};

static struct nla_policy hook_policy[PERFGUARD_A_HOOK_MAX + 1] = {
	[PERFGUARD_A_HOOK_SYSCALL] = { .type = NLA_U32 },
	[PERFGUARD_A_HOOK_NAME] = { .type = NLA_STRING },
	[PERFGUARD_A_HOOK_IS_DIRECT] = { .type = NLA_FLAG },
	[PERFGUARD_A_HOOK_MISSED] = { .type = NLA_U64 },
};

static int parse_hook(struct nlattr *attr, struct hook *hook)
{
	struct nlattr *tb[PERFGUARD_A_HOOK_MAX + 1];

	if (nla_parse_nested(tb, PERFGUARD_A_HOOK_MAX, attr, hook_policy))
		return -EBADMSG;
	hook->syscall = netlink_u32(tb[PERFGUARD_A_HOOK_SYSCALL]);
	hook->is_direct = tb[PERFGUARD_A_HOOK_IS_DIRECT] != NULL;
	hook->missed = netlink_u64(tb[PERFGUARD_A_HOOK_MISSED]);
	netlink_string(tb[PERFGUARD_A_HOOK_NAME], hook->name,
		       sizeof(hook->name));
	return 0;
}

static int parse_hooks(struct nlattr *attrs, int len, struct stats *stats)
{
	struct nlattr *attr;
	uint32_t nr = 0;
	int left;

	nla_for_each_attr(attr, attrs, len, left)
		nr += nla_type(attr) == PERFGUARD_A_STATS_HOOK;
	free(stats->hooks);
	stats->nr_hooks = 0;
	stats->hooks = calloc(nr ? nr : 1, sizeof(*stats->hooks));
	if (!stats->hooks)
		return -ENOMEM;
	nla_for_each_attr(attr, attrs, len, left) {
		if (nla_type(attr) != PERFGUARD_A_STATS_HOOK)
			continue;
		if (!parse_hook(attr, &stats->hooks[stats->nr_hooks]))
			stats->nr_hooks++;
	}
	return 0;
}

static int parse_stats(struct nlattr *attrs, int len, void *arg)
{
	struct nlattr *tb[PERFGUARD_A_STATS_MAX + 1];
	struct stats *stats = arg;

	if (nla_parse(tb, PERFGUARD_A_STATS_MAX, attrs, len, stats_policy))
		return -EBADMSG;
	stats->targets = netlink_u32(tb[PERFGUARD_A_STATS_TARGETS]);
	stats->threads = netlink_u32(tb[PERFGUARD_A_STATS_THREADS]);
	/* A module that does not tell is not known to be dead. */
	stats->is_alive = !tb[PERFGUARD_A_STATS_ALIVE] ||
			  netlink_u32(tb[PERFGUARD_A_STATS_ALIVE]);
	stats->next_alert = netlink_u64(tb[PERFGUARD_A_STATS_NEXT_ALERT]);
	stats->next_wait = netlink_u64(tb[PERFGUARD_A_STATS_NEXT_WAIT]);
	stats->lost_memory = netlink_u64(tb[PERFGUARD_A_STATS_LOST_MEMORY]);
	stats->lost_overwritten =
		netlink_u64(tb[PERFGUARD_A_STATS_LOST_OVERWRITTEN]);
	stats->torn_stacks = netlink_u64(tb[PERFGUARD_A_STATS_TORN_STACKS]);
	stats->ring_bytes = netlink_u32(tb[PERFGUARD_A_STATS_RING_BYTES]);
	stats->sites = netlink_u32(tb[PERFGUARD_A_STATS_SITES]);
	stats->stream_lost = netlink_u64(tb[PERFGUARD_A_STATS_STREAM_LOST]);
	stats->crowded_stacks =
		netlink_u64(tb[PERFGUARD_A_STATS_CROWDED_STACKS]);
	return parse_hooks(attrs, len, stats);
}

int link_stats(struct link *link, struct stats *ret)
{
	int error = -EAGAIN;

	for (int i = 0; i < NETLINK_TRIES && error == -EAGAIN; i++) {
		struct nl_msg *msg = netlink_request(link, PERFGUARD_CMD_STATS_GET, 0);

		memset(ret, 0, sizeof(*ret));
		if (!msg)
			return -ENOMEM;
		error = netlink_exchange(link, msg, parse_stats, ret);
		if (error)
			link_stats_clear(ret);
	}
	return error;
}

void link_stats_clear(struct stats *stats)
{
	free(stats->hooks);
	stats->hooks = NULL;
	stats->nr_hooks = 0;
}
