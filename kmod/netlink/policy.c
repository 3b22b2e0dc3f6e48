// SPDX-License-Identifier: GPL-2.0
/* Made by scripts/spec-header from Documentation/netlink/specs/perfguard.yaml; do not edit. */

#include "netlink/policy.h"

#include "compat.h"

#include <linux/perfguard.h>

/* Of an operation that takes no attributes. */
static const struct nla_policy pguard_none_nl_policy[1 + 1] = {
	[1] = { .type = NLA_REJECT, },
};

static struct netlink_range_validation pguard_1_to_1000000 = {
	.min = 1,
	.max = 1000000,
};

static struct netlink_range_validation pguard_0_to_1000000 = {
	.min = 0,
	.max = 1000000,
};

static const struct nla_policy pguard_context_nl_policy[PERFGUARD_A_CONTEXT_PAD + 1] = {
	[PERFGUARD_A_CONTEXT_LOOP_ID] = { .type = NLA_U32, },
	[PERFGUARD_A_CONTEXT_SYSCALL] = { .type = NLA_U32, },
	[PERFGUARD_A_CONTEXT_RETURN_ADDRESS] = { .type = NLA_U64, },
	[PERFGUARD_A_CONTEXT_DISTANCE] = { .type = NLA_U32, },
};

static const struct nla_policy pguard_target_new_nl_policy[PERFGUARD_A_TARGET_THRESHOLD_NS + 1] = {
	[PERFGUARD_A_TARGET_EXE_FD] = { .type = NLA_U32, },
	[PERFGUARD_A_TARGET_PID] = { .type = NLA_U32, },
	[PERFGUARD_A_TARGET_FLAGS] = NLA_POLICY_MASK(NLA_U32, 0x3f),
	[PERFGUARD_A_TARGET_THRESHOLD_NS] = { .type = NLA_U64, },
};

static const struct nla_policy pguard_target_set_nl_policy[PERFGUARD_A_TARGET_THRESHOLD_NS + 1] = {
	[PERFGUARD_A_TARGET_ID] = { .type = NLA_U32, },
	[PERFGUARD_A_TARGET_FLAGS] = NLA_POLICY_MASK(NLA_U32, 0x3f),
	[PERFGUARD_A_TARGET_THRESHOLD_NS] = { .type = NLA_U64, },
};

static const struct nla_policy pguard_target_del_nl_policy[PERFGUARD_A_TARGET_ID + 1] = {
	[PERFGUARD_A_TARGET_ID] = { .type = NLA_U32, },
};

static const struct nla_policy pguard_process_get_nl_policy[PERFGUARD_A_PROCESS_TARGET_ID + 1] = {
	[PERFGUARD_A_PROCESS_TARGET_ID] = { .type = NLA_U32, },
};

static const struct nla_policy pguard_loop_set_nl_policy[PERFGUARD_A_LOOP_CONTEXT + 1] = {
	[PERFGUARD_A_LOOP_IMAGE_ID] = { .type = NLA_U32, },
	[PERFGUARD_A_LOOP_CONTEXT] = NLA_POLICY_NESTED(pguard_context_nl_policy),
};

static const struct nla_policy pguard_loop_get_nl_policy[PERFGUARD_A_LOOP_IMAGE_ID + 1] = {
	[PERFGUARD_A_LOOP_IMAGE_ID] = { .type = NLA_U32, },
};

static const struct nla_policy pguard_alert_get_nl_policy[PERFGUARD_A_RECORD_SEQ + 1] = {
	[PERFGUARD_A_RECORD_SEQ] = { .type = NLA_U64, },
};

static const struct nla_policy pguard_wait_get_nl_policy[PERFGUARD_A_RECORD_SEQ + 1] = {
	[PERFGUARD_A_RECORD_SEQ] = { .type = NLA_U64, },
};

