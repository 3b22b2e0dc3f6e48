// SPDX-License-Identifier: GPL-2.0

#include "request/connection.h"

#include "lib/clock.h"
#include "target/image.h"
#include "target/thread.h"
#include "trainstream/stream.h"

#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/magic.h>
#include <linux/net.h>
#include <linux/tcp.h>
#include <net/inet_sock.h>
#include <net/sock.h>
#include <net/tcp.h>

DEFINE_STATIC_KEY_FALSE(pguard_requests_followed);

/* A message that current has read, or is about to write. */
struct message {
	struct pguard_connection_table *table;
	struct pguard_thread *thread;
	struct sock *sk;
	u64 key;	/* of what is no socket, see handover.h; 0: nothing is handed over by it */
	u64 now;	/* pguard_clock() */
};

static bool is_tcp(const struct sock *sk)
{
	return sk->sk_protocol == IPPROTO_TCP && sk->sk_type == SOCK_STREAM &&
	       (sk->sk_family == AF_INET || sk->sk_family == AF_INET6);
}

/* The number of the unit that current does; 0 if it does none. */
static u64 unit_of(const struct pguard_thread *thread)
{
	u64 word = READ_ONCE(thread->unit);

	return word & PGUARD_PHASE_RUNNING ? pguard_unit_number(word) : 0;
}

static void address_of(const struct sock *sk, struct pguard_peer_address *ret)
{
	const struct inet_sock *inet = inet_sk(sk);

	memset(ret, 0, sizeof(*ret));
	ret->family = sk->sk_family;
	switch (sk->sk_family) {
	case AF_INET:
		ret->port = inet->inet_dport;
		ret->host = inet->inet_daddr;
		break;
#if IS_ENABLED(CONFIG_IPV6)
	case AF_INET6:
		ret->port = inet->inet_dport;
		ret->host6 = sk->sk_v6_daddr;
		break;
#endif
	}
}

static void address_put(const struct pguard_peer_address *address, struct pguard_address *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->any.sa_family = address->family;
	switch (address->family) {
	case AF_INET:
		ret->in.sin_port = address->port;
		ret->in.sin_addr.s_addr = address->host;
		break;
	case AF_INET6:
		ret->in6.sin6_port = address->port;
		ret->in6.sin6_addr = address->host6;
		break;
	}
}

static void address_describe(const struct sock *sk, struct pguard_address *ret)
{
	struct pguard_peer_address address;

	address_of(sk, &address);
	address_put(&address, ret);
}

/*
 * How long ago the bytes came that have been read just now, ns.  Until they were read the
 * kernel kept when the last packet came or went, which is those unless it has acknowledged
 * them by one of their own since; and it keeps in jiffies when the last data came.
 */
static u64 age_of(const struct sock *sk, const struct pguard_arrival *arrival)
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
 * pguard_clock() when they came.  What came while the thread slept in the call for it woke
 * it, so it has waited for a CPU since.  Of what lay in other sockets than TCP's it is not known.
 */
static u64 arrival(const struct message *message)
{
	const struct pguard_arrival *arrival = &message->thread->arrival;
	u64 age = 0;

	if (arrival->sk == message->sk && arrival->packet_us)
		age = age_of(message->sk, arrival);
	else if (arrival->sk == message->sk)
		age = current->sched_info.run_delay - arrival->run_delay;
	return message->now - pguard_clock_ticks(age);
}

/* What was waited since somebody was asked was for this answer; without one it was for none. */
static void take_answer(struct pguard_client_request *request, const struct sock *peer)
{
	request->peers += request->waiting;
	if (request->waiting > request->longest) {
		request->longest = request->waiting;
		address_of(peer, &request->peer);
	}
	request->waiting = 0;
	request->asked = NULL;
}

/* Does it work for the client of its pguard_serves now? */
static bool is_serving(const struct pguard_thread *thread)
{
	const struct pguard_serves *serves = &thread->serves;

	return serves->client && !serves->is_done &&
	       (serves->is_handed || (serves->unit && serves->unit == unit_of(thread)));
}

/* Has this thread worked for the request since its last message? */
static bool goes_on(const struct pguard_client_request *request, const struct message *message,
		    u64 unit)
{
	if (request->thread != message->thread)
		return false;
	return message->thread->serves.is_handed || (unit && request->unit == (u32)unit);
}

