// SPDX-License-Identifier: GPL-2.0

#include "request/client-request.h"

#include "profile/inference.h"
#include "request/request-description.h"
#include "request/sent-messages.h"
#include "trainstream/stream.h"

#include <net/inet_connection_sock.h>
#include <net/tcp.h>

/*
 * How long ago the bytes came that have been read just now, ns.  Until they were read the
 * kernel kept when the last packet came or went, which is those unless it has acknowledged
 * them by one of their own since; and it keeps in jiffies when the last data came.
 */
u64 pguard_arrival_age(const struct sock *sk, const struct pguard_arrival *arrival)
{
	u64 packet_ns = ktime_get_ns() - arrival->packet_us * NSEC_PER_USEC;
	/* Some may come just now. */
	s32 ticks = tcp_jiffies32 - READ_ONCE(inet_csk(sk)->icsk_ack.lrcvtime);
	u64 data_ns = (u64)max(ticks, 0) * TICK_NSEC;

	if ((s64)packet_ns < 0)
		return 0;
	return data_ns > packet_ns + 2 * TICK_NSEC ? data_ns - TICK_NSEC / 2 : packet_ns;
}

/*
 * How long a thread that slept in the call for it has waited for a CPU since it was woken, ns.
 * Of what had come before it is not known, except for datagrams that the kernel has stamped
 * (pguard_datagram_arrival()).
 */
static u64 woken_age(const struct pguard_message *message)
{
	const struct pguard_arrival *arrival = &message->thread->arrival;

	return arrival->talk ? current->sched_info.run_delay - arrival->run_delay : 0;
}

/* Of what lay in a local socket it is known if who sent it is watched, too. */
static __always_inline u64 local_arrival(const struct pguard_message *message, u64 before)
{
	return pguard_sent_since(message->sk, before) ?:
	       message->now - pguard_clock_ticks(woken_age(message));
}

/* pguard_clock() when a message came, after the answer @before. */
static __always_inline u64 arrival(const struct pguard_message *message, u64 before)
{
	const struct pguard_arrival *arrival = &message->thread->arrival;
	u64 age;

	if (likely(arrival->talk && arrival->packet_us)) {
		age = pguard_arrival_age(message->sk, arrival);
	} else {
		if (message->sk->sk_family == AF_UNIX)
			return local_arrival(message, before);
		age = woken_age(message);
	}
	/* An age is of just now, and the host of a guest may have had the CPU since the message. */
	return pguard_clock() - pguard_clock_ticks(age);
}

/* So long whoever is woken may wait for a CPU. */
enum { LITTLE_NS = 64 * NSEC_PER_USEC };

/*
 * How long current has waited for a CPU since its last message before the unit at hand, or its last
 * one if there is none, ns.  What came meanwhile may be read after others that did.
 */
static __always_inline u64 idle_delay(struct pguard_thread *thread, u64 unit)
{
	struct pguard_serves *serves = &thread->serves;

	if (!unit || READ_ONCE(thread->start) > serves->last)
		serves->idle_delay = serves->run_delay;
	return current->sched_info.run_delay - serves->idle_delay;
}

/* An answer lay there while current had no CPU: that was no waiting for who has answered. */
static noinline void leave_ready(struct pguard_client_request *request,
				 const struct pguard_message *message, u64 delay)
{
	u64 since = arrival(message, request->last), now = max(pguard_clock(), since);

	request->waiting -= min3(request->waiting, now - since,
				 pguard_clock_ticks(delay));
}

/* What was waited since somebody was asked is over.  Returns true if that is the longest so far. */
static bool take_wait(struct pguard_client_request *request)
{
	u32 wait = pguard_request_wait(request->waiting);
	bool ret = wait > request->longest;

	if (ret)
		request->longest = wait;
	request->peers += request->waiting;
	request->waiting = 0;
	request->asked = 0;
	return ret;
}

/* What was waited since somebody was asked was for this answer; without one it was for none. */
static void take_answer(struct pguard_client_request *request,
			const struct pguard_connection *peer)
{
	if (take_wait(request))
		pguard_peer_of(peer, &request->peer);
}

