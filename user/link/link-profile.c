// SPDX-License-Identifier: GPL-2.0

#include "link/netlink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What one attribute may hold, as the netlink spec has it. */
#define PIECE_BYTES 64000

struct armed {
	uint32_t target_id;
	uint32_t processes;
};

static struct nla_policy profile_policy[PERFGUARD_A_PROFILE_MAX + 1] = {
	[PERFGUARD_A_PROFILE_ID] = { .type = NLA_U32 },
	[PERFGUARD_A_PROFILE_NAME] = { .type = NLA_STRING },
	[PERFGUARD_A_PROFILE_HASH] = { .type = NLA_U64 },
	[PERFGUARD_A_PROFILE_FLAGS] = { .type = NLA_U32 },
	[PERFGUARD_A_PROFILE_TARGET_ID] = { .type = NLA_U32 },
	[PERFGUARD_A_PROFILE_PROCESSES] = { .type = NLA_U32 },
	[PERFGUARD_A_PROFILE_REFUSED_GUARD] = { .type = NLA_U32 },
	[PERFGUARD_A_PROFILE_REFUSED_ERROR] = { .type = NLA_U32 },
	[PERFGUARD_A_PROFILE_NR_GUARDS] = { .type = NLA_U32 },
	[PERFGUARD_A_PROFILE_NR_TYPES] = { .type = NLA_U32 },
	[PERFGUARD_A_PROFILE_NR_CONTEXTS] = { .type = NLA_U32 },
	[PERFGUARD_A_PROFILE_NR_SHED] = { .type = NLA_U32 },
	[PERFGUARD_A_PROFILE_UNITS] = { .type = NLA_U64 },
	[PERFGUARD_A_PROFILE_NOVEL] = { .type = NLA_U64 },
	[PERFGUARD_A_PROFILE_UNKNOWN_HITS] = { .type = NLA_U64 },
	[PERFGUARD_A_PROFILE_STRAY_HITS] = { .type = NLA_U64 },
	[PERFGUARD_A_PROFILE_BYTES] = { .type = NLA_U64 },
	[PERFGUARD_A_PROFILE_ARMED_NS] = { .type = NLA_U64 },
	[PERFGUARD_A_PROFILE_BUDGET_PPM] = { .type = NLA_U32 },
	[PERFGUARD_A_PROFILE_KERNEL_HIT_NS] = { .type = NLA_U32 },
	[PERFGUARD_A_PROFILE_MODULE_HIT_NS] = { .type = NLA_U32 },
	[PERFGUARD_A_PROFILE_STEPPED_HIT_NS] = { .type = NLA_U32 },
	[PERFGUARD_A_PROFILE_CALL_NS] = { .type = NLA_U32 },
	[PERFGUARD_A_PROFILE_UNIT_NS] = { .type = NLA_U32 },
	[PERFGUARD_A_PROFILE_CPU_NS] = { .type = NLA_U64 },
	[PERFGUARD_A_PROFILE_CHECK_NS] = { .type = NLA_U64 },
	[PERFGUARD_A_PROFILE_GUARDS_NS] = { .type = NLA_U64 },
	[PERFGUARD_A_PROFILE_BOUNDARIES_NS] = { .type = NLA_U64 },
	[PERFGUARD_A_PROFILE_LAST_CPU_NS] = { .type = NLA_U64 },
	[PERFGUARD_A_PROFILE_LAST_GUARDS_NS] = { .type = NLA_U64 },
	[PERFGUARD_A_PROFILE_LAST_BOUNDARIES_NS] = { .type = NLA_U64 },
	[PERFGUARD_A_PROFILE_TELLING_NS] = { .type = NLA_U64 },
	[PERFGUARD_A_PROFILE_LAST_TELLING_NS] = { .type = NLA_U64 },
	[PERFGUARD_A_PROFILE_ASSUMED_PRICES] = { .type = NLA_U32 },
};