/* The parts of the time until now; of a request that is open.  @peer: it has answered, or NULL. */
static void account(struct pguard_client_request *request, const struct message *message,
		    const struct sock *peer)
{
	u64 unit = unit_of(message->thread), now, from, gap;

	/* Another thread may have been here since the clock was read. */
	now = max(message->now, request->last);
	from = now;
	if (goes_on(request, message, unit))
		from = request->last;
	else if (unit)
		from = clamp(READ_ONCE(message->thread->start), request->last, now);
	/* A thread may ask and wait in one unit. */
	if (peer && request->asked && from == request->last)
		from = now;
	gap = from - request->last;
	if (request->asked)
		request->waiting += gap;
	else if (request->is_handed)
		request->handed += gap;
	request->is_handed = false;
	if (peer)
		take_answer(request, peer);
	request->working += now - from;
	request->last = now;
	request->unit = unit;
	request->thread = message->thread;
}

/* The unit at hand serves this client from now on. */
static void serve(struct pguard_thread *thread, const struct sock *client, u32 id)
{
	thread->serves.client = client;
	thread->serves.id = id;
	thread->serves.is_handed = false;
	thread->serves.is_done = false;
	thread->serves.unit = unit_of(thread);
}

/* Describe a request that has been answered. */
static void request_describe(const struct pguard_connection *connection,
			     struct pguard_slow_request *ret)
{
	const struct pguard_client_request *request = &connection->request;

	*ret = (struct pguard_slow_request){
		.times.elapsed = request->answered - request->arrived,
		.times.queued = request->begun - request->arrived,
		.times.working = request->until_answer.working,
		.times.peers = request->until_answer.peers,
		.times.handed = request->until_answer.handed,
		.pid = request->pid,
		.tid = request->tid,
		.state = PERFGUARD_REQUEST_STATE_ANSWERED,
	};
}

/* What is kept of one of the slowest besides. */
static void request_describe_more(const struct pguard_connection *connection,
			     struct pguard_slow_request *ret)
{
	const struct pguard_client_request *request = &connection->request;

	ret->begin_ns = ktime_get_ns() - pguard_clock_ns(pguard_clock() - request->arrived);
	ret->connection = connection->id;
	address_put(&request->peer, &ret->peer);
	address_describe(connection->sk, &ret->client);
}

/* Describe a request that has not been answered. */
static void request_describe_open(struct pguard_connection_table *table,
				  const struct pguard_connection *connection,
				  struct pguard_late_request *ret)
{
	const struct pguard_client_request *request = &connection->request;
	u64 now = max(pguard_clock(), request->last), since = now - request->last;
	u64 waiting = request->waiting, handed = request->handed;
	const struct pguard_connection *peer = NULL;

	if (request->asked)
		waiting += since;
	else if (request->is_handed)
		handed += since;
	*ret = (struct pguard_late_request){
		.slow.times.elapsed = now - request->arrived,
		.slow.times.queued = request->begun - request->arrived,
		.slow.times.working = request->working,
		.slow.times.peers = request->peers + waiting,
		.slow.times.handed = handed,
		.slow.pid = request->pid,
		.slow.tid = request->tid,
		.slow.state = PERFGUARD_REQUEST_STATE_LASTS,
		.thread = request->thread,
		.unit = request->unit,
		.since = request->asked || request->is_handed ? 0 : since,
	};
	request_describe_more(connection, &ret->slow);
	if (request->asked && waiting > request->longest)
		peer = pguard_connection_find(table, request->asked);
	if (peer)
		address_describe(peer->sk, &ret->slow.peer);
}

/* What has ended late is reported by a work: here nothing can be allocated. */
static noinline void report_end(struct pguard_connection_table *table,
				const struct pguard_slow_request *ended, bool is_known)
{
	const struct pguard_late_request late = { .slow = *ended };

	if (!is_known)
		atomic64_inc(&table->late.number);
	if (!pguard_late_requests_add(&table->late, &late))
		atomic64_inc(&table->late.suppressed);
	mod_delayed_work(system_dfl_wq, &table->late.watch, 0);
}

/* The client hung up before it was answered. */
static void request_unanswered(struct pguard_connection_table *table,
			       struct pguard_connection *connection)
{
	struct pguard_late_request ended;

