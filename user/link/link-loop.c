// SPDX-License-Identifier: GPL-2.0

#include "link/netlink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct nla_policy loop_policy[PERFGUARD_A_LOOP_MAX + 1] = {
	[PERFGUARD_A_LOOP_IMAGE_ID] = { .type = NLA_U32 },
	[PERFGUARD_A_LOOP_ID] = { .type = NLA_U32 },
	[PERFGUARD_A_LOOP_WAIT_POINT] = { .type = NLA_NESTED },
	[PERFGUARD_A_LOOP_THREADS] = { .type = NLA_U32 },
	[PERFGUARD_A_LOOP_UNITS] = { .type = NLA_U64 },
	[PERFGUARD_A_LOOP_LATE] = { .type = NLA_U64 },
	[PERFGUARD_A_LOOP_ELAPSED_NS] = { .type = NLA_U64 },
	[PERFGUARD_A_LOOP_CPU_NS] = { .type = NLA_U64 },
	[PERFGUARD_A_LOOP_RUNQUEUE_NS] = { .type = NLA_U64 },
	[PERFGUARD_A_LOOP_BLOCK_IO_NS] = { .type = NLA_U64 },
	[PERFGUARD_A_LOOP_MIN_FAULTS] = { .type = NLA_U64 },
	[PERFGUARD_A_LOOP_MAJ_FAULTS] = { .type = NLA_U64 },
	[PERFGUARD_A_LOOP_MAX_NS] = { .type = NLA_U64 },
	[PERFGUARD_A_LOOP_HIST] = { .type = NLA_UNSPEC,
				    .minlen = PERFGUARD_HIST_BUCKETS * 8 },
};

static struct nla_policy context_policy[PERFGUARD_A_WAIT_POINT_MAX + 1] = {
	[PERFGUARD_A_WAIT_POINT_LOOP_ID] = { .type = NLA_U32 },
	[PERFGUARD_A_WAIT_POINT_SYSCALL] = { .type = NLA_U32 },
	[PERFGUARD_A_WAIT_POINT_RETURN_ADDRESS] = { .type = NLA_U64 },
	[PERFGUARD_A_WAIT_POINT_DISTANCE] = { .type = NLA_U32 },
};

static int put_context(struct nl_msg *msg, const struct context *context)
{
	struct nlattr *nest = nla_nest_start(msg, PERFGUARD_A_LOOP_WAIT_POINT);

	if (!nest ||
	    nla_put_u32(msg, PERFGUARD_A_WAIT_POINT_LOOP_ID, context->loop_id) ||
	    nla_put_u32(msg, PERFGUARD_A_WAIT_POINT_SYSCALL, context->syscall) ||
	    nla_put_u64(msg, PERFGUARD_A_WAIT_POINT_RETURN_ADDRESS,
			context->return_address) ||
	    nla_put_u32(msg, PERFGUARD_A_WAIT_POINT_DISTANCE, context->distance))
		return -EMSGSIZE;
	nla_nest_end(msg, nest);
	return 0;
}

int link_loop_set(struct link *link, uint32_t image_id,
		  const struct context *contexts, uint32_t nr)
{
	struct nl_msg *msg = netlink_request(link, PERFGUARD_CMD_LOOP_SET, 0);

	if (!msg)
		return -ENOMEM;
	/* nlmsg_alloc() has room for a page, which cannot be asked for again. */
	if ((nr && nlmsg_expand(msg, 4096 + (size_t)nr * 64)) ||
	    nla_put_u32(msg, PERFGUARD_A_LOOP_IMAGE_ID, image_id))
		return netlink_overflow(link, msg);
	for (uint32_t i = 0; i < nr; i++)
		if (put_context(msg, &contexts[i]))
			return netlink_overflow(link, msg);
	return netlink_exchange(link, msg, NULL, NULL);
}

static struct nl_msg *request_loops(struct link *link, uint32_t id)
{
	struct nl_msg *msg = netlink_request(link, PERFGUARD_CMD_LOOP_GET,
					     NLM_F_DUMP);

	if (msg && id && nla_put_u32(msg, PERFGUARD_A_LOOP_IMAGE_ID, id)) {
		netlink_overflow(link, msg);
		return NULL;
	}
	return msg;
}

