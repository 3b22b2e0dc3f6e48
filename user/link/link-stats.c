// SPDX-License-Identifier: GPL-2.0

#include "link/netlink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int parse_hooks(struct nlattr *attrs, int len, struct stats *stats)
{
	struct nlattr *attr;
	int left;

	free(stats->hooks);
	stats->nr_hooks = 0;
	stats->hooks = calloc(decode_count(attrs, len, PERFGUARD_A_STATS_HOOK) + 1u,
			      sizeof(*stats->hooks));
	if (!stats->hooks)
		return -ENOMEM;
	nla_for_each_attr(attr, attrs, len, left) {
		struct hook hook = { 0 };

		if (nla_type(attr) == PERFGUARD_A_STATS_HOOK &&
		    !decode_nested(link_hook_fields, attr, &hook))
			stats->hooks[stats->nr_hooks++] = hook;
	}
	return 0;
}

static int parse_stats(struct nlattr *attrs, int len, void *arg)
{
	const struct nlattr *alive = nla_find(attrs, len, PERFGUARD_A_STATS_ALIVE);
	struct stats *stats = arg;
	int ret = decode_attrs(link_stats_fields, attrs, len, stats);

	/* A module that does not send it may be alive. */
	stats->is_alive = !alive || decode_u32(alive);
	return ret ? ret : parse_hooks(attrs, len, stats);
}

int link_stats(struct link *link, struct stats *ret)
{
	int error = -EAGAIN;

	for (int i = 0; i < NETLINK_TRIES && error == -EAGAIN; i++) {
		memset(ret, 0, sizeof(*ret));
		netlink_begin(link, PERFGUARD_CMD_STATS_GET, 0, 0);
		error = netlink_exchange(link, parse_stats, ret);
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