static struct nla_policy guard_policy[PERFGUARD_A_GUARD_MAX + 1] = {
	[PERFGUARD_A_GUARD_INDEX] = { .type = NLA_U32 },
	[PERFGUARD_A_GUARD_OBJECT] = { .type = NLA_U32 },
	[PERFGUARD_A_GUARD_OFFSET] = { .type = NLA_U64 },
	[PERFGUARD_A_GUARD_STATE] = { .type = NLA_U32 },
	[PERFGUARD_A_GUARD_WAY] = { .type = NLA_U32 },
	[PERFGUARD_A_GUARD_HITS] = { .type = NLA_U64 },
	[PERFGUARD_A_GUARD_STEPPED] = { .type = NLA_U64 },
	[PERFGUARD_A_GUARD_SHEDS] = { .type = NLA_U32 },
	[PERFGUARD_A_GUARD_SHARE_PPM] = { .type = NLA_U32 },
};

static struct nla_policy type_policy[PERFGUARD_A_TYPE_MAX + 1] = {
	[PERFGUARD_A_TYPE_LOOP_ID] = { .type = NLA_U32 },
	[PERFGUARD_A_TYPE_ID] = { .type = NLA_U32 },
	[PERFGUARD_A_TYPE_THRESHOLD_NS] = { .type = NLA_U64 },
	[PERFGUARD_A_TYPE_UNITS] = { .type = NLA_U64 },
	[PERFGUARD_A_TYPE_LATE] = { .type = NLA_U64 },
	[PERFGUARD_A_TYPE_NOVEL] = { .type = NLA_U64 },
	[PERFGUARD_A_TYPE_ELAPSED_NS] = { .type = NLA_U64 },
	[PERFGUARD_A_TYPE_CPU_NS] = { .type = NLA_U64 },
	[PERFGUARD_A_TYPE_RUNQUEUE_NS] = { .type = NLA_U64 },
	[PERFGUARD_A_TYPE_BLOCK_IO_NS] = { .type = NLA_U64 },
	[PERFGUARD_A_TYPE_MIN_FAULTS] = { .type = NLA_U64 },
	[PERFGUARD_A_TYPE_MAJ_FAULTS] = { .type = NLA_U64 },
	[PERFGUARD_A_TYPE_LATE_ELAPSED_NS] = { .type = NLA_U64 },
};

static int parse_id(struct nlattr *attrs, int len, void *arg)
{
	struct nlattr *tb[PERFGUARD_A_PROFILE_MAX + 1];
	uint32_t *id = arg;

	if (nla_parse(tb, PERFGUARD_A_PROFILE_MAX, attrs, len, profile_policy))
		return -EBADMSG;
	*id = netlink_u32(tb[PERFGUARD_A_PROFILE_ID]);
	return 0;
}

int link_profile_new(struct link *link, const char *name, uint64_t hash,
		     uint32_t flags, uint32_t *ret_id)
{
	struct nl_msg *msg = netlink_request(link, PERFGUARD_CMD_PROFILE_NEW, 0);
	uint32_t id = 0;
	int ret;

	if (!msg)
		return -ENOMEM;
	if (nla_put_string(msg, PERFGUARD_A_PROFILE_NAME, name) ||
	    nla_put_u64(msg, PERFGUARD_A_PROFILE_HASH, hash) ||
	    nla_put_u32(msg, PERFGUARD_A_PROFILE_FLAGS, flags))
		return netlink_overflow(link, msg);
	ret = netlink_exchange(link, msg, parse_id, &id);
	if (ret)
		return ret;
	if (!id)
		return netlink_error(link, -EBADMSG,
				     "the module gave the profile no id");
	*ret_id = id;
	return 0;
}

int link_profile_add_object(struct link *link, uint32_t id, int fd)
{
	struct nl_msg *msg = netlink_request(link, PERFGUARD_CMD_PROFILE_ADD, 0);

	if (!msg)
		return -ENOMEM;
	if (nla_put_u32(msg, PERFGUARD_A_PROFILE_ID, id) ||
	    nla_put_u32(msg, PERFGUARD_A_PROFILE_OBJECT_FD, (uint32_t)fd))
		return netlink_overflow(link, msg);
	return netlink_exchange(link, msg, NULL, NULL);
}

