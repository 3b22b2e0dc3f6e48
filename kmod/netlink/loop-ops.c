// SPDX-License-Identifier: GPL-2.0

/* Requests about event loops; see family.c for the context. */

#include "netlink/family.h"

#include "netlink/policy.h"
#include "netlink/request.h"
#include "profile/inference.h"
#include "profile/profile.h"
#include "target/image.h"
#include "target/thread.h"

#include <linux/mm.h>
#include <linux/slab.h>

#include <linux/perfguard.h>

static int context_parse(struct nlattr *nest, struct pguard_image *image,
			 struct pguard_wait_site *ret, struct netlink_ext_ack *extack)
{
	struct nlattr *attrs[PERFGUARD_A_WAIT_POINT_MAX + 1];
	static const u32 needed[] = {
		PERFGUARD_A_WAIT_POINT_LOOP_ID, PERFGUARD_A_WAIT_POINT_SYSCALL,
		PERFGUARD_A_WAIT_POINT_RETURN_ADDRESS, PERFGUARD_A_WAIT_POINT_DISTANCE,
	};
	struct pguard_image_loop *loop;
	u32 i;

	/* Validated by the family's policy. */
	if (nla_parse_nested_deprecated(attrs, PERFGUARD_A_WAIT_POINT_MAX, nest, NULL, extack))
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(needed); i++) {
		if (!attrs[needed[i]])
			return pguard_refuse_attr(extack, nest, -EINVAL,
						  "a context needs all of its attributes");
	}
	ret->role = PERFGUARD_BOUNDARY_ROLE_WAIT;
	ret->syscall = nla_get_u32(attrs[PERFGUARD_A_WAIT_POINT_SYSCALL]);
	ret->distance = nla_get_u32(attrs[PERFGUARD_A_WAIT_POINT_DISTANCE]);
	ret->return_address = nla_get_u64(attrs[PERFGUARD_A_WAIT_POINT_RETURN_ADDRESS]);
	if (ret->distance > PGUARD_MAX_DISTANCE || ret->distance % sizeof(u64))
		return pguard_refuse_attr(extack, attrs[PERFGUARD_A_WAIT_POINT_DISTANCE], -EINVAL,
					  "the distance is too large, or not a multiple of 8");
	if (!nla_get_u32(attrs[PERFGUARD_A_WAIT_POINT_LOOP_ID]))
		return pguard_refuse_attr(extack, attrs[PERFGUARD_A_WAIT_POINT_LOOP_ID], -EINVAL,
					  "loops are numbered from 1");
	loop = pguard_image_loop_new(image, nla_get_u32(attrs[PERFGUARD_A_WAIT_POINT_LOOP_ID]));
	if (loop) {
		ret->loop = &loop->loop;
		return 0;
	}
	if (image->nr_loops == PGUARD_MAX_LOOPS)
		return pguard_refuse(extack, -ENOSPC, "too many loops in this image");
	return pguard_refuse(extack, -ENOMEM, "no memory for a loop");
}

static int loops_set(struct pguard_image *image, struct genl_info *info)
{
	struct pguard_wait_sites *sites;
	struct nlattr *attr;
	int rest, ret;
	u32 nr = 0;

	nlmsg_for_each_attr(attr, info->nlhdr, GENL_HDRLEN, rest)
		nr += nla_type(attr) == PERFGUARD_A_LOOP_WAIT_POINT;
	if (nr > PGUARD_MAX_CONTEXTS)
		return pguard_refuse(info->extack, -ENOSPC, "too many contexts");
	sites = pguard_wait_sites_new(nr);
	if (!sites)
		return -ENOMEM;
	nlmsg_for_each_attr(attr, info->nlhdr, GENL_HDRLEN, rest) {
		if (nla_type(attr) != PERFGUARD_A_LOOP_WAIT_POINT)
			continue;
		ret = context_parse(attr, image, &sites->site[sites->nr], info->extack);
		if (ret) {
			pguard_wait_sites_put(sites);
			return ret;
		}
		sites->nr++;
	}
	pguard_image_set_sites(image, sites);
	return 0;
}

static int loop_set(struct pguard_request *request)
{
	struct genl_info *info = &request->info;
	struct nlattr *id = info->attrs[PERFGUARD_A_LOOP_IMAGE_ID];
	struct pguard_image *image;
	int ret = pguard_nl_control_lock();

	if (ret)
		return ret;
	image = pguard_image_find(nla_get_u32(id));
	if (image) {
		ret = loops_set(image, info);
		pguard_image_put(image);
	} else {
		ret = pguard_refuse_attr(info->extack, id, -ENOENT,
					 "no such image (its processes may have ended)");
	}
	mutex_unlock(&pguard_control);
	return ret;
}

int pguard_nl_loop_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	return PGUARD_NL_REQUIRE(info, PERFGUARD_A_LOOP_IMAGE_ID, "which image?") ?:
	       pguard_request_queue(skb, info, NULL, loop_set);
}

static int fill_contexts(struct sk_buff *skb, const struct pguard_image *image,
			 const struct pguard_loop *loop)
{
	const struct pguard_wait_sites *sites =
		rcu_dereference_protected(image->sites, lockdep_is_held(&pguard_control));
	struct nlattr *nest;
	u32 i;

	for (i = 0; sites && i < sites->nr; i++) {
		const struct pguard_wait_site *site = &sites->site[i];

		if (site->loop != loop)
			continue;
		nest = nla_nest_start(skb, PERFGUARD_A_LOOP_WAIT_POINT);
		if (!nest ||
		    nla_put_u32(skb, PERFGUARD_A_WAIT_POINT_LOOP_ID, loop->id) ||
		    nla_put_u32(skb, PERFGUARD_A_WAIT_POINT_SYSCALL, site->syscall) ||
		    pguard_nl_put64(skb, PERFGUARD_A_WAIT_POINT_RETURN_ADDRESS,
				    site->return_address) ||
		    nla_put_u32(skb, PERFGUARD_A_WAIT_POINT_DISTANCE, site->distance))
			return -EMSGSIZE;
		nla_nest_end(skb, nest);
	}
	return 0;
}