/* Does a thread work for the client whose request this is? */
static bool is_served(const struct pguard_client_request *request,
		      const struct pguard_serves *serves)
{
	const struct pguard_connection *client =
		container_of(request, struct pguard_connection, request);

	return serves->client == client->sk && serves->id == client->id;
}

/* Has this thread worked for the request since its last message? */
static bool goes_on(const struct pguard_client_request *request,
		    const struct pguard_message *message, u64 unit)
{
	const struct pguard_serves *serves = &message->thread->serves;

	if (request->by != message->thread->tid)
		return false;
	return (unit && request->unit == (u16)unit) ||
	       (serves->is_handed && is_served(request, serves));
}

/* Since when current can have worked in its unit for a request that is not the unit's. */
static u64 free_since(const struct pguard_thread *thread)
{
	return max(READ_ONCE(thread->start), thread->serves.last);
}

/* Is a message of another client what the unit at hand does something for? */
static bool has_another(const struct pguard_message *message, u64 unit)
{
	const struct pguard_serves *serves = &message->thread->serves;

	return serves->client && !serves->is_handed && serves->unit == unit;
}

/* The number of a connection in an event. */
static u32 event_number(u32 id)
{
	return id & 0xfffffff;
}

/* Record who has, or had, what was handed over.  Context: hooked calls. */
static noinline void record_taken(const struct pguard_message *message, u32 id, u64 at, u64 who)
{
	u64 ago = pguard_clock() - at;

	if (pguard_stream_wants_units(message->thread->image->target))
		pguard_stream_put(message->thread, PERFGUARD_EVENT_KIND_REQUEST_TAKEN,
				  event_number(id), ktime_get_ns() - pguard_clock_ns(ago), who);
}

/**
 * pguard_client_request_returned() - who has handed back to current has had a request
 * @message: by which that is known
 * @id: of its connection
 * @at: since when that one, or another one that was held to be it, pguard_clock()
 *
 * It is recorded.  Context: hooked calls.
 */
void pguard_client_request_returned(const struct pguard_message *message, u32 id, u64 at)
{
	const struct pguard_returned *returned = &message->thread->serves.returned;

	record_taken(message, id, at, (u64)returned->tid << 32 | returned->by);
}

/* Another thread had it, which has handed it back. */
static void record_back(const struct pguard_client_request *request,
			const struct pguard_message *message, const struct pguard_handback *back)
{
	const struct pguard_connection *connection =
		container_of(request, struct pguard_connection, request);

	if (unlikely(pguard_stream_is_open()) && back->tid && request->by == message->thread->tid)
		record_taken(message, connection->id, request->last,
			     (u64)back->tid << 32 | message->thread->tid);
}

/*
 * The thread goes on with it, and not with what was handed back to it: who has handed that back had this
 * one, as workers that were woken take what they find in any order.
 */
static void record_other(const struct pguard_client_request *request,
			 const struct pguard_message *message)
{
	const struct pguard_connection *connection =
		container_of(request, struct pguard_connection, request);
	struct pguard_returned *returned = &message->thread->serves.returned;

	if (!returned->by || returned->id == connection->id)
		return;
	/* It was handed back before, and waits for the thread since. */
	if (request->by == message->thread->tid && request->handing == PGUARD_HANDING_GIVEN &&
	    returned->owed != connection->id)
		return;
	if (unlikely(pguard_stream_is_open()))
		pguard_client_request_returned(message, connection->id, request->last);
	returned->owed = returned->id;
	returned->by = 0;
}

/*
 * A thread goes on with it, for no reason that was seen: maybe another one has handed it back
 * that was awake when it took it.  Several are handed back as one if nobody has taken the first
 * yet: then it is not known when each was begun with.
 *
 * Return: false if it was not so.
 */
static bool account_back(struct pguard_client_request *request,
			 const struct pguard_message *message, u64 unit, u64 from)
{
	const struct pguard_serves *serves = &message->thread->serves;
	struct pguard_handback back;
	u64 begun;

	if (!pguard_handback_claim(&message->table->handovers, request->last, from, &back)) {
		if (!serves->is_handed || !unit || serves->unit != unit)
			return false;
		record_other(request, message);
		request->handed += from - request->last;
		return true;
	}
	begun = clamp(back.begun, request->last, back.at);
	record_back(request, message, &back);
	request->handed += begun - request->last + from - back.at;
	request->working += back.at - begun;
	return true;
}