/* As many as fit into one request. */
static int add_piece(struct link *link, uint32_t id, int attr, const void *bytes, int len)
{
	struct nl_msg *msg = netlink_request(link, PERFGUARD_CMD_PROFILE_ADD, 0);

	if (!msg)
		return -ENOMEM;
	/* nlmsg_alloc() has room for a page; make it for all of the piece. */
	if (nlmsg_expand(msg, 4096 + (size_t)len) ||
	    nla_put_u32(msg, PERFGUARD_A_PROFILE_ID, id) ||
	    nla_put(msg, attr, len, bytes))
		return netlink_overflow(link, msg);
	return netlink_exchange(link, msg, NULL, NULL);
}

static int add_array(struct link *link, uint32_t id, int attr, const void *elements,
		     uint32_t nr, size_t size)
{
	const uint32_t most = (uint32_t)(PIECE_BYTES / size);
	const char *at = elements;
	int ret = 0;

	while (nr && !ret) {
		uint32_t some = nr < most ? nr : most;

		ret = add_piece(link, id, attr, at, (int)(some * size));
		at += some * size;
		nr -= some;
	}
	return ret;
}

int link_profile_add_courses(struct link *link, uint32_t id,
			     const struct perfguard_course *courses, uint32_t nr)
{
	return add_array(link, id, PERFGUARD_A_PROFILE_COURSES, courses, nr, sizeof(*courses));
}

int link_profile_add_boundaries(struct link *link, uint32_t id,
				const struct perfguard_boundary *boundaries,
				uint32_t nr)
{
	return add_array(link, id, PERFGUARD_A_PROFILE_BOUNDARIES, boundaries, nr,
			 sizeof(*boundaries));
}

int link_profile_add_guards(struct link *link, uint32_t id,
			    const struct perfguard_guard *guards, uint32_t nr)
{
	return add_array(link, id, PERFGUARD_A_PROFILE_GUARDS, guards, nr, sizeof(*guards));
}

int link_profile_add_types(struct link *link, uint32_t id,
			   const struct perfguard_type *types, uint32_t nr)
{
	return add_array(link, id, PERFGUARD_A_PROFILE_TYPES, types, nr, sizeof(*types));
}

int link_profile_add_contexts(struct link *link, uint32_t id,
			      const struct perfguard_known_context *contexts,
			      uint32_t nr)
{
	return add_array(link, id, PERFGUARD_A_PROFILE_CONTEXTS, contexts, nr,
			 sizeof(*contexts));
}

int link_profile_add_weights(struct link *link, uint32_t id,
			     const struct perfguard_weight *weights, uint32_t nr)
{
	return add_array(link, id, PERFGUARD_A_PROFILE_WEIGHTS, weights, nr, sizeof(*weights));
}

static int parse_armed(struct nlattr *attrs, int len, void *arg)
{
	struct nlattr *tb[PERFGUARD_A_PROFILE_MAX + 1];
	struct armed *armed = arg;

	if (nla_parse(tb, PERFGUARD_A_PROFILE_MAX, attrs, len, profile_policy))
		return -EBADMSG;
	armed->target_id = netlink_u32(tb[PERFGUARD_A_PROFILE_TARGET_ID]);
	armed->processes = netlink_u32(tb[PERFGUARD_A_PROFILE_PROCESSES]);
	return 0;
}

static int put_prices(struct nl_msg *msg, const struct armed_prices *prices)
{
	if (!prices || !prices->budget_ppm)
		return 0;
	return nla_put_u32(msg, PERFGUARD_A_PROFILE_BUDGET_PPM, prices->budget_ppm) ||
	       nla_put_u32(msg, PERFGUARD_A_PROFILE_KERNEL_HIT_NS, prices->kernel_hit_ns) ||
	       nla_put_u32(msg, PERFGUARD_A_PROFILE_MODULE_HIT_NS, prices->module_hit_ns) ||
	       nla_put_u32(msg, PERFGUARD_A_PROFILE_STEPPED_HIT_NS, prices->stepped_hit_ns) ||
	       nla_put_u32(msg, PERFGUARD_A_PROFILE_CALL_NS, prices->call_ns) ||
	       nla_put_u32(msg, PERFGUARD_A_PROFILE_UNIT_NS, prices->unit_ns) ||
	       nla_put_u32(msg, PERFGUARD_A_PROFILE_ASSUMED_PRICES, prices->assumed);
}

