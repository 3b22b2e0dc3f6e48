// SPDX-License-Identifier: GPL-2.0

/* Counters of the module as a whole; see family.c for the context. */

#include "netlink/family.h"

#include "hook/hook.h"
#include "netlink/policy.h"
#include "netlink/request.h"
#include "probe/site.h"
#include "probe/trial.h"
#include "report/alert-record.h"
#include "report/stack.h"
#include "target/image.h"
#include "target/thread.h"
#include "trainstream/stream.h"

#include <linux/perfguard.h>

static int fill_hook(struct sk_buff *skb, const struct pguard_hook_info *hook)
{
	struct nlattr *nest = nla_nest_start(skb, PERFGUARD_A_STATS_HOOK);

	if (!nest || nla_put_u32(skb, PERFGUARD_A_HOOK_SYSCALL, hook->syscall) ||
	    nla_put_string(skb, PERFGUARD_A_HOOK_NAME, hook->name) ||
	    (hook->direct && nla_put_flag(skb, PERFGUARD_A_HOOK_IS_DIRECT)) ||
	    pguard_nl_put64(skb, PERFGUARD_A_HOOK_MISSED, hook->missed))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/* Some are written under the ring's lock, without which they may be slightly out of date. */
static int fill_stats(struct sk_buff *skb)
{
	struct pguard_hook_info hook;
	struct pguard_target *target;
	u32 position = 0, targets = 0, sites = 0;

	list_for_each_entry(target, &pguard_targets, list) {
		targets++;
		sites += target->nr_sites;
	}
	if (nla_put_u32(skb, PERFGUARD_A_STATS_TARGETS, targets) ||
	    nla_put_u32(skb, PERFGUARD_A_STATS_THREADS, atomic_read(&pguard_nr_threads)) ||
	    nla_put_u32(skb, PERFGUARD_A_STATS_ALIVE, pguard_hook_alive()) ||
	    pguard_nl_put64(skb, PERFGUARD_A_STATS_NEXT_ALERT, READ_ONCE(pguard_alerts.next_seq)) ||
	    pguard_nl_put64(skb, PERFGUARD_A_STATS_NEXT_WAIT, READ_ONCE(pguard_waits.next_seq)) ||
	    pguard_nl_put64(skb, PERFGUARD_A_STATS_LOST_MEMORY,
			    atomic64_read(&pguard_lost_memory)) ||
	    pguard_nl_put64(skb, PERFGUARD_A_STATS_LOST_OVERWRITTEN,
			    READ_ONCE(pguard_alerts.overwritten)) ||
	    pguard_nl_put64(skb, PERFGUARD_A_STATS_TORN_STACKS,
			    atomic64_read(&pguard_capture_torn)) ||
	    nla_put_u32(skb, PERFGUARD_A_STATS_RING_BYTES,
			READ_ONCE(pguard_alerts.bytes) + READ_ONCE(pguard_waits.bytes)) ||
	    nla_put_u32(skb, PERFGUARD_A_STATS_SITES, sites) ||
	    pguard_nl_put64(skb, PERFGUARD_A_STATS_STREAM_LOST, pguard_stream_lost()) ||
	    pguard_nl_put64(skb, PERFGUARD_A_STATS_CROWDED_STACKS,
			    atomic64_read(&pguard_stack_history_refused)) ||
	    pguard_nl_put64(skb, PERFGUARD_A_STATS_STREAM_UNREAD,
			    atomic64_read(&pguard_site_unread)) ||
	    nla_put_u32(skb, PERFGUARD_A_STATS_TRIAL, pguard_trial) ||
	    (pguard_trial_error &&
	     nla_put_u32(skb, PERFGUARD_A_STATS_TRIAL_ERROR, pguard_trial_error)))
		return -EMSGSIZE;
	while (pguard_hook_next(&position, &hook))
		if (fill_hook(skb, &hook))
			return -EMSGSIZE;
	return 0;
}

static int stats_get(struct pguard_request *request)
{
	int ret = pguard_nl_reply_new(request, NLMSG_GOODSIZE) ?: pguard_nl_control_lock();

	if (ret)
		return ret;
	ret = fill_stats(request->reply);
	mutex_unlock(&pguard_control);
	return ret;
}

int pguard_nl_stats_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	return pguard_request_queue(skb, info, NULL, stats_get);
}