/* Has a timer of the program's called for the unit at hand? */
static bool is_timed(const struct pguard_thread *thread, u64 unit)
{
	return unit && thread->serves.timed == (u16)unit;
}

/* Until then no unit was seen to work for it, it was not handed over, and nobody was asked. */
static noinline void account_unseen(struct pguard_client_request *request,
				    const struct pguard_message *message, u64 unit, u64 from)
{
	bool is_given = request->handing == PGUARD_HANDING_GIVEN;
	u64 gap = from - request->last;

	if (has_another(message, unit))
		return;
	if (request->by == message->thread->tid && is_timed(message->thread, unit)) {
		request->timer = pguard_request_coarse(gap + pguard_request_fine(request->timer));
		return;
	}
	if ((request->by == message->thread->tid || is_given) &&
	    account_back(request, message, unit, from))
		return;
	if (is_given)
		request->working += gap;
	else if (request->by != message->thread->tid)
		/* It cannot have come to this thread but from that one. */
		request->handed += gap;
}

/* Until then no unit was seen to work for it. */
static void account_gap(struct pguard_client_request *request,
			const struct pguard_message *message, u64 unit, u64 from)
{
	u64 gap = from - request->last;

	if (request->asked)
		request->waiting += gap;
	else if (request->handing == PGUARD_HANDING_OVER)
		request->handed += gap;
	else if (gap)
		account_unseen(request, message, unit, from);
}

/* In jiffies, and since the connection was made; of TCP alone. */
static u32 held_up_by(const struct sock *client)
{
	const struct tcp_sock *tp = tcp_sk(client);
	u32 ret = READ_ONCE(tp->chrono_stat[TCP_CHRONO_RWND_LIMITED - 1]);

	return tp->chrono_type == TCP_CHRONO_RWND_LIMITED
		? ret + tcp_jiffies32 - READ_ONCE(tp->chrono_start) : ret;
}

/*
 * It is answered once more: how long the client had no room since the answer before is no time
 * of the request.
 */
static noinline void leave_out(struct pguard_connection *connection, u64 now)
{
	struct pguard_client_request *request = &connection->request;
	u16 held_up;
	u64 most;

	if (!pguard_is_tcp(connection->sk))
		return;
	held_up = held_up_by(connection->sk) - connection->held_up;
	if (!held_up)
		return;
	most = min_t(u64, held_up, div_u64(pguard_clock_ns(now - request->answered), TICK_NSEC));
	request->left_out += most;
	request->last = min(request->last + pguard_clock_ticks(most * TICK_NSEC), now);
}

/* If the unit at hand has read it, what that has met so far says of the request. */
static noinline void take_type(struct pguard_client_request *request,
			       const struct pguard_thread *thread, u64 unit)
{
	const struct pguard_inference *inference = pguard_thread_inference(thread);

	if (!unit || request->tid != current->pid || READ_ONCE(thread->start) > pguard_request_begun(request))
		return;
	if (!inference || inference->verdict->final == INFER_NO_TYPE)
		return;
	request->type = inference->verdict->type + 1;
	request->profile = inference->profile->id;
}

/*
 * The unit at hand had its last message, too, as most often: all since then is its work.
 *
 * Return: false if it was not so.
 */
static __always_inline bool account_on(struct pguard_client_request *request,
				       const struct pguard_message *message)
{
	u64 unit = pguard_unit_of(message->thread), now = max(message->now, request->last);

	if (!unit || request->unit != (u16)unit || request->by != message->thread->tid)
		return false;
	request->handing = PGUARD_HANDING_NONE;
	request->working += now - request->last;
	request->last = now;
	if (unlikely(READ_ONCE(message->table->late.is_learnt)))
		take_type(request, message->thread, unit);
	return true;
}