int link_profile_arm(struct link *link, uint32_t id, const struct armed_prices *prices,
		     uint32_t *ret_target_id, uint32_t *ret_processes)
{
	struct nl_msg *msg = netlink_request(link, PERFGUARD_CMD_PROFILE_ARM, 0);
	struct armed armed = { 0 };
	int ret;

	if (!msg)
		return -ENOMEM;
	if (nla_put_u32(msg, PERFGUARD_A_PROFILE_ID, id) || put_prices(msg, prices))
		return netlink_overflow(link, msg);
	ret = netlink_exchange(link, msg, parse_armed, &armed);
	if (ret)
		return ret;
	*ret_target_id = armed.target_id;
	*ret_processes = armed.processes;
	return 0;
}

int link_profile_arm_target(struct link *link, uint32_t id, uint32_t target_id)
{
	struct nl_msg *msg = netlink_request(link, PERFGUARD_CMD_PROFILE_ARM, 0);

	if (!msg)
		return -ENOMEM;
	if (nla_put_u32(msg, PERFGUARD_A_PROFILE_ID, id) ||
	    nla_put_u32(msg, PERFGUARD_A_PROFILE_TARGET_ID, target_id))
		return netlink_overflow(link, msg);
	return netlink_exchange(link, msg, NULL, NULL);
}

int link_profile_del(struct link *link, uint32_t id)
{
	struct nl_msg *msg = netlink_request(link, PERFGUARD_CMD_PROFILE_DEL, 0);

	if (!msg)
		return -ENOMEM;
	if (nla_put_u32(msg, PERFGUARD_A_PROFILE_ID, id))
		return netlink_overflow(link, msg);
	return netlink_exchange(link, msg, NULL, NULL);
}

static struct nl_msg *request_profiles(struct link *link, uint32_t id)
{
	(void)id;
	return netlink_request(link, PERFGUARD_CMD_PROFILE_GET, NLM_F_DUMP);
}

static void parse_spending(struct nlattr *tb[], struct armed_profile *profile)
{
	profile->prices = (struct armed_prices){
		.budget_ppm = netlink_u32(tb[PERFGUARD_A_PROFILE_BUDGET_PPM]),
		.kernel_hit_ns = netlink_u32(tb[PERFGUARD_A_PROFILE_KERNEL_HIT_NS]),
		.module_hit_ns = netlink_u32(tb[PERFGUARD_A_PROFILE_MODULE_HIT_NS]),
		.stepped_hit_ns = netlink_u32(tb[PERFGUARD_A_PROFILE_STEPPED_HIT_NS]),
		.call_ns = netlink_u32(tb[PERFGUARD_A_PROFILE_CALL_NS]),
		.unit_ns = netlink_u32(tb[PERFGUARD_A_PROFILE_UNIT_NS]),
		.assumed = netlink_u32(tb[PERFGUARD_A_PROFILE_ASSUMED_PRICES]),
	};
	profile->check_ns = netlink_u64(tb[PERFGUARD_A_PROFILE_CHECK_NS]);
	profile->cost = (struct armed_cost){
		.cpu = netlink_u64(tb[PERFGUARD_A_PROFILE_CPU_NS]),
		.guards = netlink_u64(tb[PERFGUARD_A_PROFILE_GUARDS_NS]),
		.boundaries = netlink_u64(tb[PERFGUARD_A_PROFILE_BOUNDARIES_NS]),
		.telling = netlink_u64(tb[PERFGUARD_A_PROFILE_TELLING_NS]),
	};
	profile->last = (struct armed_cost){
		.cpu = netlink_u64(tb[PERFGUARD_A_PROFILE_LAST_CPU_NS]),
		.guards = netlink_u64(tb[PERFGUARD_A_PROFILE_LAST_GUARDS_NS]),
		.boundaries = netlink_u64(tb[PERFGUARD_A_PROFILE_LAST_BOUNDARIES_NS]),
		.telling = netlink_u64(tb[PERFGUARD_A_PROFILE_LAST_TELLING_NS]),
	};
}

