// SPDX-License-Identifier: GPL-2.0

#include "link/netlink.h"

#include <errno.h>
#include <stdlib.h>

/* Netlink attributes of a wait point, with their headers. */
enum { WAIT_POINT_BYTES = 64 };

static void put_wait_point(struct link *link, const struct context *context)
{
	struct nlattr *nest;

	if (!link->request)
		return;
	nest = nla_nest_start(link->request, PERFGUARD_A_LOOP_WAIT_POINT);
	netlink_put_u32(link, PERFGUARD_A_WAIT_POINT_LOOP_ID, context->loop_id);
	netlink_put_u32(link, PERFGUARD_A_WAIT_POINT_SYSCALL, context->syscall);
	netlink_put_u64(link, PERFGUARD_A_WAIT_POINT_RETURN_ADDRESS, context->return_address);
	netlink_put_u32(link, PERFGUARD_A_WAIT_POINT_DISTANCE, context->distance);
	if (link->request && nest)
		nla_nest_end(link->request, nest);
}

int link_loop_set(struct link *link, uint32_t image_id,
		  const struct context *contexts, uint32_t nr)
{
	netlink_begin(link, PERFGUARD_CMD_LOOP_SET, 0, (size_t)nr * WAIT_POINT_BYTES);
	netlink_put_u32(link, PERFGUARD_A_LOOP_IMAGE_ID, image_id);
	for (uint32_t i = 0; i < nr; i++)
		put_wait_point(link, &contexts[i]);
	return netlink_exchange(link, NULL, NULL);
}

static int parse_loop(struct nlattr *attrs, int len, void *element)
{
	struct loop *loop = element;
	struct nlattr *attr;
	int left, ret;

	loop->has_block_io = nla_find(attrs, len, PERFGUARD_A_LOOP_BLOCK_IO_NS) != NULL;
	loop->contexts = calloc(decode_count(attrs, len, PERFGUARD_A_LOOP_WAIT_POINT) + 1u,
				sizeof(*loop->contexts));
	if (!loop->contexts)
		return -ENOMEM;
	nla_for_each_attr(attr, attrs, len, left) {
		if (nla_type(attr) != PERFGUARD_A_LOOP_WAIT_POINT)
			continue;
		ret = decode_nested(link_wait_point_fields, attr,
					    &loop->contexts[loop->nr_contexts++]);
		if (ret)
			return ret;
	}
	return 0;
}

static void clear_loop(void *element)
{
	loop_clear(element);
}

int link_loops(struct link *link, uint32_t image_id, struct loop **ret,
	       uint32_t *ret_nr)
{
	const struct netlink_dump dump = {
		.command = PERFGUARD_CMD_LOOP_GET,
		.attr = PERFGUARD_A_LOOP_IMAGE_ID,
		.id = image_id,
		.size = sizeof(**ret),
		.fields = link_loop_fields,
		.parse = parse_loop,
		.clear = clear_loop,
	};

	return netlink_dump(link, &dump, ret, ret_nr);
}

void link_loops_free(struct loop *loops, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		loop_clear(&loops[i]);
	free(loops);
}