/* As pguard_client_request_account(), whoever had the last message. */
static noinline void account_any(struct pguard_client_request *request,
				 const struct pguard_message *message,
				 const struct pguard_connection *peer)
{
	u64 unit = pguard_unit_of(message->thread), now, from, delay;

	/* Another thread may have been here since the clock was read. */
	now = max(message->now, request->last);
	from = now;
	if (goes_on(request, message, unit))
		from = request->last;
	else if (unit)
		from = clamp(free_since(message->thread), request->last, now);
	/* A thread may ask and wait in one unit. */
	if (peer && request->asked && from == request->last)
		from = now;
	account_gap(request, message, unit, from);
	request->handing = PGUARD_HANDING_NONE;
	if (peer) {
		delay = idle_delay(message->thread, unit);
		if (unlikely(delay > LITTLE_NS))
			leave_ready(request, message, delay);
		take_answer(request, peer);
	}
	request->working += now - from;
	request->last = now;
	request->unit = unit;
	request->by = message->thread->tid;
	if (unlikely(READ_ONCE(message->table->late.is_learnt)))
		take_type(request, message->thread, unit);
}

static __always_inline void account(struct pguard_client_request *request,
				    const struct pguard_message *message,
				    const struct pguard_connection *peer)
{
	if (peer || !account_on(request, message))
		account_any(request, message, peer);
}

/* The parts of the time until now; of a request that is open.  @peer: it has answered, or NULL. */
void pguard_client_request_account(struct pguard_client_request *request,
				   const struct pguard_message *message,
				   const struct pguard_connection *peer)
{
	account(request, message, peer);
}

/**
 * pguard_client_request_woken() - who works for a request was woken by another process's signal
 * @request: open
 * @message: by which current has read that
 * @pid: of the other one
 *
 * If nothing else is known of the time since its thread had the last message of it, that has waited
 * for the signal.
 */
void pguard_client_request_woken(struct pguard_client_request *request,
				 const struct pguard_message *message, u32 pid)
{
	if (request->answered || request->asked || request->handing != PGUARD_HANDING_NONE ||
	    request->by != message->thread->tid)
		return;
	/* No connection has this key. */
	request->asked = 1;
	pguard_client_request_account(request, message, NULL);
	if (take_wait(request))
		request->peer = (struct pguard_peer_address){
			.family = AF_UNIX,
			.name = PGUARD_BY_SIGNAL,
			.pid = pid,
		};
}

/* What has ended late is reported by a work: here nothing can be allocated. */
static noinline void report_end(struct pguard_connection_table *table,
				const struct pguard_client_request *request,
				const struct pguard_late_request *late)
{
	bool is_known = request->reports;

	if (!is_known)
		atomic64_inc(&table->late.number);
	if (!pguard_late_requests_add(&table->late, late))
		atomic64_inc(&table->late.suppressed);
	mod_delayed_work(system_dfl_wq, &table->late.watch, 0);
}

/* The client hung up before it was answered, or had no answer to its datagrams for long. */
static void request_unanswered(struct pguard_connection_table *table,
			       struct pguard_connection *connection)
{
	struct pguard_request_limits limits;
	struct pguard_late_request ended;
	struct request_parts parts;

	/* Nobody is answered by this socket. */
	if (connection->request.reports == PGUARD_REQUEST_REPORTED)
		return;
	pguard_request_sums_unanswered(&table->sums);
	/* That is no fault of the server, if it was not late yet. */
	if (!connection->request.reports || !READ_ONCE(table->late.soonest))
		return;
	rcu_read_lock();
	pguard_request_describe_open(table, connection, &ended);
	rcu_read_unlock();
	ended.slow.state = PERFGUARD_REQUEST_STATE_UNANSWERED;
	pguard_request_limits(table, &connection->request, &limits);
	parts = pguard_request_parts(&ended.slow.times, ended.since);
	ended.excess = pguard_request_exceeds(&limits, &ended.slow.times, &parts);
	report_end(table, &connection->request, &ended);
}

/* Would it exceed its limit of all of its time if what it waited for a CPU were its own? */
static bool is_starved(const struct pguard_request_limits *limits,
		       const struct pguard_request_times *times)
{
	u64 limit = limits->learnt.of[REQUEST_PART_ALL];

	return limit && times->elapsed > limit;
}