static int parse_profile(struct nlattr *attrs, int len, void *element)
{
	struct nlattr *tb[PERFGUARD_A_PROFILE_MAX + 1];
	struct armed_profile *profile = element;

	if (nla_parse(tb, PERFGUARD_A_PROFILE_MAX, attrs, len, profile_policy))
		return -EBADMSG;
	profile->name = strdup(tb[PERFGUARD_A_PROFILE_NAME] ?
				       nla_get_string(tb[PERFGUARD_A_PROFILE_NAME]) :
				       "?");
	if (!profile->name)
		return -ENOMEM;
	profile->id = netlink_u32(tb[PERFGUARD_A_PROFILE_ID]);
	profile->hash = netlink_u64(tb[PERFGUARD_A_PROFILE_HASH]);
	profile->flags = netlink_u32(tb[PERFGUARD_A_PROFILE_FLAGS]);
	profile->target_id = netlink_u32(tb[PERFGUARD_A_PROFILE_TARGET_ID]);
	profile->processes = netlink_u32(tb[PERFGUARD_A_PROFILE_PROCESSES]);
	profile->is_refused = tb[PERFGUARD_A_PROFILE_REFUSED_GUARD] != NULL;
	profile->refused_guard = netlink_u32(tb[PERFGUARD_A_PROFILE_REFUSED_GUARD]);
	profile->refused_error = netlink_u32(tb[PERFGUARD_A_PROFILE_REFUSED_ERROR]);
	profile->nr_guards = netlink_u32(tb[PERFGUARD_A_PROFILE_NR_GUARDS]);
	profile->nr_types = netlink_u32(tb[PERFGUARD_A_PROFILE_NR_TYPES]);
	profile->nr_contexts = netlink_u32(tb[PERFGUARD_A_PROFILE_NR_CONTEXTS]);
	profile->nr_shed = netlink_u32(tb[PERFGUARD_A_PROFILE_NR_SHED]);
	profile->units = netlink_u64(tb[PERFGUARD_A_PROFILE_UNITS]);
	profile->novel = netlink_u64(tb[PERFGUARD_A_PROFILE_NOVEL]);
	profile->unknown_hits = netlink_u64(tb[PERFGUARD_A_PROFILE_UNKNOWN_HITS]);
	profile->stray_hits = netlink_u64(tb[PERFGUARD_A_PROFILE_STRAY_HITS]);
	profile->bytes = netlink_u64(tb[PERFGUARD_A_PROFILE_BYTES]);
	profile->armed_ns = netlink_u64(tb[PERFGUARD_A_PROFILE_ARMED_NS]);
	parse_spending(tb, profile);
	return 0;
}

static void clear_profile(void *element)
{
	struct armed_profile *profile = element;

	free(profile->name);
	profile->name = NULL;
}

int link_profiles(struct link *link, struct armed_profile **ret, uint32_t *ret_nr)
{
	struct netlink_array array = {
		.size = sizeof(struct armed_profile),
		.parse = parse_profile,
		.clear = clear_profile,
	};
	int error = netlink_dump(link, request_profiles, 0, &array);

	*ret = array.elements;
	*ret_nr = array.nr;
	return error;
}

void link_profiles_free(struct armed_profile *profiles, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		free(profiles[i].name);
	free(profiles);
}

static struct nl_msg *request_of_profile(struct link *link, uint8_t command, int attr,
					 uint32_t id)
{
	struct nl_msg *msg = netlink_request(link, command, NLM_F_DUMP);

	if (msg && nla_put_u32(msg, attr, id)) {
		netlink_overflow(link, msg);
		return NULL;
	}
	return msg;
}

static struct nl_msg *request_guards(struct link *link, uint32_t id)
{
	return request_of_profile(link, PERFGUARD_CMD_GUARD_GET, PERFGUARD_A_GUARD_PROFILE_ID,
				  id);
}