	pguard_request_sums_unanswered(&table->sums);
	/* That is no fault of the server, if it was not late yet. */
	if (!connection->request.reports)
		return;
	rcu_read_lock();
	request_describe_open(table, connection, &ended);
	rcu_read_unlock();
	ended.slow.state = PERFGUARD_REQUEST_STATE_UNANSWERED;
	report_end(table, &ended.slow, true);
}

static void request_answered(struct pguard_connection_table *table,
			     struct pguard_connection *connection)
{
	const struct pguard_client_request *request = &connection->request;
	bool is_late = request->reports != PGUARD_REQUEST_REPORTED &&
		       pguard_request_is_late(&table->late, request->answered - request->arrived);
	struct pguard_slow_request ended;

	request_describe(connection, &ended);
	if (is_late || pguard_request_is_slow(&table->sums, ended.times.elapsed))
		request_describe_more(connection, &ended);
	pguard_request_sums_add(&table->sums, &ended);
	if (unlikely(is_late))
		report_end(table, &ended, request->reports);
}

/* The request that a client has made, if any, is over. */
static void request_end(struct pguard_connection_table *table,
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
static void answer_leave(struct pguard_connection *connection, const struct message *message)
{
	const struct tcp_sock *tp = tcp_sk(connection->sk);
	u64 answered = connection->request.answered, left;
	s64 packet_ns, data_ns;

	/* A packet that was lost and sent again is no fault of the server. */
	if (!is_tcp(connection->sk) || tp->nonagle & TCP_NAGLE_OFF ||
	    READ_ONCE(tp->total_retrans) != connection->retransmitted)
		return;
	packet_ns = ktime_get_ns() - READ_ONCE(tp->tcp_wstamp_ns);
	data_ns = (s64)(s32)(tcp_jiffies32 - READ_ONCE(tp->lsndtime)) * TICK_NSEC;
	if (packet_ns < 0 || abs(packet_ns - data_ns) > TICK_NSEC)
		return;
	left = message->now - pguard_clock_ticks(packet_ns);
	if ((s64)(left - answered) > (s64)pguard_clock_ticks(2 * TICK_NSEC))
		connection->request.answered = left;
}

/* Record the request that has been answered, if any: the next one has come.  Context: hooked calls. */
static noinline void request_record(const struct pguard_connection *connection,
				    const struct message *message)
{
	struct pguard_slow_request ended;

	if (!connection->is_open || !pguard_stream_wants_units(message->thread->image->target))
		return;
	request_describe(connection, &ended);
	request_describe_more(connection, &ended);
	/* The port of IPv6 is at the same place. */
	pguard_stream_put(message->thread, PERFGUARD_EVENT_KIND_REQUEST,
			  ntohs(ended.client.in.sin_port), ended.begin_ns, ended.times.elapsed);
}

static void request_begin(struct pguard_connection *connection, const struct message *message)
{
	struct pguard_client_request *request = &connection->request;
	struct pguard_thread *thread = message->thread;
	u64 before = request->answered, now = max(message->now, before);
	/* If it came while the one before was answered, it is not known when. */
	u64 unit = unit_of(thread), arrived = clamp(arrival(message), before, now);

	*request = (struct pguard_client_request){
		.arrived = arrived,
		.begun = unit ? clamp(READ_ONCE(thread->start), arrived, now) : now,
		.last = now,
		.unit = unit,
		.thread = thread,
		.tid = current->pid,
		.pid = current->tgid,
		.reports = connection->unread,
	};
	connection->unread = 0;
	request->working = now - request->begun;
	WRITE_ONCE(connection->is_open, true);
	pguard_late_requests_expect(&message->table->late);
}

static void client_read(struct pguard_connection *connection, const struct message *message)
{
	if (connection->is_open && !connection->request.answered) {
		account(&connection->request, message, NULL);
	} else {
		if (connection->is_open)
			answer_leave(connection, message);
		if (unlikely(pguard_stream_is_open()))
			request_record(connection, message);
		request_end(message->table, connection);
		request_begin(connection, message);
	}
	serve(message->thread, connection->sk, connection->id);
}

static void client_write(struct pguard_connection *connection, const struct message *message)
{
	struct pguard_client_request *request = &connection->request;

	if (!connection->is_open)
		return;
	account(request, message, NULL);
	request->answered = request->last;
	request->until_answer.working = request->working;
	request->until_answer.peers = request->peers;
	request->until_answer.handed = request->handed;
	if (is_tcp(connection->sk))
		connection->retransmitted = READ_ONCE(tcp_sk(connection->sk)->total_retrans);
}

/* The connection of a client, or NULL if it is gone.  Preemption is off. */
static struct pguard_connection *client_find(const struct message *message,
					     const struct sock *client, u32 id)
{
	struct pguard_connection *connection;

	rcu_read_lock();
	connection = pguard_connection_find(message->table, client);
	rcu_read_unlock();
	return connection && connection->id == id ? connection : NULL;
}

/*
 * A peer was asked for a client, or has answered.  The client's connection may be gone, or
 * have another request by now; the first is seen by the id, the second counts for that one.
 */
static void client_account(const struct message *message, const struct sock *client, u32 id,
			   const struct sock *peer)
{
	struct pguard_connection *connection;

	if (!client)
		return;
	connection = client_find(message, client, id);
	if (!connection)
		return;
	spin_lock(&connection->lock);
	if (connection->is_open) {
		account(&connection->request, message, peer);
		if (!peer)
			connection->request.asked = message->sk;
	}
	spin_unlock(&connection->lock);
	if (peer && !(is_serving(message->thread) && message->thread->serves.client == client))
		serve(message->thread, client, id);
}

static void peer_write(struct pguard_connection *connection, const struct message *message)
{
	const struct pguard_thread *thread = message->thread;
	const struct sock *client = NULL;
	u32 id = thread->serves.id;

	if (is_serving(thread))
		client = thread->serves.client;
	spin_lock(&connection->lock);
	connection->client = client;
	connection->client_id = id;
	spin_unlock(&connection->lock);
	client_account(message, client, id, NULL);
}

static void peer_read(struct pguard_connection *connection, const struct message *message)
{
	const struct sock *client;
	u32 id;

	spin_lock(&connection->lock);
	client = connection->client;
	id = connection->client_id;
	spin_unlock(&connection->lock);
	client_account(message, client, id, message->sk);
}

/*
 * Who asks: if the connection was not seen to be accepted, whoever sends first.  Where it
 * was in the middle of something then, the ports show it: one who connects has none of his own.
 */
static void find_role(struct pguard_connection *connection, bool is_read)
{
	const struct inet_sock *inet = inet_sk(connection->sk);
	u8 role = is_read ? PGUARD_CONNECTION_CLIENT : PGUARD_CONNECTION_PEER;
	int low, high;

	if (is_tcp(connection->sk)) {
		bool is_here, is_there;

		inet_get_local_port_range(sock_net(connection->sk), &low, &high);
		is_here = inet->inet_num >= low && inet->inet_num <= high;
		is_there = ntohs(inet->inet_dport) >= low && ntohs(inet->inet_dport) <= high;
		if (is_here != is_there)
			role = is_here ? PGUARD_CONNECTION_PEER : PGUARD_CONNECTION_CLIENT;
	}
	cmpxchg(&connection->role, PGUARD_CONNECTION_UNKNOWN, role);
}

/* Stream sockets of kinds whose ends are known by SOCK_DEAD, and only by that. */
static bool is_followed(const struct sock *sk)
{
	switch (sk->sk_family) {
	case AF_INET:
	case AF_INET6:
	case AF_UNIX:
		return sk->sk_type == SOCK_STREAM || sk->sk_type == SOCK_SEQPACKET;
	}
	return false;
}

/* Both ends of a pipe have its inode; who uses an eventfd has its file. */
static u64 key_of(const struct file *file)
{
	const struct inode *inode = file_inode(file);

	if (S_ISFIFO(inode->i_mode))
		return (u64)inode;
	return inode->i_sb->s_magic == ANON_INODE_FS_MAGIC ? (u64)file : 0;
}

/* The descriptor's connection, by its file; known again as long as that is the same one. */
static noinline struct pguard_connection *look_up(struct message *message, u32 fd)
{
	struct pguard_talk *talk = &message->thread->talks[fd % PGUARD_NR_TALKS];
	u64 removed = READ_ONCE(message->table->removed);
	struct pguard_connection *connection = NULL;
	struct fd of = fdget(fd);
	struct socket *socket = fd_file(of) ? sock_from_file(fd_file(of)) : NULL;

	if (fd_file(of) && !socket)
		message->key = key_of(fd_file(of));
	if (socket && socket->sk && is_followed(socket->sk)) {
		rcu_read_lock();
		connection = pguard_connection_get(message->table, socket->sk);
		rcu_read_unlock();
	}
	if (connection)
		*talk = (struct pguard_talk){ fd_file(of), connection, removed };
	fdput(of);
	return connection;
}

/*
 * The connection of a descriptor of current, or NULL.  A file that has the address of one
 * before it is another one only if that was closed, and then so is its socket.
 */
static __always_inline struct pguard_connection *find(struct message *message, u32 fd)
{
	const struct pguard_talk *talk = &message->thread->talks[fd % PGUARD_NR_TALKS];

	if (likely(talk->file && talk->file == files_lookup_fd_raw(current->files, fd) &&
		   talk->removed == READ_ONCE(message->table->removed) &&
		   !sock_flag(talk->connection->sk, SOCK_DEAD)))
		return talk->connection;
	return look_up(message, fd);
}

/*
 * The connections of its target, or NULL if requests are not followed.  The table goes a grace
 * period after the thread is dead; preemption is off.
 */
static __always_inline struct pguard_connection_table *table_of(const struct pguard_thread *thread)
{
	const struct pguard_target *target = thread->image->target;

	if (unlikely(READ_ONCE(thread->dead)) ||
	    !(READ_ONCE(target->flags) & PERFGUARD_TARGET_FLAGS_REQUESTS))
		return NULL;
	return READ_ONCE(target->connections);
}

/* Returns true if requests are followed.  Preemption is off. */
static __always_inline bool message_init(struct message *message, struct pguard_thread *thread)
{
	message->table = table_of(thread);
	message->thread = thread;
	message->key = 0;
	message->now = pguard_clock();
	return message->table;
}

static __always_inline void take(struct pguard_connection *connection, struct message *message,
				 bool is_read)
{
	message->sk = connection->sk;
	if (unlikely(READ_ONCE(connection->role) == PGUARD_CONNECTION_UNKNOWN))
		find_role(connection, is_read);
	if (READ_ONCE(connection->role) == PGUARD_CONNECTION_PEER) {
		is_read ? peer_read(connection, message) : peer_write(connection, message);
		return;
	}
	spin_lock(&connection->lock);
	is_read ? client_read(connection, message) : client_write(connection, message);
	spin_unlock(&connection->lock);
}

/*
 * What the unit at hand serves is handed over by the message's key, if that is known.
 *
 * Return: false if nothing was.
 */
static noinline bool hand_over(const struct message *message)
{
	struct pguard_serves *serves = &message->thread->serves;
	const struct pguard_handover handover = { serves->client, serves->id, message->now };
	struct pguard_connection *connection;

	if (!is_serving(message->thread) ||
	    !pguard_handover_is_known(&message->table->handovers, message->key))
		return false;
	connection = client_find(message, serves->client, serves->id);
	if (!connection)
		return false;
	spin_lock(&connection->lock);
	if (connection->is_open) {
		account(&connection->request, message, NULL);
		connection->request.is_handed = true;
	}
	spin_unlock(&connection->lock);
	pguard_handover_put(&message->table->handovers, message->key, &handover);
	/* What a thread was given it gives back, and is done with it. */
	serves->is_done = serves->is_handed;
	return true;
}

/* The thread serves what was handed over by the message's key: the first, or all. */
static noinline void take_over(const struct message *message, bool is_all)
{
	struct pguard_connection *connection;
	struct pguard_handover handover;
	u32 nr;

	/* What it was given before is done. */
	message->thread->serves.is_done = message->thread->serves.is_handed;
	/* Others may hand over more just now. */
	for (nr = is_all ? PGUARD_HANDOVER_LENGTH : 1; nr; nr--) {
		if (!pguard_handover_take(&message->table->handovers, message->key, &handover))
			break;
		connection = client_find(message, handover.client, handover.id);
		if (!connection)
			continue;
		spin_lock(&connection->lock);
		if (connection->is_open)
			account(&connection->request, message, NULL);
		spin_unlock(&connection->lock);
		serve(message->thread, handover.client, handover.id);
		message->thread->serves.is_handed = true;
	}
}

static __always_inline void message_take(struct pguard_thread *thread, u32 fd, bool is_read)
{
	struct pguard_connection *connection;
	struct message message;

	/* Connections and what they refer to stay meanwhile. */
	preempt_disable_notrace();
	if (message_init(&message, thread)) {
		connection = find(&message, fd);
		if (connection)
			take(connection, &message, is_read);
		else if (message.key && is_read)
			take_over(&message, true);
		else if (message.key)
			hand_over(&message);
	}
	preempt_enable_notrace();
}

/* Of what a socket has now, if anything.  More may come just now. */
static __always_inline void arrival_set(struct pguard_arrival *arrival, const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	arrival->sk = sk;
	arrival->packet_us = 0;
	if (is_tcp(sk) && READ_ONCE(tp->rcv_nxt) != READ_ONCE(tp->copied_seq))
		arrival->packet_us = READ_ONCE(tp->tcp_mstamp);
	else
		arrival->run_delay = current->sched_info.run_delay;
}

/**
 * pguard_connection_expect() - current is about to read
 * @thread: of current
 * @fd: from this descriptor, whatever it is
 *
 * TCP keeps when the last packet came, but a read sets that to its own time
 * (tcp_rcv_space_adjust()).
 *
 * Context: current, preemptible or not; does not sleep.
 */
void pguard_connection_expect(struct pguard_thread *thread, u32 fd)
{
	struct pguard_arrival *arrival = &thread->arrival;
	struct message message = { .thread = thread };
	const struct pguard_connection *connection;

	arrival->sk = NULL;
	preempt_disable_notrace();
	message.table = table_of(thread);
	connection = message.table ? find(&message, fd) : NULL;
	if (likely(connection))
		arrival_set(arrival, connection->sk);
	preempt_enable_notrace();
}

/**
 * pguard_connection_read() - current has read some bytes
 * @thread: of current
 * @fd: from this descriptor, whatever it is
 *
 * Context: current, preemptible or not; does not sleep.
 */
void pguard_connection_read(struct pguard_thread *thread, u32 fd)
{
	message_take(thread, fd, true);
	thread->arrival.sk = NULL;
}

/**
 * pguard_connection_write() - current is about to write some bytes
 * @thread: of current
 * @fd: to this descriptor, whatever it is
 *
 * What it takes the other side to take them is not the time of the request.
 *
 * Context: current, preemptible or not; does not sleep.
 */
void pguard_connection_write(struct pguard_thread *thread, u32 fd)
{
	message_take(thread, fd, false);
}

/* A key by which threads of one process wait for each other. */
static u64 futex_key(u64 address)
{
	/* Those of processes that are alike differ by a few bits. */
	return address ^ (u64)current->mm * GOLDEN_RATIO_64;
}

/**
 * pguard_connection_wake() - current is about to wake who waits at a futex
 * @thread: of current
 * @futex: its address
 *
 * Context: current, preemptible or not; does not sleep.
 * Return: true if that hands work over, should it wake somebody.
 */
bool pguard_connection_wake(struct pguard_thread *thread, u64 futex)
{
	struct message message;
	bool ret = false;

	preempt_disable_notrace();
	if (message_init(&message, thread)) {
		message.key = futex_key(futex);
		ret = hand_over(&message);
	}
	preempt_enable_notrace();
	return ret;
}

/* It woke nobody.  Context: the same. */
void pguard_connection_woke_none(struct pguard_thread *thread, u64 futex)
{
	struct pguard_serves *serves = &thread->serves;
	struct pguard_connection *connection;
	struct message message;

	preempt_disable_notrace();
	if (message_init(&message, thread) &&
	    pguard_handover_take_back(&message.table->handovers, futex_key(futex),
				      serves->client, serves->id)) {
		serves->is_done = false;
		connection = client_find(&message, serves->client, serves->id);
		if (connection) {
			spin_lock(&connection->lock);
			connection->request.is_handed = false;
			spin_unlock(&connection->lock);
		}
	}
	preempt_enable_notrace();
}

/* Current was woken at a futex, other than for a lock.  Context: the same. */
void pguard_connection_woken(struct pguard_thread *thread, u64 futex)
{
	struct message message;

	preempt_disable_notrace();
	if (message_init(&message, thread)) {
		message.key = futex_key(futex);
		take_over(&message, false);
	}
	preempt_enable_notrace();
}

/* A client's; current is who is to serve it. */
static void client_accept(struct pguard_connection *connection)
{
	cmpxchg(&connection->role, PGUARD_CONNECTION_UNKNOWN, PGUARD_CONNECTION_CLIENT);
	spin_lock(&connection->lock);
	if (connection->role == PGUARD_CONNECTION_CLIENT && !connection->request.pid) {
		connection->request.pid = current->tgid;
		connection->request.tid = current->pid;
	}
	spin_unlock(&connection->lock);
}

/**
 * pguard_connection_accept() - current has accepted a client's connection
 * @thread: of current
 * @fd: the new descriptor
 *
 * Context: current, preemptible or not; does not sleep.
 */
void pguard_connection_accept(struct pguard_thread *thread, u32 fd)
{
	struct pguard_connection *connection;
	struct message message;

	preempt_disable_notrace();
	if (message_init(&message, thread)) {
		connection = look_up(&message, fd);
		if (connection)
			client_accept(connection);
	}
	preempt_enable_notrace();
}

/**
 * pguard_connection_close() - the socket of a connection is closed, and what was open with it ends
 * @table: whose it was
 * @connection: that is not in it any more
 *
 * Context: any but interrupts; does not sleep.
 */
void pguard_connection_close(struct pguard_connection_table *table,
			     struct pguard_connection *connection)
{
	spin_lock(&connection->lock);
	request_end(table, connection);
	spin_unlock(&connection->lock);
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
		request_describe(connection, &ended);
		request_describe_more(connection, &ended);
	}
	spin_unlock(&connection->lock);
	if (is_answered)
		pguard_request_report_add(report, &ended);
}

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
			struct pguard_connection *connection, u64 limit)
{
	struct pguard_client_request *request = &connection->request;
	u64 now = max(pguard_clock(), request->last), left;
	struct pguard_late_request late = { };

