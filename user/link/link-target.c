// SPDX-License-Identifier: GPL-2.0

#include "link/netlink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct new_target {
	uint32_t id;
	uint32_t processes;
};

static struct nla_policy target_policy[PERFGUARD_A_TARGET_MAX + 1] = {
	[PERFGUARD_A_TARGET_ID] = { .type = NLA_U32 },
	[PERFGUARD_A_TARGET_PID] = { .type = NLA_U32 },
	[PERFGUARD_A_TARGET_FLAGS] = { .type = NLA_U32 },
	[PERFGUARD_A_TARGET_THRESHOLD_NS] = { .type = NLA_U64 },
	[PERFGUARD_A_TARGET_PATH] = { .type = NLA_STRING },
	[PERFGUARD_A_TARGET_DEV] = { .type = NLA_U32 },
	[PERFGUARD_A_TARGET_INODE] = { .type = NLA_U64 },
	[PERFGUARD_A_TARGET_PROCESSES] = { .type = NLA_U32 },
	[PERFGUARD_A_TARGET_THREADS] = { .type = NLA_U32 },
	[PERFGUARD_A_TARGET_UNITS] = { .type = NLA_U64 },
	[PERFGUARD_A_TARGET_LATE] = { .type = NLA_U64 },
	[PERFGUARD_A_TARGET_WAITS] = { .type = NLA_U64 },
	[PERFGUARD_A_TARGET_SUPPRESSED] = { .type = NLA_U64 },
	[PERFGUARD_A_TARGET_UNTRACKED] = { .type = NLA_U64 },
	[PERFGUARD_A_TARGET_SITES] = { .type = NLA_U32 },
};

static struct nla_policy process_policy[PERFGUARD_A_PROCESS_MAX + 1] = {
	[PERFGUARD_A_PROCESS_PID] = { .type = NLA_U32 },
	[PERFGUARD_A_PROCESS_TARGET_ID] = { .type = NLA_U32 },
	[PERFGUARD_A_PROCESS_IMAGE_ID] = { .type = NLA_U32 },
	[PERFGUARD_A_PROCESS_COMM] = { .type = NLA_STRING },
};

static int parse_new_target(struct nlattr *attrs, int len, void *arg)
{
	struct nlattr *tb[PERFGUARD_A_TARGET_MAX + 1];
	struct new_target *target = arg;

	if (nla_parse(tb, PERFGUARD_A_TARGET_MAX, attrs, len, target_policy))
		return -EBADMSG;
	target->id = netlink_u32(tb[PERFGUARD_A_TARGET_ID]);
	target->processes = netlink_u32(tb[PERFGUARD_A_TARGET_PROCESSES]);
	return 0;
}

int link_target_new(struct link *link, int exe_fd, uint32_t pid,
		    uint32_t flags, uint64_t threshold_ns, uint32_t *ret_id,
		    uint32_t *ret_processes)
{
	struct nl_msg *msg = netlink_request(link, PERFGUARD_CMD_TARGET_NEW, 0);
	struct new_target target = { 0 };
	int ret;

	if (!msg)
		return -ENOMEM;
	if (exe_fd >= 0)
		ret = nla_put_u32(msg, PERFGUARD_A_TARGET_EXE_FD,
				  (uint32_t)exe_fd);
	else
		ret = nla_put_u32(msg, PERFGUARD_A_TARGET_PID, pid);
	if (ret || nla_put_u32(msg, PERFGUARD_A_TARGET_FLAGS, flags) ||
	    nla_put_u64(msg, PERFGUARD_A_TARGET_THRESHOLD_NS, threshold_ns))
		return netlink_overflow(link, msg);
	ret = netlink_exchange(link, msg, parse_new_target, &target);
	if (ret)
		return ret;
	if (!target.id)
		return netlink_error(link, -EBADMSG,
				     "the module gave the target no id");
	*ret_id = target.id;
	*ret_processes = target.processes;
	return 0;
}

int link_target_set_threshold(struct link *link, uint32_t id,
			      uint64_t threshold_ns)
{
	struct nl_msg *msg = netlink_request(link, PERFGUARD_CMD_TARGET_SET, 0);

	if (!msg)
		return -ENOMEM;
	if (nla_put_u32(msg, PERFGUARD_A_TARGET_ID, id) ||
	    nla_put_u64(msg, PERFGUARD_A_TARGET_THRESHOLD_NS, threshold_ns))
		return netlink_overflow(link, msg);
	return netlink_exchange(link, msg, NULL, NULL);
}

int link_target_set_flags(struct link *link, uint32_t id, uint32_t flags)
{
	struct nl_msg *msg = netlink_request(link, PERFGUARD_CMD_TARGET_SET, 0);

	if (!msg)
		return -ENOMEM;
	if (nla_put_u32(msg, PERFGUARD_A_TARGET_ID, id) ||
	    nla_put_u32(msg, PERFGUARD_A_TARGET_FLAGS, flags))
		return netlink_overflow(link, msg);
	return netlink_exchange(link, msg, NULL, NULL);
}

