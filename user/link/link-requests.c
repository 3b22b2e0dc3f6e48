// SPDX-License-Identifier: GPL-2.0

#include "link/netlink.h"

#include <errno.h>
#include <stdlib.h>

static int parse_requests(struct nlattr *attrs, int len, void *element)
{
	struct requests *requests = element;
	struct nlattr *attr;
	int left, ret;

	nla_for_each_attr(attr, attrs, len, left) {
		if (nla_type(attr) != PERFGUARD_A_REQUEST_SLOW)
			continue;
		if (requests->nr_slow == REQUESTS_SLOW)
			return -EBADMSG;
		ret = decode_nested(link_slow_request_fields, attr,
				    &requests->slow[requests->nr_slow++]);
		if (ret)
			return ret;
	}
	return 0;
}

int link_requests(struct link *link, uint32_t target_id, struct requests *ret)
{
	const struct netlink_dump dump = {
		.command = PERFGUARD_CMD_REQUEST_GET,
		.attr = PERFGUARD_A_REQUEST_TARGET_ID,
		.id = target_id,
		.size = sizeof(*ret),
		.fields = link_request_fields,
		.parse = parse_requests,
	};
	struct requests *all;
	uint32_t nr;
	int error = netlink_dump(link, &dump, &all, &nr);

	if (error)
		return error;
	if (nr)
		*ret = all[0];
	free(all);
	return nr ? 0 : -ENOENT;
}