static const struct nla_policy pguard_site_add_nl_policy[PERFGUARD_A_SITE_SITES + 1] = {
	[PERFGUARD_A_SITE_TARGET_ID] = { .type = NLA_U32, },
	[PERFGUARD_A_SITE_FD] = { .type = NLA_U32, },
	[PERFGUARD_A_SITE_FLAGS] = NLA_POLICY_MASK(NLA_U32, 0x1),
	[PERFGUARD_A_SITE_SITES] = { .type = NLA_BINARY, .len = 64000, },
};

static const struct nla_policy pguard_site_del_nl_policy[PERFGUARD_A_SITE_TARGET_ID + 1] = {
	[PERFGUARD_A_SITE_TARGET_ID] = { .type = NLA_U32, },
};

static const struct nla_policy pguard_profile_new_nl_policy[PERFGUARD_A_PROFILE_FLAGS + 1] = {
	[PERFGUARD_A_PROFILE_NAME] = { .type = NLA_NUL_STRING, .len = 1023, },
	[PERFGUARD_A_PROFILE_HASH] = { .type = NLA_U64, },
	[PERFGUARD_A_PROFILE_FLAGS] = NLA_POLICY_MASK(NLA_U32, 0x1),
};

static const struct nla_policy pguard_profile_add_nl_policy[PERFGUARD_A_PROFILE_WEIGHTS + 1] = {
	[PERFGUARD_A_PROFILE_ID] = { .type = NLA_U32, },
	[PERFGUARD_A_PROFILE_OBJECT_FD] = { .type = NLA_U32, },
	[PERFGUARD_A_PROFILE_COURSES] = { .type = NLA_BINARY, .len = 64000, },
	[PERFGUARD_A_PROFILE_BOUNDARIES] = { .type = NLA_BINARY, .len = 64000, },
	[PERFGUARD_A_PROFILE_GUARDS] = { .type = NLA_BINARY, .len = 64000, },
	[PERFGUARD_A_PROFILE_TYPES] = { .type = NLA_BINARY, .len = 64000, },
	[PERFGUARD_A_PROFILE_CONTEXTS] = { .type = NLA_BINARY, .len = 64000, },
	[PERFGUARD_A_PROFILE_WEIGHTS] = { .type = NLA_BINARY, .len = 64000, },
};

static const struct nla_policy pguard_profile_arm_nl_policy[PERFGUARD_A_PROFILE_ASSUMED_PRICES + 1] = {
	[PERFGUARD_A_PROFILE_ID] = { .type = NLA_U32, },
	[PERFGUARD_A_PROFILE_TARGET_ID] = { .type = NLA_U32, },
	[PERFGUARD_A_PROFILE_BUDGET_PPM] = NLA_POLICY_FULL_RANGE(NLA_U32, &pguard_1_to_1000000),
	[PERFGUARD_A_PROFILE_KERNEL_HIT_NS] = NLA_POLICY_FULL_RANGE(NLA_U32, &pguard_0_to_1000000),
	[PERFGUARD_A_PROFILE_MODULE_HIT_NS] = NLA_POLICY_FULL_RANGE(NLA_U32, &pguard_0_to_1000000),
	[PERFGUARD_A_PROFILE_STEPPED_HIT_NS] = NLA_POLICY_FULL_RANGE(NLA_U32, &pguard_0_to_1000000),
	[PERFGUARD_A_PROFILE_CALL_NS] = NLA_POLICY_FULL_RANGE(NLA_U32, &pguard_0_to_1000000),
	[PERFGUARD_A_PROFILE_UNIT_NS] = NLA_POLICY_FULL_RANGE(NLA_U32, &pguard_0_to_1000000),
	[PERFGUARD_A_PROFILE_ASSUMED_PRICES] = NLA_POLICY_MASK(NLA_U32, 0x1f),
};

static const struct nla_policy pguard_guard_get_nl_policy[PERFGUARD_A_GUARD_PROFILE_ID + 1] = {
	[PERFGUARD_A_GUARD_PROFILE_ID] = { .type = NLA_U32, },
};

