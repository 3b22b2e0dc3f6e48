// SPDX-License-Identifier: GPL-2.0

#include "link/netlink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void clear_target(void *element)
{
	struct target *target = element;

	free(target->path);
	free(target->cgroup);
	free(target->scope_args);
	target->path = NULL;
	target->cgroup = NULL;
	target->scope_args = NULL;
}

int link_target_new(struct link *link, int exe_fd, uint32_t pid, const struct armed_scope *scope,
		    uint32_t flags, uint64_t threshold_ns, uint32_t *ret_id,
		    uint32_t *ret_processes)
{
	struct target target = { 0 };
	int ret;

	netlink_begin(link, PERFGUARD_CMD_TARGET_NEW, 0, NETLINK_SCOPE_ROOM);
	if (exe_fd >= 0)
		netlink_put_u32(link, PERFGUARD_A_TARGET_EXE_FD, (uint32_t)exe_fd);
	else
		netlink_put_u32(link, PERFGUARD_A_TARGET_PID, pid);
	netlink_put_u32(link, PERFGUARD_A_TARGET_FLAGS, flags);
	netlink_put_u64(link, PERFGUARD_A_TARGET_THRESHOLD_NS, threshold_ns);
	if (exe_fd >= 0)
		NETLINK_PUT_SCOPE(link, TARGET, scope);
	ret = netlink_query(link, link_target_fields, &target);
	clear_target(&target);
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
	netlink_begin(link, PERFGUARD_CMD_TARGET_SET, 0, 0);
	netlink_put_u32(link, PERFGUARD_A_TARGET_ID, id);
	netlink_put_u64(link, PERFGUARD_A_TARGET_THRESHOLD_NS, threshold_ns);
	return netlink_exchange(link, NULL, NULL);
}

int link_target_set_flags(struct link *link, uint32_t id, uint32_t flags)
{
	netlink_begin(link, PERFGUARD_CMD_TARGET_SET, 0, 0);
	netlink_put_u32(link, PERFGUARD_A_TARGET_ID, id);
	netlink_put_u32(link, PERFGUARD_A_TARGET_FLAGS, flags);
	return netlink_exchange(link, NULL, NULL);
}

int link_target_set_request_limit(struct link *link, uint32_t id, uint64_t limit_ns)
{
	netlink_begin(link, PERFGUARD_CMD_TARGET_SET, 0, 0);
	netlink_put_u32(link, PERFGUARD_A_TARGET_ID, id);
	netlink_put_u64(link, PERFGUARD_A_TARGET_REQUEST_LIMIT_NS, limit_ns);
	return netlink_exchange(link, NULL, NULL);
}

int link_target_del(struct link *link, uint32_t id)
{
	netlink_begin(link, PERFGUARD_CMD_TARGET_DEL, 0, 0);
	if (id)
		netlink_put_u32(link, PERFGUARD_A_TARGET_ID, id);
	return netlink_exchange(link, NULL, NULL);
}

static int parse_target(struct nlattr *attrs, int len, void *element)
{
	struct target *target = element;

	struct nlattr *pids = nla_find(attrs, len, PERFGUARD_A_TARGET_SCOPE_PIDS);

	target->has_uid = nla_find(attrs, len, PERFGUARD_A_TARGET_UID) != NULL;
	if (pids)
		target->nr_scope_pids = (uint32_t)nla_memcpy(target->scope_pids, pids,
							     sizeof(target->scope_pids)) /
					sizeof(*target->scope_pids);
	if (!target->path)
		target->path = strdup("?");
	return target->path ? 0 : -ENOMEM;
}

int link_targets(struct link *link, struct target **ret, uint32_t *ret_nr)
{
	const struct netlink_dump dump = {
		.command = PERFGUARD_CMD_TARGET_GET,
		.size = sizeof(**ret),
		.fields = link_target_fields,
		.parse = parse_target,
		.clear = clear_target,
	};

	return netlink_dump(link, &dump, ret, ret_nr);
}

void link_targets_free(struct target *targets, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		clear_target(&targets[i]);
	free(targets);
}

int link_processes(struct link *link, uint32_t target_id, struct process **ret,
		   uint32_t *ret_nr)
{
	const struct netlink_dump dump = {
		.command = PERFGUARD_CMD_PROCESS_GET,
		.attr = PERFGUARD_A_PROCESS_TARGET_ID,
		.id = target_id,
		.size = sizeof(**ret),
		.fields = link_process_fields,
	};

	return netlink_dump(link, &dump, ret, ret_nr);
}

uint32_t link_target_of(struct link *link, uint32_t pid)
{
	struct process *processes;
	uint32_t nr, id = 0;

	if (link_processes(link, 0, &processes, &nr))
		return 0;
	for (uint32_t i = 0; i < nr; i++)
		if (processes[i].pid == pid)
			id = processes[i].target_id;
	free(processes);
	return id;
}
