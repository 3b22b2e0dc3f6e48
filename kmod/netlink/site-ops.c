// SPDX-License-Identifier: GPL-2.0

/* Requests about sites; see family.c for the context. */

#include "netlink/family.h"

#include "compat.h"
#include "control/control.h"
#include "netlink/policy.h"
#include "probe/probe-set.h"
#include "target/image.h"
#include "target/target-lock.h"

#include <linux/file.h>
#include <linux/mm.h>

#include <linux/perfguard.h>

struct answer {
	u32 added;
	u32 nr_refused;
	struct perfguard_site_refusal *refused;
};

static int fill_answer(struct sk_buff *skb, void *argument)
{
	const struct answer *answer = argument;

	return nla_put_u32(skb, PERFGUARD_A_SITE_ADDED, answer->added) ||
	       nla_put(skb, PERFGUARD_A_SITE_REFUSED,
		       answer->nr_refused * sizeof(*answer->refused), answer->refused);
}

/* The target of a request, locked. */
static int target_take(struct genl_info *info, struct pguard_target **ret)
{
	struct nlattr *id = info->attrs[PERFGUARD_A_SITE_TARGET_ID];
	int error = pguard_nl_control_lock();

	if (error)
		return error;
	*ret = pguard_target_find(nla_get_u32(id));
	error = *ret ? pguard_target_lock(*ret) : -ENOENT;
	mutex_unlock(&pguard_control);
	if (error == -ENOENT)
		NL_SET_ERR_MSG_ATTR(info->extack, id, "no such target");
	return error;
}

static int sites_add(struct genl_info *info, struct pguard_probe_set_spec *spec,
		     struct answer *answer)
{
	struct pguard_target *target;
	int ret = target_take(info, &target);

	if (ret)
		return ret;
	ret = pguard_probe_set_add(target, spec, answer->refused, &answer->nr_refused,
				   info->extack);
	pguard_target_unlock(target);
	answer->added = spec->nr - answer->nr_refused;
	return ret;
}

/* The request without the file and the target. */
static int spec_parse(struct genl_info *info, struct pguard_probe_set_spec *ret)
{
	struct nlattr *sites = info->attrs[PERFGUARD_A_SITE_SITES];

	if (GENL_REQ_ATTR_CHECK(info, PERFGUARD_A_SITE_TARGET_ID) ||
	    GENL_REQ_ATTR_CHECK(info, PERFGUARD_A_SITE_FD) ||
	    GENL_REQ_ATTR_CHECK(info, PERFGUARD_A_SITE_SITES)) {
		NL_SET_ERR_MSG(info->extack, "a target, a file and its sites are needed");
		return -EINVAL;
	}
	if (nla_len(sites) % sizeof(*ret->sites)) {
		NL_SET_ERR_MSG_ATTR(info->extack, sites, "not an array of sites");
		return -EINVAL;
	}
	ret->sites = nla_data(sites);
	ret->nr = nla_len(sites) / sizeof(*ret->sites);
	ret->flags = pguard_nl_u32(info->attrs[PERFGUARD_A_SITE_FLAGS]);
	return 0;
}

int pguard_nl_site_add_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct pguard_probe_set_spec spec = { };
	struct answer answer = { };
	size_t size;
	int ret = spec_parse(info, &spec);

	if (ret)
		return ret;
	spec.file = pguard_nl_file(info, info->attrs[PERFGUARD_A_SITE_FD]);
	if (IS_ERR(spec.file))
		return PTR_ERR(spec.file);
	ret = -ENOMEM;
	answer.refused =
		kvmalloc_array(spec.nr, sizeof(*answer.refused), GFP_KERNEL | __GFP_NOWARN);
	if (answer.refused)
		ret = sites_add(info, &spec, &answer);
	fput(spec.file);
	if (!ret) {
		size = NLMSG_DEFAULT_SIZE + answer.nr_refused * sizeof(*answer.refused);
		ret = pguard_nl_reply(info, size, fill_answer, &answer);
	}
	kvfree(answer.refused);
	return ret;
}

int pguard_nl_site_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct pguard_target *target;
	int ret = PGUARD_NL_REQUIRE(info, PERFGUARD_A_SITE_TARGET_ID, "which target?") ?:
		  target_take(info, &target);

	if (ret)
		return ret;
	pguard_probe_set_del(target, NULL);
	pguard_target_unlock(target);
	return 0;
}