/* The threads that are in a loop. */
static u32 count_threads(const struct pguard_loop *loop)
{
	const struct pguard_inference *inference;
	const struct pguard_thread *thread;
	u32 ret = 0;

	rcu_read_lock();
	list_for_each_entry_rcu(thread, &pguard_all_threads, all) {
		inference = rcu_dereference(thread->inference);
		ret += inference && inference->loop == loop;
	}
	rcu_read_unlock();
	return ret;
}

static int fill_loop(struct sk_buff *skb, const struct pguard_image *image,
		     const struct pguard_loop *loop, const struct pguard_audit_sums *sums)
{
	return nla_put_u32(skb, PERFGUARD_A_LOOP_IMAGE_ID, image->id) ||
	       nla_put_u32(skb, PERFGUARD_A_LOOP_ID, loop->id) ||
	       fill_contexts(skb, image, loop) ||
	       nla_put_u32(skb, PERFGUARD_A_LOOP_THREADS, count_threads(loop)) ||
	       pguard_nl_put64(skb, PERFGUARD_A_LOOP_UNITS, sums->type.units) ||
	       pguard_nl_put64(skb, PERFGUARD_A_LOOP_LATE, sums->type.late) ||
	       pguard_nl_put64(skb, PERFGUARD_A_LOOP_ELAPSED_NS, sums->type.elapsed) ||
	       pguard_nl_put64(skb, PERFGUARD_A_LOOP_CPU_NS, sums->type.cpu) ||
	       pguard_nl_put64(skb, PERFGUARD_A_LOOP_RUNQUEUE_NS, sums->type.runqueue) ||
	       (sums->has_block_io &&
		pguard_nl_put64(skb, PERFGUARD_A_LOOP_BLOCK_IO_NS, sums->type.block_io)) ||
	       pguard_nl_put64(skb, PERFGUARD_A_LOOP_MIN_FAULTS, sums->type.min_faults) ||
	       pguard_nl_put64(skb, PERFGUARD_A_LOOP_MAJ_FAULTS, sums->type.maj_faults) ||
	       pguard_nl_put64(skb, PERFGUARD_A_LOOP_MAX_NS, sums->max) ||
	       nla_put(skb, PERFGUARD_A_LOOP_HIST, sizeof(sums->hist), sums->hist) ||
	       pguard_nl_put64(skb, PERFGUARD_A_LOOP_STOPPED, sums->type.stopped) ||
	       pguard_nl_put64(skb, PERFGUARD_A_LOOP_STOPPED_NS, sums->stopped);
}

/* The loops of one image; args[1] is the number of those in the dump so far. */
static int dump_loops(struct sk_buff *skb, struct netlink_callback *cb,
		      const struct pguard_image *image, struct pguard_audit_sums *sums)
{
	struct pguard_image_loop *loop;
	long i = 0;

	list_for_each_entry(loop, &image->loops, list) {
		if (i++ < cb->args[1])
			continue;
		pguard_audit_sum(&loop->loop, sums);
		if (PGUARD_NL_DUMP(skb, cb, PERFGUARD_CMD_LOOP_GET,
				   fill_loop(skb, image, &loop->loop, sums)))
			return -EMSGSIZE;
		cb->args[1]++;
	}
	return 0;
}

/* The image with the lowest id from @id on, referenced; NULL at the end. */
static struct pguard_image *image_from(u32 id)
{
	struct pguard_image *image, *ret;
	struct pguard_target *target;
	bool dead;

	do {
		ret = NULL;
		spin_lock(&pguard_images_lock);
		list_for_each_entry(target, &pguard_targets, list)
			list_for_each_entry(image, &target->images, list)
				if (image->id >= id && (!ret || image->id < ret->id))
					ret = image;
		/* The holder of the last reference waits for the lock. */
		dead = ret && !kref_get_unless_zero(&ret->kref);
		spin_unlock(&pguard_images_lock);
	} while (dead);
	return ret;
}

/* args[0]: id of the next image; [1]: number of its loops in the dump so far. */
int pguard_nl_loop_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct pguard_audit_sums *sums = kvmalloc(sizeof(*sums), GFP_KERNEL | __GFP_NOWARN);
	struct nlattr *id = pguard_dump_attrs(cb)[PERFGUARD_A_LOOP_IMAGE_ID];
	long last = id ? nla_get_u32(id) : U32_MAX;
	struct pguard_image *image;
	int ret;

	if (id)
		cb->args[0] = max(cb->args[0], last);
	if (!sums)
		return -ENOMEM;
	ret = pguard_nl_dump_lock(skb, cb);
	if (ret)
		goto out_free;
	while (cb->args[0] <= last && (image = image_from(cb->args[0]))) {
		if (image->id <= last)
			ret = dump_loops(skb, cb, image, sums);
		if (!ret) {
			cb->args[0] = image->id + 1L;
			cb->args[1] = 0;
		}
		pguard_image_put(image);
		if (ret)
			break;
	}
	mutex_unlock(&pguard_control);
	ret = skb->len;
out_free:
	kvfree(sums);
	return ret;
}
