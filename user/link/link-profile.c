// SPDX-License-Identifier: GPL-2.0

#include "link/netlink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Limit of one attribute, as in the netlink spec. */
#define PIECE_BYTES 64000

int link_profile_new(struct link *link, const char *name, uint64_t hash,
		     uint32_t flags, uint32_t *ret_id)
{
	struct armed_profile profile = { 0 };
	int ret;

	netlink_begin(link, PERFGUARD_CMD_PROFILE_NEW, 0, 0);
	netlink_put(link, PERFGUARD_A_PROFILE_NAME, strlen(name) + 1, name);
	netlink_put_u64(link, PERFGUARD_A_PROFILE_HASH, hash);
	netlink_put_u32(link, PERFGUARD_A_PROFILE_FLAGS, flags);
	ret = netlink_query(link, link_profile_fields, &profile);
	free(profile.name);
	if (ret)
		return ret;
	if (!profile.id)
		return netlink_error(link, -EBADMSG,
				     "the module gave the profile no id");
	*ret_id = profile.id;
	return 0;
}

int link_profile_add_object(struct link *link, uint32_t id, int fd)
{
	netlink_begin(link, PERFGUARD_CMD_PROFILE_ADD, 0, 0);
	netlink_put_u32(link, PERFGUARD_A_PROFILE_ID, id);
	netlink_put_u32(link, PERFGUARD_A_PROFILE_OBJECT_FD, (uint32_t)fd);
	return netlink_exchange(link, NULL, NULL);
}

int link_profile_add_array(struct link *link, uint32_t id, int attr, const void *elements,
			   uint32_t nr, size_t size)
{
	const uint32_t most = (uint32_t)(PIECE_BYTES / size);
	const char *at = elements;
	int ret = 0;

	while (nr && !ret) {
		uint32_t some = nr < most ? nr : most;

		netlink_begin(link, PERFGUARD_CMD_PROFILE_ADD, 0, some * size);
		netlink_put_u32(link, PERFGUARD_A_PROFILE_ID, id);
		netlink_put(link, attr, some * size, at);
		ret = netlink_exchange(link, NULL, NULL);
		at += some * size;
		nr -= some;
	}
	return ret;
}

static void put_prices(struct link *link, const struct armed_prices *prices)
{
	if (!prices || !prices->budget_ppm)
		return;
	netlink_put_u32(link, PERFGUARD_A_PROFILE_BUDGET_PPM, prices->budget_ppm);
	netlink_put_u32(link, PERFGUARD_A_PROFILE_KERNEL_HIT_NS, prices->kernel_hit_ns);
	netlink_put_u32(link, PERFGUARD_A_PROFILE_MODULE_HIT_NS, prices->module_hit_ns);
	netlink_put_u32(link, PERFGUARD_A_PROFILE_STEPPED_HIT_NS, prices->stepped_hit_ns);
	netlink_put_u32(link, PERFGUARD_A_PROFILE_CALL_NS, prices->call_ns);
	netlink_put_u32(link, PERFGUARD_A_PROFILE_UNIT_NS, prices->unit_ns);
	netlink_put_u32(link, PERFGUARD_A_PROFILE_ASSUMED_COSTS, prices->assumed);
}

int link_profile_arm(struct link *link, uint32_t id, const struct armed_prices *prices,
		     const struct armed_scope *scope, uint32_t *ret_target_id, uint32_t *ret_processes)
{
	struct armed_profile profile = { 0 };
	int ret;

	netlink_begin(link, PERFGUARD_CMD_PROFILE_ARM, 0, NETLINK_SCOPE_ROOM);
	netlink_put_u32(link, PERFGUARD_A_PROFILE_ID, id);
	put_prices(link, prices);
	NETLINK_PUT_SCOPE(link, PROFILE, scope);
	ret = netlink_query(link, link_profile_fields, &profile);
	free(profile.name);
	if (ret)
		return ret;
	*ret_target_id = profile.target_id;
	*ret_processes = profile.processes;
	return 0;
}

int link_profile_arm_target(struct link *link, uint32_t id, uint32_t target_id)
{
	netlink_begin(link, PERFGUARD_CMD_PROFILE_ARM, 0, 0);
	netlink_put_u32(link, PERFGUARD_A_PROFILE_ID, id);
	netlink_put_u32(link, PERFGUARD_A_PROFILE_TARGET_ID, target_id);
	return netlink_exchange(link, NULL, NULL);
}

int link_profile_del(struct link *link, uint32_t id)
{
	netlink_begin(link, PERFGUARD_CMD_PROFILE_DEL, 0, 0);
	netlink_put_u32(link, PERFGUARD_A_PROFILE_ID, id);
	return netlink_exchange(link, NULL, NULL);
}

static int parse_profile(struct nlattr *attrs, int len, void *element)
{
	struct armed_profile *profile = element;

	profile->is_refused = nla_find(attrs, len, PERFGUARD_A_PROFILE_REFUSED_GUARD) != NULL;
	if (!profile->name)
		profile->name = strdup("?");
	return profile->name ? 0 : -ENOMEM;
}

static void clear_profile(void *element)
{
	struct armed_profile *profile = element;

	free(profile->name);
	profile->name = NULL;
}

int link_profiles(struct link *link, struct armed_profile **ret, uint32_t *ret_nr)
{
	const struct netlink_dump dump = {
		.command = PERFGUARD_CMD_PROFILE_GET,
		.size = sizeof(**ret),
		.fields = link_profile_fields,
		.parse = parse_profile,
		.clear = clear_profile,
	};

	return netlink_dump(link, &dump, ret, ret_nr);
}

void link_profiles_free(struct armed_profile *profiles, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		free(profiles[i].name);
	free(profiles);
}

int link_guards(struct link *link, uint32_t profile_id, struct armed_guard **ret,
		uint32_t *ret_nr)
{
	const struct netlink_dump dump = {
		.command = PERFGUARD_CMD_GUARD_GET,
		.attr = PERFGUARD_A_GUARD_PROFILE_ID,
		.id = profile_id,
		.size = sizeof(**ret),
		.fields = link_guard_fields,
	};

	return netlink_dump(link, &dump, ret, ret_nr);
}

int link_times(struct link *link, uint32_t profile_id, struct armed_times **ret,
		    uint32_t *ret_nr)
{
	const struct netlink_dump dump = {
		.command = PERFGUARD_CMD_TIMES_GET,
		.attr = PERFGUARD_A_TIMES_PROFILE_ID,
		.id = profile_id,
		.size = sizeof(**ret),
		.fields = link_times_fields,
	};

	return netlink_dump(link, &dump, ret, ret_nr);
}

int link_types(struct link *link, uint32_t profile_id, struct armed_type **ret,
	       uint32_t *ret_nr)
{
	const struct netlink_dump dump = {
		.command = PERFGUARD_CMD_TYPE_GET,
		.attr = PERFGUARD_A_TYPE_PROFILE_ID,
		.id = profile_id,
		.size = sizeof(**ret),
		.fields = link_type_fields,
	};

	return netlink_dump(link, &dump, ret, ret_nr);
}