int link_target_del(struct link *link, uint32_t id)
{
	struct nl_msg *msg = netlink_request(link, PERFGUARD_CMD_TARGET_DEL, 0);

	if (!msg)
		return -ENOMEM;
	if (id && nla_put_u32(msg, PERFGUARD_A_TARGET_ID, id))
		return netlink_overflow(link, msg);
	return netlink_exchange(link, msg, NULL, NULL);
}

static struct nl_msg *request_targets(struct link *link, uint32_t id)
{
	(void)id;
	return netlink_request(link, PERFGUARD_CMD_TARGET_GET, NLM_F_DUMP);
}

static int parse_target(struct nlattr *attrs, int len, void *element)
{
	struct nlattr *tb[PERFGUARD_A_TARGET_MAX + 1];
	struct target *target = element;

	if (nla_parse(tb, PERFGUARD_A_TARGET_MAX, attrs, len, target_policy))
		return -EBADMSG;
	target->path = strdup(tb[PERFGUARD_A_TARGET_PATH] ?
				      nla_get_string(tb[PERFGUARD_A_TARGET_PATH]) :
				      "?");
	if (!target->path)
		return -ENOMEM;
	target->id = netlink_u32(tb[PERFGUARD_A_TARGET_ID]);
	target->pid = netlink_u32(tb[PERFGUARD_A_TARGET_PID]);
	target->flags = netlink_u32(tb[PERFGUARD_A_TARGET_FLAGS]);
	target->threshold_ns = netlink_u64(tb[PERFGUARD_A_TARGET_THRESHOLD_NS]);
	target->dev = netlink_u32(tb[PERFGUARD_A_TARGET_DEV]);
	target->inode = netlink_u64(tb[PERFGUARD_A_TARGET_INODE]);
	target->processes = netlink_u32(tb[PERFGUARD_A_TARGET_PROCESSES]);
	target->threads = netlink_u32(tb[PERFGUARD_A_TARGET_THREADS]);
	target->units = netlink_u64(tb[PERFGUARD_A_TARGET_UNITS]);
	target->late = netlink_u64(tb[PERFGUARD_A_TARGET_LATE]);
	target->waits = netlink_u64(tb[PERFGUARD_A_TARGET_WAITS]);
	target->suppressed = netlink_u64(tb[PERFGUARD_A_TARGET_SUPPRESSED]);
	target->untracked = netlink_u64(tb[PERFGUARD_A_TARGET_UNTRACKED]);
	target->sites = netlink_u32(tb[PERFGUARD_A_TARGET_SITES]);
	return 0;
}

static void clear_target(void *element)
{
	struct target *target = element;

	free(target->path);
	target->path = NULL;
}

int link_targets(struct link *link, struct target **ret, uint32_t *ret_nr)
{
	struct netlink_array array = {
		.size = sizeof(struct target),
		.parse = parse_target,
		.clear = clear_target,
	};
	int error = netlink_dump(link, request_targets, 0, &array);

	*ret = array.elements;
	*ret_nr = array.nr;
	return error;
}

void link_targets_free(struct target *targets, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		free(targets[i].path);
	free(targets);
}

static struct nl_msg *request_processes(struct link *link, uint32_t id)
{
	struct nl_msg *msg = netlink_request(link, PERFGUARD_CMD_PROCESS_GET,
					     NLM_F_DUMP);

	if (msg && id && nla_put_u32(msg, PERFGUARD_A_PROCESS_TARGET_ID, id)) {
		netlink_overflow(link, msg);
		return NULL;
	}
	return msg;
}

static int parse_process(struct nlattr *attrs, int len, void *element)
{
	struct nlattr *tb[PERFGUARD_A_PROCESS_MAX + 1];
	struct process *process = element;

	if (nla_parse(tb, PERFGUARD_A_PROCESS_MAX, attrs, len, process_policy))
		return -EBADMSG;
	process->pid = netlink_u32(tb[PERFGUARD_A_PROCESS_PID]);
	process->target_id = netlink_u32(tb[PERFGUARD_A_PROCESS_TARGET_ID]);
	process->image_id = netlink_u32(tb[PERFGUARD_A_PROCESS_IMAGE_ID]);
	netlink_string(tb[PERFGUARD_A_PROCESS_COMM], process->comm,
		       sizeof(process->comm));
	return 0;
}

int link_processes(struct link *link, uint32_t target_id, struct process **ret,
		   uint32_t *ret_nr)
{
	struct netlink_array array = {
		.size = sizeof(struct process),
		.parse = parse_process,
	};
	int error = netlink_dump(link, request_processes, target_id, &array);

	*ret = array.elements;
	*ret_nr = array.nr;
	return error;
}