/* A request was answered: it counts by what was learnt.  Is it late, and to be reported? */
static bool ends_late(struct pguard_connection_table *table,
		      const struct pguard_client_request *request,
		      struct pguard_late_request *late)
{
	const struct pguard_request_times *times = &late->slow.times;
	struct request_parts parts = pguard_request_parts(times, 0);
	struct pguard_request_limits limits;

	if (READ_ONCE(table->late.is_learnt))
		pguard_request_count(table, request, &parts);
	if (request->reports == PGUARD_REQUEST_REPORTED)
		return false;
	pguard_request_limits(table, request, &limits);
	late->excess = pguard_request_exceeds(&limits, times, &parts);
	if (!late->excess.limit && is_starved(&limits, times))
		atomic64_inc(&table->late.starved);
	return late->excess.limit;
}

/* The same: if it is late, it is reported. */
static noinline void judge_answered(struct pguard_connection_table *table,
				    const struct pguard_connection *connection)
{
	struct pguard_late_request late = { };

	pguard_request_describe(connection, &late.slow);
	if (!ends_late(table, &connection->request, &late))
		return;
	pguard_request_describe_more(connection, &late.slow);
	report_end(table, &connection->request, &late);
}

/* It may be one of the slowest. */
static noinline void keep_answered(struct pguard_connection_table *table,
				   const struct pguard_connection *connection)
{
	struct pguard_slow_request ended;

	pguard_request_describe(connection, &ended);
	pguard_request_describe_more(connection, &ended);
	pguard_request_sums_keep(&table->sums, &ended);
}

/* Preemption is off, by the connection's lock. */
static __always_inline void request_answered(struct pguard_connection_table *table,
					     struct pguard_connection *connection)
{
	const struct pguard_request_times times = pguard_request_times_of(&connection->request);

	if (unlikely(READ_ONCE(table->late.soonest)))
		judge_answered(table, connection);
	pguard_request_totals_add(this_cpu_ptr(table->sums.cpus), &times);
	if (unlikely(pguard_request_is_slow(&table->sums, times.elapsed)))
		keep_answered(table, connection);
}

/* The request that a client has made, if any, is over. */
static __always_inline void request_end(struct pguard_connection_table *table,
					struct pguard_connection *connection)
{
	lockdep_assert_held(&connection->lock);
	if (!connection->is_open)
		return;
	connection->is_open = false;
	if (likely(connection->request.answered))
		request_answered(table, connection);
	else
		request_unanswered(table, connection);
}

/*
 * The end of an answer may leave long after it was written, where Nagle's algorithm waits for the
 * client to acknowledge what went before.  The kernel keeps when the last packet left, which may
 * have had no data; and in jiffies when the last data did.
 */
static __always_inline void answer_leave(struct pguard_connection *connection,
					 const struct pguard_message *message)
{
	const struct tcp_sock *tp = tcp_sk(connection->sk);
	u64 answered = connection->request.answered, left;
	s64 packet_ns, data_ns;

	/* A packet that was lost and sent again is no fault of the server. */
	if (!pguard_is_tcp(connection->sk) || tp->nonagle & TCP_NAGLE_OFF ||
	    (u16)READ_ONCE(tp->total_retrans) != connection->retransmitted)
		return;
	packet_ns = ktime_get_ns() - READ_ONCE(tp->tcp_wstamp_ns);
	data_ns = (s64)(s32)(tcp_jiffies32 - READ_ONCE(tp->lsndtime)) * TICK_NSEC;
	if (packet_ns < 0 || abs(packet_ns - data_ns) > TICK_NSEC)
		return;
	left = message->now - pguard_clock_ticks(packet_ns);
	if ((s64)(left - answered) > (s64)pguard_clock_ticks(2 * TICK_NSEC))
		connection->request.answered = left;
}

/*
 * Record the request that has been answered, if any: the next one has come.  Context: hooked
 * calls.
 */
