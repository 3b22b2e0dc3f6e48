// SPDX-License-Identifier: GPL-2.0

/*
 * The look for requests that are late: one that lasts, one that was answered late and is not over,
 * and one that came and nobody has read.
 */

#include "request/client-request.h"
#include "request/request-description.h"
#include "request/sent-messages.h"

/* So long after a late request's last answer no other one is waited for: ticks. */
static u64 settled(void)
{
	return pguard_clock_ticks(100 * NSEC_PER_MSEC);
}

/* How many ticks are left until that moment; 0: it has passed. */
static u64 left_until(u64 at, u64 now)
{
	return (s64)(at - now) < 0 ? 0 : at - now;
}

/* When a request is reported the next time, after so many reports; it may never be.  Ticks. */
static u64 doubled(u64 limit, u8 reports)
{
	return reports < 62 - fls64(limit) ? limit << reports : S64_MAX / 2;
}

/* The same, by its limit; by one that was learnt what is over soon is reported at its end alone. */
static u64 due_after(const struct pguard_request_limit *limit, u8 reports)
{
	u64 due = doubled(limit->ticks, reports);

	return limit->profile ? max(due, pguard_clock_ticks(PGUARD_LEAST_LEARNT_NS)) : due;
}

/* A request was reported that had lasted so long: the next time is when that has doubled. */
static u8 reports_of(u64 ticks, u64 limit)
{
	return fls64(ticks / limit);
}

/*
 * Report the request of a connection if it is due.  In how many ticks it is to be looked
 * at again; 0: there is no room to report it.
 */
static u64 request_look(struct pguard_connection_table *table,
			struct pguard_connection *connection)
{
	struct pguard_client_request *request = &connection->request;
	u64 now = max(pguard_clock(), request->last), left;
	struct pguard_late_request late = { };
	struct pguard_request_limit limit;

	lockdep_assert_held(&connection->lock);
	pguard_request_limit(table, request, 0, &limit);
	if (request->reports == PGUARD_REQUEST_REPORTED || !limit.ticks ||
	    (request->answered && pguard_request_elapsed(request, request->answered) <= limit.ticks))
		return U64_MAX;
	left = left_until(request->answered ? request->answered + settled()
				: request->arrived + due_after(&limit, request->reports),
			  now);
	if (left)
		return left;
	if (request->answered) {
		pguard_request_describe(connection, &late.slow);
		pguard_request_describe_more(connection, &late.slow);
	} else {
		pguard_request_describe_open(table, connection, &late);
	}
	pguard_request_limit(table, request, late.slow.times.runqueue, &late.limit);
	if (late.slow.times.elapsed <= late.limit.ticks)
		return request->answered ? U64_MAX : late.limit.ticks - late.slow.times.elapsed + 1;
	if (!pguard_late_requests_add(&table->late, &late))
		return 0;
	if (!request->reports)
		atomic64_inc(&table->late.number);
	request->reports = request->answered ? PGUARD_REQUEST_REPORTED
					     : reports_of(now - request->arrived, limit.ticks);
	return U64_MAX;
}

/* What is left of a message that was answered is not the next one. */
static u64 local_unread_age(const struct pguard_connection *connection)
{
	u64 sent = pguard_sent_since(connection->sk, connection->request.answered);
	u64 now = pguard_clock();

	if (!sent || sent > now ||
	    skb_queue_empty_lockless(&connection->sk->sk_receive_queue))
		return 0;
	return now - sent;
}

/* How long ago the client's next message came that nobody has read; ticks, 0: there is none. */
static u64 unread_age(const struct pguard_connection *connection)
{
	const struct sock *sk = connection->sk;
	struct pguard_arrival arrival;

	if (connection->role != PGUARD_CONNECTION_CLIENT || !connection->request.pid ||
	    pguard_connection_is_datagram(connection) || pguard_connection_is_asker(connection))
		return 0;
	if (sk->sk_family == AF_UNIX)
		return local_unread_age(connection);
	pguard_arrival_set(&arrival, sk);
	return arrival.packet_us ? pguard_clock_ticks(pguard_arrival_age(sk, &arrival)) : 0;
}

/* The same of a message that waits to be read. */
static u64 unread_look(struct pguard_connection_table *table,
		       struct pguard_connection *connection)
{
	u64 age = unread_age(connection), due;
	struct pguard_late_request late = {
		.slow.times.elapsed = age,
		.slow.times.queued = age,
		.slow.begin_ns = ktime_get_ns() - pguard_clock_ns(age),
		.slow.connection = connection->id,
		.slow.pid = connection->request.pid,
		.slow.tid = connection->request.tid,
		.slow.state = PERFGUARD_REQUEST_STATE_LASTS,
	};

	lockdep_assert_held(&connection->lock);
	if (!age)
		return U64_MAX;
	late.slow.times.runqueue = pguard_request_waited(
		&connection->request, connection->request.answer_delay, age, 0);
	pguard_request_limit(table, NULL, late.slow.times.runqueue, &late.limit);
	if (!late.limit.ticks)
		return U64_MAX;
	due = due_after(&late.limit, connection->unread);
	if (age < due)
		return due - age;
	pguard_client_describe(connection, &late.slow.client);
	if (!pguard_late_requests_add(&table->late, &late))
		return 0;
	if (!connection->unread)
		atomic64_inc(&table->late.number);
	connection->unread = reports_of(age, late.limit.ticks);
	return U64_MAX;
}

/**
 * pguard_connection_look() - look whether a request is to be reported
 * @table: of the connection
 * @connection: in it; RCU
 * @soonest: in how many ticks one that begins now may be
 *
 * If so, it is added to those that are; so is one that came, and is not read yet.
 *
 * Context: any but interrupts; does not sleep.
 * Return: in how many ticks it is to be looked at again; U64_MAX if its end will be seen.
 */
u64 pguard_connection_look(struct pguard_connection_table *table,
			   struct pguard_connection *connection, u64 soonest)
{
	u64 ret = U64_MAX;

	/* What a client does not wait for is not late. */
	if (sock_flag(connection->sk, SOCK_DEAD))
		return ret;
	spin_lock(&connection->lock);
	if (connection->is_open)
		ret = request_look(table, connection);
	if (!connection->is_open || connection->request.answered)
		ret = min(ret, unread_look(table, connection));
	else
		/* Meanwhile others may come, and not be read. */
		ret = min(ret, soonest);
	spin_unlock(&connection->lock);
	return ret;
}
