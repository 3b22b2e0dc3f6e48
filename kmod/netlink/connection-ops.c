// SPDX-License-Identifier: GPL-2.0

/* Requests about what clients ask of targets; see family.c for the context. */

#include "netlink/family.h"

#include "lib/clock.h"
#include "netlink/policy.h"
#include "request/connection.h"
#include "target/target.h"

#include <linux/mm.h>
#include <linux/slab.h>

#include <linux/perfguard.h>

static int put_ticks(struct sk_buff *skb, int type, u64 ticks)
{
	return pguard_nl_put64(skb, type, pguard_clock_ns(ticks));
}

/**
 * pguard_nl_put_slow_request() - describe a request
 * @skb: the message
 * @attr: the nest
 * @slow: the request
 * @peer_name: of the peer's local socket; NULL, or zeros, for none
 *
 * Return: 0 or -EMSGSIZE.
 */
int pguard_nl_put_slow_request(struct sk_buff *skb, int attr,
			       const struct pguard_slow_request *slow,
			       const struct pguard_socket_name *peer_name)
{
	struct nlattr *nest = nla_nest_start(skb, attr);

	if (!nest ||
	    put_ticks(skb, PERFGUARD_A_SLOW_REQUEST_ELAPSED_NS, slow->times.elapsed) ||
	    put_ticks(skb, PERFGUARD_A_SLOW_REQUEST_QUEUED_NS, slow->times.queued) ||
	    put_ticks(skb, PERFGUARD_A_SLOW_REQUEST_WORKING_NS, slow->times.working) ||
	    put_ticks(skb, PERFGUARD_A_SLOW_REQUEST_PEERS_NS, slow->times.peers) ||
	    put_ticks(skb, PERFGUARD_A_SLOW_REQUEST_HANDED_NS, slow->times.handed) ||
	    put_ticks(skb, PERFGUARD_A_SLOW_REQUEST_TIMER_NS, slow->times.timer) ||
	    put_ticks(skb, PERFGUARD_A_SLOW_REQUEST_RUNQUEUE_NS, slow->times.runqueue) ||
	    pguard_nl_put64(skb, PERFGUARD_A_SLOW_REQUEST_BEGIN_NS, slow->begin_ns) ||
	    nla_put_u32(skb, PERFGUARD_A_SLOW_REQUEST_PID, slow->pid) ||
	    nla_put_u32(skb, PERFGUARD_A_SLOW_REQUEST_TID, slow->tid) ||
	    nla_put_u32(skb, PERFGUARD_A_SLOW_REQUEST_CONNECTION, slow->connection) ||
	    nla_put_u32(skb, PERFGUARD_A_SLOW_REQUEST_STATE, slow->state) ||
	    nla_put(skb, PERFGUARD_A_SLOW_REQUEST_CLIENT, sizeof(slow->client), &slow->client) ||
	    (slow->part && nla_put_u32(skb, PERFGUARD_A_SLOW_REQUEST_PART, slow->part)) ||
	    (slow->peer.any.sa_family &&
	     nla_put(skb, PERFGUARD_A_SLOW_REQUEST_PEER, sizeof(slow->peer), &slow->peer)) ||
	    (slow->via.any.sa_family &&
	     nla_put(skb, PERFGUARD_A_SLOW_REQUEST_VIA, sizeof(slow->via), &slow->via)) ||
	    (peer_name && memchr_inv(peer_name, 0, sizeof(*peer_name)) &&
	     nla_put(skb, PERFGUARD_A_SLOW_REQUEST_PEER_NAME, sizeof(*peer_name), peer_name)))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int fill_requests(struct sk_buff *skb, const struct pguard_target *target,
			 const struct pguard_request_report *report)
{
	const struct pguard_request_totals *totals = &report->totals;
	const struct pguard_slow_request *slow;
	u32 i;

	if (nla_put_u32(skb, PERFGUARD_A_REQUEST_TARGET_ID, target->id) ||
	    nla_put_u32(skb, PERFGUARD_A_REQUEST_CONNECTIONS,
			atomic_read(&target->connections->hash.nelems)) ||
	    pguard_nl_put64(skb, PERFGUARD_A_REQUEST_REFUSED,
			    atomic64_read(&target->connections->refused)) ||
	    pguard_nl_put64(skb, PERFGUARD_A_REQUEST_REQUESTS, totals->requests) ||
	    pguard_nl_put64(skb, PERFGUARD_A_REQUEST_UNANSWERED, totals->unanswered) ||
	    put_ticks(skb, PERFGUARD_A_REQUEST_ELAPSED_NS, totals->times.elapsed) ||
	    put_ticks(skb, PERFGUARD_A_REQUEST_QUEUED_NS, totals->times.queued) ||
	    put_ticks(skb, PERFGUARD_A_REQUEST_WORKING_NS, totals->times.working) ||
	    put_ticks(skb, PERFGUARD_A_REQUEST_PEERS_NS, totals->times.peers) ||
	    put_ticks(skb, PERFGUARD_A_REQUEST_HANDED_NS, totals->times.handed) ||
	    put_ticks(skb, PERFGUARD_A_REQUEST_TIMER_NS, totals->times.timer) ||
	    put_ticks(skb, PERFGUARD_A_REQUEST_RUNQUEUE_NS, totals->times.runqueue) ||
	    put_ticks(skb, PERFGUARD_A_REQUEST_MAX_NS, totals->max) ||
	    nla_put(skb, PERFGUARD_A_REQUEST_HIST, sizeof(totals->hist), totals->hist))
		return -EMSGSIZE;
	for (i = 0; i < PGUARD_SLOW_REQUESTS; i++) {
		slow = &report->slowest.of[i];
		if (slow->times.elapsed &&
		    pguard_nl_put_slow_request(skb, PERFGUARD_A_REQUEST_SLOW, slow,
					       pguard_socket_name(&target->connections->names,
								  slow->peer_name)))
			return -EMSGSIZE;
	}
	return 0;
}

/* args[0]: id of the last target in the dump so far. */
int pguard_nl_request_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	u32 only = pguard_nl_u32(pguard_dump_attrs(cb)[PERFGUARD_A_REQUEST_TARGET_ID]);
	struct pguard_request_report *report = kvmalloc(sizeof(*report), GFP_KERNEL | __GFP_NOWARN);
	struct pguard_target *target;
	int ret;

	if (!report)
		return -ENOMEM;
	ret = pguard_nl_dump_lock(skb, cb);
	if (ret)
		goto out_free;
	list_for_each_entry(target, &pguard_targets, list) {
		if (target->id <= cb->args[0] || (only && target->id != only) ||
		    !target->connections)
			continue;
		pguard_connection_table_read(target->connections, report);
		if (PGUARD_NL_DUMP(skb, cb, PERFGUARD_CMD_REQUEST_GET,
				   fill_requests(skb, target, report)))
			break;
		cb->args[0] = target->id;
	}
	mutex_unlock(&pguard_control);
	ret = skb->len;
out_free:
	kvfree(report);
	return ret;
}