	lockdep_assert_held(&connection->lock);
	if (request->reports == PGUARD_REQUEST_REPORTED ||
	    (request->answered && request->answered - request->arrived <= limit))
		return U64_MAX;
	left = left_until(request->answered ? request->answered + settled()
					    : request->arrived + doubled(limit, request->reports),
			  now);
	if (left)
		return left;
	if (request->answered) {
		request_describe(connection, &late.slow);
		request_describe_more(connection, &late.slow);
	} else {
		request_describe_open(table, connection, &late);
	}
	if (!pguard_late_requests_add(&table->late, &late))
		return 0;
	if (!request->reports)
		atomic64_inc(&table->late.number);
	request->reports = request->answered ? PGUARD_REQUEST_REPORTED
					     : reports_of(now - request->arrived, limit);
	return U64_MAX;
}

/* How long ago the client's next message came that nobody has read; ticks, 0: there is none. */
static u64 unread_age(const struct pguard_connection *connection)
{
	struct pguard_arrival arrival;

	if (connection->role != PGUARD_CONNECTION_CLIENT || !connection->request.pid)
		return 0;
	arrival_set(&arrival, connection->sk);
	return arrival.packet_us ? pguard_clock_ticks(age_of(connection->sk, &arrival)) : 0;
}

/* The same of a message that waits to be read. */
static u64 unread_look(struct pguard_connection_table *table,
		       struct pguard_connection *connection, u64 limit)
{
	u64 age = unread_age(connection), due = doubled(limit, connection->unread);
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
	if (age < due)
		return due - age;
	address_describe(connection->sk, &late.slow.client);
	if (!pguard_late_requests_add(&table->late, &late))
		return 0;
	if (!connection->unread)
		atomic64_inc(&table->late.number);
	connection->unread = reports_of(age, limit);
	return U64_MAX;
}

/**
 * pguard_connection_look() - look whether a request is to be reported
 * @table: of the connection
 * @connection: in it; RCU
 * @limit: of requests, ticks
 *
 * If so, it is added to those that are; so is one that came, and is not read yet.
 *
 * Context: any but interrupts; does not sleep.
 * Return: in how many ticks it is to be looked at again; U64_MAX if its end will be seen.
 */
u64 pguard_connection_look(struct pguard_connection_table *table,
			   struct pguard_connection *connection, u64 limit)
{
	u64 ret = U64_MAX;

	spin_lock(&connection->lock);
	if (connection->is_open)
		ret = request_look(table, connection, limit);
	if (!connection->is_open || connection->request.answered)
		ret = min(ret, unread_look(table, connection, limit));
	else
		/* Meanwhile others may come, and not be read. */
		ret = min(ret, limit);
	spin_unlock(&connection->lock);
	return ret;
}
