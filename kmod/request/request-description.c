// SPDX-License-Identifier: GPL-2.0

#include "request/request-description.h"

#include "lib/account.h"

#include <linux/pid_namespace.h>
#include <linux/sched.h>

/* The remote address of a connection by datagrams. */
static void remote_of(const struct pguard_connection *connection, struct pguard_peer_address *ret)
{
	*ret = (struct pguard_peer_address){
		.family = connection->sk->sk_family,
		.port = connection->port,
		.host6 = connection->host,
	};
	if (ret->family == AF_INET)
		ret->host = connection->host.s6_addr32[3];
}

/* Who was asked. */
void pguard_peer_of(const struct pguard_connection *peer, struct pguard_peer_address *ret)
{
	if (likely(!pguard_connection_is_datagram(peer)))
		*ret = peer->address;
	else
		remote_of(peer, ret);
}

/*
 * Of the own side of the connection to a peer.  A socket that is not bound to an address sends to
 * a loopback one from the same.
 */
static void own_describe(const struct pguard_connection *peer, struct pguard_address *ret)
{
	struct pguard_peer_address remote;

	pguard_address_describe(peer->sk, PGUARD_END_OWN, ret);
	if (!pguard_connection_is_datagram(peer))
		return;
	remote_of(peer, &remote);
	if (remote.family == AF_INET && !ret->in.sin_addr.s_addr && ipv4_is_loopback(remote.host))
		ret->in.sin_addr.s_addr = remote.host;
	if (remote.family == AF_INET6 && ipv6_addr_any(&ret->in6.sin6_addr) &&
	    ipv6_addr_loopback(&remote.host6))
		ret->in6.sin6_addr = remote.host6;
}

void pguard_client_describe(const struct pguard_connection *client, struct pguard_address *ret)
{
	struct pguard_peer_address remote;

	if (!pguard_connection_is_datagram(client)) {
		pguard_address_describe(client->sk, PGUARD_END_OTHER, ret);
		return;
	}
	remote_of(client, &remote);
	pguard_address_put(&remote, ret);
}

static void peer_describe(const struct pguard_peer_address *peer, struct pguard_slow_request *ret)
{
	pguard_address_put(peer, &ret->peer);
	ret->peer_name = peer->family == AF_UNIX ? peer->name : 0;
}

/* Describe a request that has been answered. */
void pguard_request_describe(const struct pguard_connection *connection,
			     struct pguard_slow_request *ret)
{
	const struct pguard_client_request *request = &connection->request;

	*ret = (struct pguard_slow_request){
		.times = pguard_request_times_of(request),
		.pid = request->pid,
		.tid = request->tid,
		.state = PERFGUARD_REQUEST_STATE_ANSWERED,
	};
}

/* What is kept of one of the slowest besides. */
void pguard_request_describe_more(const struct pguard_connection *connection,
				  struct pguard_slow_request *ret)
{
	const struct pguard_client_request *request = &connection->request;

	ret->begin_ns = ktime_get_ns() - pguard_clock_ns(pguard_clock() - request->arrived);
	ret->connection = connection->id;
	peer_describe(&request->peer, ret);
	pguard_client_describe(connection, &ret->client);
}

/**
 * pguard_request_waited() - for how long a request has waited for a CPU
 * @request: one that was not handed over to another thread, or its time is not known
 * @delay: pguard_run_delay() of the thread that read it, at the begin
 * @elapsed: since then, ticks
 * @peers: what it waited for others, the same
 *
 * Return: ticks
 */
u64 pguard_request_waited(const struct pguard_client_request *request, u32 delay, u64 elapsed,
			  u64 peers)
{
	const struct task_struct *task;
	u32 now = delay;

	rcu_read_lock();
	task = pid_task(find_pid_ns(request->tid, &init_pid_ns), PIDTYPE_PID);
	/* Another one may have the id by now. */
	if (task && task->tgid == request->pid && request->by == request->tid)
		now = pguard_run_delay(pguard_account_run_delay(task));
	rcu_read_unlock();
	return pguard_request_runqueue(now - delay, elapsed, peers);
}

/* Describe a request that has not been answered. */
void pguard_request_describe_open(struct pguard_connection_table *table,
				  const struct pguard_connection *connection,
				  struct pguard_late_request *ret)
{
	const struct pguard_client_request *request = &connection->request;
	u64 now = max(pguard_clock(), request->last), since = now - request->last;
	u64 waiting = request->waiting, handed = request->handed;
	bool is_handed = request->handing == PGUARD_HANDING_OVER;
	const struct pguard_connection *peer = NULL;
	struct pguard_peer_address address;

	if (request->asked)
		waiting += since;
	else if (is_handed)
		handed += since;
	*ret = (struct pguard_late_request){
		.slow.times.elapsed = pguard_request_elapsed(request, now),
		.slow.times.queued = pguard_request_begun(request) - request->arrived,
		.slow.times.working = request->working,
		.slow.times.peers = request->peers + waiting,
		.slow.times.handed = handed,
		.slow.times.timer = pguard_request_fine(request->timer),
		.slow.pid = request->pid,
		.slow.tid = request->tid,
		.slow.state = PERFGUARD_REQUEST_STATE_LASTS,
		.by = request->by,
		.client = connection->sk,
		.unit = request->unit,
		.since = request->asked || is_handed ? 0 : since,
	};
	ret->slow.times.runqueue = pguard_request_waited(request, request->delay,
							 ret->slow.times.elapsed,
							 ret->slow.times.peers);
	pguard_request_describe_more(connection, &ret->slow);
	if (request->asked && pguard_request_wait(waiting) > request->longest)
		peer = pguard_connection_find(table, request->asked);
	/* Its socket may be gone, and another one be where it was. */
	if (!peer || !pguard_connection_is_peer(peer))
		return;
	pguard_peer_of(peer, &address);
	peer_describe(&address, &ret->slow);
	own_describe(peer, &ret->slow.via);
}
