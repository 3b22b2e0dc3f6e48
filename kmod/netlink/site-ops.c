// SPDX-License-Identifier: GPL-2.0

/* Requests about sites; see family.c for the context. */

#include "netlink/family.h"

#include "control/control.h"
#include "netlink/policy.h"
#include "netlink/request.h"
#include "probe/probe-set.h"
#include "target/image.h"
#include "target/target-lock.h"

#include <linux/mm.h>

#include <linux/perfguard.h>

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

static int sites_add(struct pguard_request *request, const struct pguard_probe_set_spec *spec,
		     struct perfguard_site_refusal *refused, u32 *ret_nr_refused)
{
	struct genl_info *info = &request->info;
	struct pguard_target *target;
	int ret = target_take(info, &target);
	bool is_first;

	if (ret)
		return ret;
	is_first = !target->nr_sites;
	ret = pguard_probe_set_add(target, spec, refused, ret_nr_refused, info->extack);
	if (!ret && is_first && *ret_nr_refused < spec->nr)
		pguard_request_log(request, "trained on", target->id, NULL);
	pguard_target_unlock(target);
	return ret;
}

/* After the sites were added: how large it is, is known only then. */
static int sites_reply(struct pguard_request *request, u32 added,
		       const struct perfguard_site_refusal *refused, u32 nr_refused)
{
	size_t size = nr_refused * sizeof(*refused);

	return pguard_nl_reply_new(request, NLMSG_DEFAULT_SIZE + size) ?:
	       nla_put_u32(request->reply, PERFGUARD_A_SITE_ADDED, added) ?:
	       nla_put(request->reply, PERFGUARD_A_SITE_REFUSED, size, refused);
}

static int site_add(struct pguard_request *request)
{
	struct nlattr **attrs = request->info.attrs;
	struct nlattr *sites = attrs[PERFGUARD_A_SITE_SITES];
	struct pguard_probe_set_spec spec = {
		.file = request->file,
		.sites = nla_data(sites),
		.nr = nla_len(sites) / sizeof(*spec.sites),
		.flags = pguard_nl_u32(attrs[PERFGUARD_A_SITE_FLAGS]),
		.is_cancelled = request->is_cancelled,
	};
	struct perfguard_site_refusal *refused;
	u32 nr_refused;
	int ret;

	refused = kvmalloc_array(spec.nr, sizeof(*refused), GFP_KERNEL | __GFP_NOWARN);
	if (!refused)
		return -ENOMEM;
	ret = sites_add(request, &spec, refused, &nr_refused) ?:
	      sites_reply(request, spec.nr - nr_refused, refused, nr_refused);
	kvfree(refused);
	return ret;
}

int pguard_nl_site_add_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *sites = info->attrs[PERFGUARD_A_SITE_SITES];
	struct file *file;

	if (GENL_REQ_ATTR_CHECK(info, PERFGUARD_A_SITE_TARGET_ID) ||
	    GENL_REQ_ATTR_CHECK(info, PERFGUARD_A_SITE_FD) ||
	    GENL_REQ_ATTR_CHECK(info, PERFGUARD_A_SITE_SITES))
		return pguard_refuse(info->extack, -EINVAL,
				     "a target, a file and its sites are needed");
	if (nla_len(sites) % sizeof(struct perfguard_site))
		return pguard_refuse_attr(info->extack, sites, -EINVAL, "not an array of sites");
	file = pguard_nl_file(info, info->attrs[PERFGUARD_A_SITE_FD]);
	if (IS_ERR(file))
		return PTR_ERR(file);
	return pguard_request_queue(skb, info, file, site_add);
}

static int site_del(struct pguard_request *request)
{
	struct pguard_target *target;
	int ret = target_take(&request->info, &target);

	if (ret)
		return ret;
	pguard_probe_set_del(target, NULL);
	pguard_target_unlock(target);
	return 0;
}

int pguard_nl_site_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	return PGUARD_NL_REQUIRE(info, PERFGUARD_A_SITE_TARGET_ID, "which target?") ?:
	       pguard_request_queue(skb, info, NULL, site_del);
}