static noinline void record_end(const struct pguard_connection *connection,
				const struct pguard_message *message)
{
	struct pguard_slow_request ended;

	if (!connection->is_open || !pguard_stream_wants_units(message->thread->image->target))
		return;
	pguard_request_describe(connection, &ended);
	pguard_request_describe_more(connection, &ended);
	pguard_stream_put(message->thread, PERFGUARD_EVENT_KIND_REQUEST_PARTS,
			  event_number(connection->id), pguard_clock_ns(ended.times.peers),
			  pguard_clock_ns(ended.times.working));
	if (ended.times.runqueue)
		pguard_stream_put(message->thread, PERFGUARD_EVENT_KIND_REQUEST_RUNQUEUE,
				  event_number(connection->id), 0,
				  pguard_clock_ns(ended.times.runqueue));
	pguard_stream_put(message->thread, PERFGUARD_EVENT_KIND_REQUEST, event_number(connection->id),
			  ended.begin_ns, pguard_clock_ns(ended.times.elapsed));
}

/* Record that a request has begun.  Context: the same. */
static noinline void record_begin(const struct pguard_connection *connection,
				  const struct pguard_message *message)
{
	struct pguard_address client;

	if (!pguard_stream_wants_units(message->thread->image->target))
		return;
	pguard_client_describe(connection, &client);
	/* The port of IPv6 is at the same place, and a local socket has zeros there. */
	pguard_stream_put(message->thread, PERFGUARD_EVENT_KIND_REQUEST_READ,
			  event_number(connection->id), 0, ntohs(client.in.sin_port));
}

/**
 * pguard_client_request_taken() - current has, or had, a request that was handed over
 * @message: by which that is known
 * @given: by whom, and when
 *
 * It is recorded.  Context: hooked calls.
 */
void pguard_client_request_taken(const struct pguard_message *message,
				 const struct pguard_given *given)
{
	record_taken(message, given->id, given->at, given->by);
}

/* What current had waited for a CPU when a message came that it has read, if that is known. */
static u32 delay_at(u64 arrived, const struct pguard_message *message, u64 unit)
{
	u64 since = idle_delay(message->thread, unit);

	if (unlikely(since > LITTLE_NS))
		since = min(since, pguard_clock_ns(message->now - arrived));
	return pguard_run_delay(current->sched_info.run_delay - since);
}

static void request_begin(struct pguard_connection *connection,
			  const struct pguard_message *message)
{
	struct pguard_client_request *request = &connection->request;
	struct pguard_thread *thread = message->thread;
	u64 before = request->answered, now = max(message->now, before);
	/* If it came while the one before was answered, it is not known when. */
	u64 unit = pguard_unit_of(thread), arrived = clamp(arrival(message, before), before, now);
	u64 begun;

	/* Others may use what was its own. */
	if (unlikely(connection->role == PGUARD_CONNECTION_GONE))
		return;
	request->arrived = arrived;
	begun = unit ? clamp(free_since(thread), arrived, now) : now;
	request->queued = pguard_request_queue(begun - arrived);
	request->last = now;
	request->working = now - begun;
	request->delay = delay_at(arrived, message, unit);
	request->unit = unit;
	request->by = thread->tid;
	request->tid = current->pid;
	request->pid = current->tgid;
	request->reports = connection->unread;
	/* One by one: to clear it as a whole takes longer. */
	request->answered = 0;
	request->peers = 0;
	request->handed = 0;
	request->timer = 0;
	request->waiting = 0;
	request->longest = 0;
	request->left_out = 0;
	request->asked = 0;
	request->profile = 0;
	request->handing = PGUARD_HANDING_NONE;
	request->type = 0;
	request->peer.family = 0;
	connection->unread = 0;
	WRITE_ONCE(connection->is_open, true);
	pguard_late_requests_expect(&message->table->late);
}

/* The request of a connection is over, if there is one that was answered.  Context: the same. */
static __always_inline void answered_end(struct pguard_connection *connection,
					 const struct pguard_message *message)
{
	if (connection->is_open)
		answer_leave(connection, message);
	if (unlikely(pguard_stream_is_open()))
		record_end(connection, message);
	request_end(message->table, connection);
}

/* The request is over, or there was none if nobody has answered. */
void pguard_client_request_end(struct pguard_connection *connection,
			       const struct pguard_message *message)
{
	if (connection->request.answered)
		answered_end(connection, message);
	WRITE_ONCE(connection->is_open, false);
}