static int parse_contexts(struct nlattr *attrs, int len, struct loop *loop)
{
	struct nlattr *tb[PERFGUARD_A_WAIT_POINT_MAX + 1];
	struct context *context;
	struct nlattr *attr;
	uint32_t nr = 0;
	int left;

	nla_for_each_attr(attr, attrs, len, left)
		nr += nla_type(attr) == PERFGUARD_A_LOOP_WAIT_POINT;
	loop->contexts = calloc(nr ? nr : 1, sizeof(*loop->contexts));
	if (!loop->contexts)
		return -ENOMEM;
	nla_for_each_attr(attr, attrs, len, left) {
		if (nla_type(attr) != PERFGUARD_A_LOOP_WAIT_POINT)
			continue;
		if (nla_parse_nested(tb, PERFGUARD_A_WAIT_POINT_MAX, attr,
				     context_policy))
			return -EBADMSG;
		context = &loop->contexts[loop->nr_contexts++];
		context->loop_id = netlink_u32(tb[PERFGUARD_A_WAIT_POINT_LOOP_ID]);
		context->syscall = netlink_u32(tb[PERFGUARD_A_WAIT_POINT_SYSCALL]);
		context->distance =
			netlink_u32(tb[PERFGUARD_A_WAIT_POINT_DISTANCE]);
		context->return_address =
			netlink_u64(tb[PERFGUARD_A_WAIT_POINT_RETURN_ADDRESS]);
	}
	return 0;
}

static int parse_loop(struct nlattr *attrs, int len, void *element)
{
	struct nlattr *tb[PERFGUARD_A_LOOP_MAX + 1];
	struct loop *loop = element;

	if (nla_parse(tb, PERFGUARD_A_LOOP_MAX, attrs, len, loop_policy))
		return -EBADMSG;
	loop->image_id = netlink_u32(tb[PERFGUARD_A_LOOP_IMAGE_ID]);
	loop->id = netlink_u32(tb[PERFGUARD_A_LOOP_ID]);
	loop->threads = netlink_u32(tb[PERFGUARD_A_LOOP_THREADS]);
	loop->units = netlink_u64(tb[PERFGUARD_A_LOOP_UNITS]);
	loop->late = netlink_u64(tb[PERFGUARD_A_LOOP_LATE]);
	loop->elapsed_ns = netlink_u64(tb[PERFGUARD_A_LOOP_ELAPSED_NS]);
	loop->cpu_ns = netlink_u64(tb[PERFGUARD_A_LOOP_CPU_NS]);
	loop->runqueue_ns = netlink_u64(tb[PERFGUARD_A_LOOP_RUNQUEUE_NS]);
	loop->has_block_io = tb[PERFGUARD_A_LOOP_BLOCK_IO_NS] != NULL;
	loop->block_io_ns = netlink_u64(tb[PERFGUARD_A_LOOP_BLOCK_IO_NS]);
	loop->min_faults = netlink_u64(tb[PERFGUARD_A_LOOP_MIN_FAULTS]);
	loop->maj_faults = netlink_u64(tb[PERFGUARD_A_LOOP_MAJ_FAULTS]);
	loop->max_ns = netlink_u64(tb[PERFGUARD_A_LOOP_MAX_NS]);
	if (tb[PERFGUARD_A_LOOP_HIST])
		memcpy(loop->hist, nla_data(tb[PERFGUARD_A_LOOP_HIST]),
		       sizeof(loop->hist));
	return parse_contexts(attrs, len, loop);
}

static void clear_loop(void *element)
{
	loop_clear(element);
}

int link_loops(struct link *link, uint32_t image_id, struct loop **ret,
	       uint32_t *ret_nr)
{
	struct netlink_array array = {
		.size = sizeof(struct loop),
		.parse = parse_loop,
		.clear = clear_loop,
	};
	int error = netlink_dump(link, request_loops, image_id, &array);

	*ret = array.elements;
	*ret_nr = array.nr;
	return error;
}

void link_loops_free(struct loop *loops, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		loop_clear(&loops[i]);
	free(loops);
}
