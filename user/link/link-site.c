// SPDX-License-Identifier: GPL-2.0

#include "link/netlink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct refusals {
	struct perfguard_site_refusal *elements;
	uint32_t nr;
};

static int parse_refusals(struct nlattr *attrs, int len, void *arg)
{
	const struct nlattr *refused = nla_find(attrs, len, PERFGUARD_A_SITE_REFUSED);
	struct refusals *refusals = arg;
	uint32_t nr = refused ? (uint32_t)nla_len(refused) / sizeof(*refusals->elements) : 0;

	if (!nr)
		return 0;
	if (array_resize(refusals->elements, refusals->nr + (size_t)nr))
		return -ENOMEM;
	memcpy(refusals->elements + refusals->nr, nla_data(refused),
	       nr * sizeof(*refusals->elements));
	refusals->nr += nr;
	return 0;
}

/* As many as fit into one request. */
static int add_some(struct link *link, uint32_t target_id, int fd,
		    uint32_t flags, const struct perfguard_site *sites,
		    uint32_t nr, struct refusals *refusals)
{
	netlink_begin(link, PERFGUARD_CMD_SITE_ADD, 0, nr * sizeof(*sites));
	netlink_put_u32(link, PERFGUARD_A_SITE_TARGET_ID, target_id);
	netlink_put_u32(link, PERFGUARD_A_SITE_FD, (uint32_t)fd);
	netlink_put_u32(link, PERFGUARD_A_SITE_FLAGS, flags);
	netlink_put(link, PERFGUARD_A_SITE_SITES, nr * sizeof(*sites), sites);
	return netlink_exchange(link, parse_refusals, refusals);
}

int link_sites_add(struct link *link, uint32_t target_id, int fd,
		   uint32_t flags, const struct perfguard_site *sites,
		   uint32_t nr, struct perfguard_site_refusal **ret_refused,
		   uint32_t *ret_nr_refused)
{
	struct refusals refusals = { 0 };
	int ret = 0;

	while (nr && !ret) {
		uint32_t some = nr < PERFGUARD_SITES_PER_REQUEST ?
					nr :
					PERFGUARD_SITES_PER_REQUEST;

		ret = add_some(link, target_id, fd, flags, sites, some,
			       &refusals);
		sites += some;
		nr -= some;
	}
	*ret_refused = refusals.elements;
	*ret_nr_refused = refusals.nr;
	return ret;
}

int link_sites_del(struct link *link, uint32_t target_id)
{
	netlink_begin(link, PERFGUARD_CMD_SITE_DEL, 0, 0);
	netlink_put_u32(link, PERFGUARD_A_SITE_TARGET_ID, target_id);
	return netlink_exchange(link, NULL, NULL);
}