static const struct nla_policy pguard_type_get_nl_policy[PERFGUARD_A_TYPE_PROFILE_ID + 1] = {
	[PERFGUARD_A_TYPE_PROFILE_ID] = { .type = NLA_U32, },
};

static const struct nla_policy pguard_profile_del_nl_policy[PERFGUARD_A_PROFILE_ID + 1] = {
	[PERFGUARD_A_PROFILE_ID] = { .type = NLA_U32, },
};

const struct genl_ops pguard_nl_ops[PGUARD_NL_OPS] = {
	{
		.cmd = PERFGUARD_CMD_TARGET_NEW,
		.flags = GENL_ADMIN_PERM,
		.doit = pguard_nl_target_new_doit,
		.policy = pguard_target_new_nl_policy,
		.maxattr = ARRAY_SIZE(pguard_target_new_nl_policy) - 1,
	},
	{
		.cmd = PERFGUARD_CMD_TARGET_SET,
		.flags = GENL_ADMIN_PERM,
		.doit = pguard_nl_target_set_doit,
		.policy = pguard_target_set_nl_policy,
		.maxattr = ARRAY_SIZE(pguard_target_set_nl_policy) - 1,
	},
	{
		.cmd = PERFGUARD_CMD_TARGET_DEL,
		.flags = GENL_ADMIN_PERM,
		.doit = pguard_nl_target_del_doit,
		.policy = pguard_target_del_nl_policy,
		.maxattr = ARRAY_SIZE(pguard_target_del_nl_policy) - 1,
	},
	{
		.cmd = PERFGUARD_CMD_TARGET_GET,
		.flags = GENL_ADMIN_PERM,
		.start = pguard_nl_target_get_start,
		.dumpit = pguard_nl_target_get_dumpit,
		.done = pguard_nl_target_get_done,
		.policy = pguard_none_nl_policy,
		.maxattr = ARRAY_SIZE(pguard_none_nl_policy) - 1,
	},
	{
		.cmd = PERFGUARD_CMD_PROCESS_GET,
		.flags = GENL_ADMIN_PERM,
		.start = pguard_nl_process_get_start,
		.dumpit = pguard_nl_process_get_dumpit,
		.done = pguard_nl_process_get_done,
		.policy = pguard_process_get_nl_policy,
		.maxattr = ARRAY_SIZE(pguard_process_get_nl_policy) - 1,
	},
	{
		.cmd = PERFGUARD_CMD_LOOP_SET,
		.flags = GENL_ADMIN_PERM,
		.doit = pguard_nl_loop_set_doit,
		.policy = pguard_loop_set_nl_policy,
		.maxattr = ARRAY_SIZE(pguard_loop_set_nl_policy) - 1,
	},
	{
		.cmd = PERFGUARD_CMD_LOOP_GET,
		.flags = GENL_ADMIN_PERM,
		.start = pguard_nl_loop_get_start,
		.dumpit = pguard_nl_loop_get_dumpit,
		.done = pguard_nl_loop_get_done,
		.policy = pguard_loop_get_nl_policy,
		.maxattr = ARRAY_SIZE(pguard_loop_get_nl_policy) - 1,
	},
	{
		.cmd = PERFGUARD_CMD_ALERT_GET,
		.flags = GENL_ADMIN_PERM,
		.start = pguard_nl_alert_get_start,
		.dumpit = pguard_nl_alert_get_dumpit,
		.done = pguard_nl_alert_get_done,
		.policy = pguard_alert_get_nl_policy,
		.maxattr = ARRAY_SIZE(pguard_alert_get_nl_policy) - 1,
	},
	{
		.cmd = PERFGUARD_CMD_WAIT_GET,
		.flags = GENL_ADMIN_PERM,
		.start = pguard_nl_wait_get_start,
		.dumpit = pguard_nl_wait_get_dumpit,
		.done = pguard_nl_wait_get_done,
		.policy = pguard_wait_get_nl_policy,
		.maxattr = ARRAY_SIZE(pguard_wait_get_nl_policy) - 1,
	},
	{
		.cmd = PERFGUARD_CMD_STATS_GET,
		.flags = GENL_ADMIN_PERM,
		.doit = pguard_nl_stats_get_doit,
		.policy = pguard_none_nl_policy,
		.maxattr = ARRAY_SIZE(pguard_none_nl_policy) - 1,
	},
	{
		.cmd = PERFGUARD_CMD_SITE_ADD,
		.flags = GENL_ADMIN_PERM,
		.doit = pguard_nl_site_add_doit,
		.policy = pguard_site_add_nl_policy,
		.maxattr = ARRAY_SIZE(pguard_site_add_nl_policy) - 1,
	},
	{
		.cmd = PERFGUARD_CMD_SITE_DEL,
		.flags = GENL_ADMIN_PERM,
		.doit = pguard_nl_site_del_doit,
		.policy = pguard_site_del_nl_policy,
		.maxattr = ARRAY_SIZE(pguard_site_del_nl_policy) - 1,
	},
	{
		.cmd = PERFGUARD_CMD_PROFILE_NEW,
		.flags = GENL_ADMIN_PERM,
		.doit = pguard_nl_profile_new_doit,
		.policy = pguard_profile_new_nl_policy,
		.maxattr = ARRAY_SIZE(pguard_profile_new_nl_policy) - 1,
	},
	{
		.cmd = PERFGUARD_CMD_PROFILE_ADD,
		.flags = GENL_ADMIN_PERM,
		.doit = pguard_nl_profile_add_doit,
		.policy = pguard_profile_add_nl_policy,
		.maxattr = ARRAY_SIZE(pguard_profile_add_nl_policy) - 1,
	},
	{
		.cmd = PERFGUARD_CMD_PROFILE_ARM,
		.flags = GENL_ADMIN_PERM,
		.doit = pguard_nl_profile_arm_doit,
		.policy = pguard_profile_arm_nl_policy,
		.maxattr = ARRAY_SIZE(pguard_profile_arm_nl_policy) - 1,
	},
	{
		.cmd = PERFGUARD_CMD_PROFILE_GET,
		.flags = GENL_ADMIN_PERM,
		.start = pguard_nl_profile_get_start,
		.dumpit = pguard_nl_profile_get_dumpit,
		.done = pguard_nl_profile_get_done,
		.policy = pguard_none_nl_policy,
		.maxattr = ARRAY_SIZE(pguard_none_nl_policy) - 1,
	},
	{
		.cmd = PERFGUARD_CMD_GUARD_GET,
		.flags = GENL_ADMIN_PERM,
		.start = pguard_nl_guard_get_start,
		.dumpit = pguard_nl_guard_get_dumpit,
		.done = pguard_nl_guard_get_done,
		.policy = pguard_guard_get_nl_policy,
		.maxattr = ARRAY_SIZE(pguard_guard_get_nl_policy) - 1,
	},
	{
		.cmd = PERFGUARD_CMD_TYPE_GET,
		.flags = GENL_ADMIN_PERM,
		.start = pguard_nl_type_get_start,
		.dumpit = pguard_nl_type_get_dumpit,
		.done = pguard_nl_type_get_done,
		.policy = pguard_type_get_nl_policy,
		.maxattr = ARRAY_SIZE(pguard_type_get_nl_policy) - 1,
	},
	{
		.cmd = PERFGUARD_CMD_PROFILE_DEL,
		.flags = GENL_ADMIN_PERM,
		.doit = pguard_nl_profile_del_doit,
		.policy = pguard_profile_del_nl_policy,
		.maxattr = ARRAY_SIZE(pguard_profile_del_nl_policy) - 1,
	},
};

const struct genl_multicast_group pguard_nl_mcgrps[PGUARD_NL_MCGRPS] = {
	[PGUARD_NL_MCGRP_ALERTS] = {
		.name = PERFGUARD_MCGRP_ALERTS,
		.flags = GENL_MCAST_CAP_SYS_ADMIN,
	},
};