/* A client's message was read. */
void pguard_client_request_read(struct pguard_connection *connection,
				const struct pguard_message *message)
{
	if (connection->is_open && !connection->request.answered) {
		pguard_client_request_account(&connection->request, message, NULL);
	} else {
		answered_end(connection, message);
		request_begin(connection, message);
		if (unlikely(pguard_stream_is_open()))
			record_begin(connection, message);
	}
}

/* A client is about to be written to. */
void pguard_client_request_write(struct pguard_connection *connection,
				 const struct pguard_message *message)
{
	struct pguard_client_request *request = &connection->request;

	if (!connection->is_open)
		return;
	if (unlikely(request->answered))
		leave_out(connection, max(message->now, request->last));
	account(request, message, NULL);
	request->answered = request->last;
	request->until_answer.working = request->working;
	request->until_answer.peers = pguard_request_coarse(request->peers);
	request->until_answer.handed = pguard_request_coarse(request->handed);
	request->answer_delay = request->tid == current->pid
		? pguard_run_delay(current->sched_info.run_delay) : request->delay;
	if (!pguard_is_tcp(connection->sk))
		return;
	connection->retransmitted = READ_ONCE(tcp_sk(connection->sk)->total_retrans);
	connection->held_up = held_up_by(connection->sk);
}

/**
 * pguard_connection_close() - the socket of a connection is closed, and what was open with it ends
 * @table: whose it was
 * @connection: that is not in it any more; locked
 *
 * Nor do datagrams that came long ago have answers still.
 *
 * Context: any but interrupts; does not sleep.
 */
void pguard_connection_close(struct pguard_connection_table *table,
			     struct pguard_connection *connection)
{
	request_end(table, connection);
	WRITE_ONCE(connection->role, PGUARD_CONNECTION_GONE);
}

/*
 * So long after an answer no other datagram is waited for, and so long for an answer, as the
 * kernel's connection tracking does.  Where many come, the tenth of that; but who warns of late
 * requests is to see them.  Ticks.
 */
static u64 patience(const struct pguard_connection_table *table, bool is_answered)
{
	u64 ns = is_answered ? NSEC_PER_SEC : 30 * NSEC_PER_SEC;
	struct pguard_request_limits limits = { };

	if (atomic_read(&table->datagrams) > PGUARD_MAX_DATAGRAMS / 2)
		ns /= 10;
	if (!is_answered)
		pguard_request_limits(table, NULL, &limits);
	return max(pguard_clock_ticks(ns),
		   2 * pguard_limit_sooner(limits.wanted, limits.learnt.of[REQUEST_PART_ALL]));
}

/**
 * pguard_connection_is_over() - is nothing more to come of datagrams?
 * @table: of the connection
 * @connection: in it, locked
 *
 * A message that has no answer counts from when it came, however many follow.
 *
 * Context: any but interrupts; does not sleep.
 * Return: false, too, if it is no connection by datagrams.
 */
bool pguard_connection_is_over(const struct pguard_connection_table *table,
			       const struct pguard_connection *connection)
{
	const struct pguard_client_request *request = &connection->request;
	bool is_answered;
	u64 since;

	if (!pguard_connection_is_datagram(connection))
		return false;
	if (connection->role == PGUARD_CONNECTION_PEER) {
		is_answered = connection->is_answered || !connection->nr_askers;
		since = connection->asked_at;
	} else {
		is_answered = !connection->is_open || request->answered;
		since = is_answered ? request->last : request->arrived;
	}
	/* Another thread may have been here since the clock was read. */
	return (s64)(pguard_clock() - since) > (s64)patience(table, is_answered);
}

/**
 * pguard_connection_report() - report a request that was answered, but is not over
 * @connection: in its table; RCU
 * @report: to be added to
 *
 * Context: any but interrupts; does not sleep.
 */
void pguard_connection_report(struct pguard_connection *connection,
			    struct pguard_request_report *report)
{
	struct pguard_slow_request ended;
	bool is_answered;

	spin_lock(&connection->lock);
	is_answered = connection->is_open && connection->request.answered;
	if (is_answered) {
		pguard_request_describe(connection, &ended);
		pguard_request_describe_more(connection, &ended);
	}
	spin_unlock(&connection->lock);
	if (is_answered)
		pguard_request_report_add(report, &ended);
}