static int parse_guard(struct nlattr *attrs, int len, void *element)
{
	struct nlattr *tb[PERFGUARD_A_GUARD_MAX + 1];
	struct armed_guard *guard = element;

	if (nla_parse(tb, PERFGUARD_A_GUARD_MAX, attrs, len, guard_policy))
		return -EBADMSG;
	guard->index = netlink_u32(tb[PERFGUARD_A_GUARD_INDEX]);
	guard->object = netlink_u32(tb[PERFGUARD_A_GUARD_OBJECT]);
	guard->offset = netlink_u64(tb[PERFGUARD_A_GUARD_OFFSET]);
	guard->state = netlink_u32(tb[PERFGUARD_A_GUARD_STATE]);
	guard->way = netlink_u32(tb[PERFGUARD_A_GUARD_WAY]);
	guard->hits = netlink_u64(tb[PERFGUARD_A_GUARD_HITS]);
	guard->stepped = netlink_u64(tb[PERFGUARD_A_GUARD_STEPPED]);
	guard->sheds = netlink_u32(tb[PERFGUARD_A_GUARD_SHEDS]);
	guard->share_ppm = netlink_u32(tb[PERFGUARD_A_GUARD_SHARE_PPM]);
	return 0;
}

int link_guards(struct link *link, uint32_t profile_id, struct armed_guard **ret,
		uint32_t *ret_nr)
{
	struct netlink_array array = {
		.size = sizeof(struct armed_guard),
		.parse = parse_guard,
	};
	int error = netlink_dump(link, request_guards, profile_id, &array);

	*ret = array.elements;
	*ret_nr = array.nr;
	return error;
}

static struct nl_msg *request_types(struct link *link, uint32_t id)
{
	return request_of_profile(link, PERFGUARD_CMD_TYPE_GET, PERFGUARD_A_TYPE_PROFILE_ID, id);
}

static int parse_type(struct nlattr *attrs, int len, void *element)
{
	struct nlattr *tb[PERFGUARD_A_TYPE_MAX + 1];
	struct armed_type *type = element;

	if (nla_parse(tb, PERFGUARD_A_TYPE_MAX, attrs, len, type_policy))
		return -EBADMSG;
	type->loop_id = netlink_u32(tb[PERFGUARD_A_TYPE_LOOP_ID]);
	type->id = netlink_u32(tb[PERFGUARD_A_TYPE_ID]);
	type->threshold_ns = netlink_u64(tb[PERFGUARD_A_TYPE_THRESHOLD_NS]);
	type->units = netlink_u64(tb[PERFGUARD_A_TYPE_UNITS]);
	type->late = netlink_u64(tb[PERFGUARD_A_TYPE_LATE]);
	type->novel = netlink_u64(tb[PERFGUARD_A_TYPE_NOVEL]);
	type->elapsed_ns = netlink_u64(tb[PERFGUARD_A_TYPE_ELAPSED_NS]);
	type->cpu_ns = netlink_u64(tb[PERFGUARD_A_TYPE_CPU_NS]);
	type->runqueue_ns = netlink_u64(tb[PERFGUARD_A_TYPE_RUNQUEUE_NS]);
	type->block_io_ns = netlink_u64(tb[PERFGUARD_A_TYPE_BLOCK_IO_NS]);
	type->min_faults = netlink_u64(tb[PERFGUARD_A_TYPE_MIN_FAULTS]);
	type->maj_faults = netlink_u64(tb[PERFGUARD_A_TYPE_MAJ_FAULTS]);
	type->late_elapsed_ns = netlink_u64(tb[PERFGUARD_A_TYPE_LATE_ELAPSED_NS]);
	return 0;
}

int link_types(struct link *link, uint32_t profile_id, struct armed_type **ret,
	       uint32_t *ret_nr)
{
	struct netlink_array array = {
		.size = sizeof(struct armed_type),
		.parse = parse_type,
	};
	int error = netlink_dump(link, request_types, profile_id, &array);

	*ret = array.elements;
	*ret_nr = array.nr;
	return error;
}
