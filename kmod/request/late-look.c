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

/* After such a report the next one is due when what the request took has doubled. */
static u8 reports_of(const struct pguard_request_excess *excess)
{
	return fls64(excess->took / excess->limit);
}

/* What is over soon is reported at its end alone, by a limit that was learnt.  Ticks until then. */
static u64 left_until_long(const struct pguard_request_excess *excess, u64 elapsed)
{
	u64 least = pguard_clock_ticks(PGUARD_LEAST_LEARNT_NS);

	return excess->profile && elapsed < least ? least - elapsed : 0;
}

/* Which parts grow of one that lasts: of what is in a unit it is not known yet whether that works for it. */
static u32 growing_parts(const struct pguard_client_request *request)
{
	u32 ret = BIT(PERFGUARD_REQUEST_PART_ALL);

	if (request->asked)
		ret |= BIT(PERFGUARD_REQUEST_PART_PEERS);
	else if (request->handing == PGUARD_HANDING_OVER)
		ret |= BIT(PERFGUARD_REQUEST_PART_HELD);
	return ret;
}

/* Add one that is late to those that are to be reported.  Returns false if there is no room. */
static bool add(struct pguard_connection_table *table, const struct pguard_late_request *late,
		bool is_first)
{
	if (!pguard_late_requests_add(&table->late, late))
		return false;
	if (is_first)
		atomic64_inc(&table->late.number);
	return true;
}

/*
 * Report the request of a connection that was answered and is not over, if it is due.  In how many
 * ticks it is to be looked at again; 0: there is no room to report it.
 */
static u64 answered_look(struct pguard_connection_table *table,
			 struct pguard_connection *connection,
			 const struct pguard_request_limits *limits)
{
	struct pguard_client_request *request = &connection->request;
	struct pguard_late_request late = { };
	struct request_parts parts;
	u64 left;

	if (pguard_request_elapsed(request, request->answered) <= pguard_request_least(limits))
		return U64_MAX;
	left = left_until(request->answered + settled(), max(pguard_clock(), request->last));
	if (left)
		return left;
	pguard_request_describe(connection, &late.slow);
	parts = pguard_request_parts(&late.slow.times, 0);
	late.excess = pguard_request_exceeds(limits, &late.slow.times, &parts);
	if (!late.excess.limit)
		return U64_MAX;
	pguard_request_describe_more(connection, &late.slow);
	if (!add(table, &late, !request->reports))
		return 0;
	request->reports = PGUARD_REQUEST_REPORTED;
	return U64_MAX;
}

/* The same of one that lasts. */
static u64 open_look(struct pguard_connection_table *table, struct pguard_connection *connection,
		     const struct pguard_request_limits *limits)
{
	struct pguard_client_request *request = &connection->request;
	u64 least = pguard_request_least(limits), elapsed, left;
	struct pguard_late_request late;
	struct request_parts parts;

	elapsed = pguard_request_elapsed(request, max(pguard_clock(), request->last));
	if (elapsed <= least)
		return least - elapsed + 1;
	pguard_request_describe_open(table, connection, &late);
	parts = pguard_request_parts(&late.slow.times, late.since);
	late.excess = pguard_request_exceeds(limits, &late.slow.times, &parts);
	elapsed = late.slow.times.elapsed;
	if (pguard_request_left(limits, elapsed, &parts, PGUARD_REQUEST_ALL_PARTS, request->reports))
		return pguard_request_left(limits, elapsed, &parts, growing_parts(request),
					   request->reports);
	left = left_until_long(&late.excess, elapsed);
	if (left)
		return left;
	if (!add(table, &late, !request->reports))
		return 0;
	request->reports = reports_of(&late.excess);
	return U64_MAX;
}

static u64 request_look(struct pguard_connection_table *table,
			struct pguard_connection *connection)
{
	const struct pguard_client_request *request = &connection->request;
	struct pguard_request_limits limits;

	lockdep_assert_held(&connection->lock);
	if (request->reports == PGUARD_REQUEST_REPORTED)
		return U64_MAX;
	pguard_request_limits(table, request, &limits);
	if (!pguard_request_least(&limits))
		return U64_MAX;
	return request->answered ? answered_look(table, connection, &limits)
				 : open_look(table, connection, &limits);
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
	u64 age = unread_age(connection), left;
	struct pguard_request_limits limits;
	struct request_parts parts;
	struct pguard_late_request late = {
		.slow.times.elapsed = age,
		.slow.times.queued = age,
		.slow.begin_ns = ktime_get_ns() - pguard_clock_ns(age),
		.slow.connection = connection->id,
		.slow.pid = connection->request.pid,
		.slow.tid = connection->request.tid,
		.slow.state = PERFGUARD_REQUEST_STATE_LASTS,
		.is_unread = true,
	};

	lockdep_assert_held(&connection->lock);
	if (!age)
		return U64_MAX;
	late.slow.times.runqueue = pguard_request_waited(
		&connection->request, connection->request.answer_delay, age, 0);
	pguard_request_limits(table, NULL, &limits);
	parts = pguard_request_parts(&late.slow.times, 0);
	late.excess = pguard_request_exceeds(&limits, &late.slow.times, &parts);
	left = pguard_request_left(&limits, age, &parts, PGUARD_REQUEST_ALL_PARTS,
				   connection->unread);
	if (left)
		return left;
	left = left_until_long(&late.excess, age);
	if (left)
		return left;
	pguard_client_describe(connection, &late.slow.client);
	if (!add(table, &late, !connection->unread))
		return 0;
	connection->unread = reports_of(&late.excess);
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
