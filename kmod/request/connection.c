// SPDX-License-Identifier: GPL-2.0

#include "request/connection.h"

#include "request/client-request.h"
#include "request/message.h"
#include "request/sent-messages.h"
#include "request/signal-sender.h"

#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/magic.h>
#include <linux/net.h>
#include <linux/sched/task_stack.h>
#include <net/inet_sock.h>
#include <net/ip.h>
#include <net/sock.h>

DEFINE_STATIC_KEY_FALSE(pguard_requests_followed);

/*
 * A peer was asked for a client, or has answered.  The client's connection may be gone, or
 * have another request by now; the first is seen by the id, the second counts for that one.
 */
static noinline void client_account(const struct pguard_message *message,
				    const struct sock *client, u32 id,
				    const struct pguard_connection *peer, bool has_answered)
{
	struct pguard_connection *connection = pguard_client_find(message, client, id);
	struct pguard_thread *thread = message->thread;

	if (!connection)
		return;
	spin_lock(&connection->lock);
	if (connection->is_open) {
		pguard_client_request_account(&connection->request, message,
					      has_answered ? peer : NULL);
		if (!has_answered)
			connection->request.asked = pguard_connection_key(peer->sk, peer->id);
	}
	spin_unlock(&connection->lock);
	if (has_answered && !(pguard_is_serving(thread) && thread->serves.client == client &&
			      thread->serves.id == id))
		pguard_serve(thread, client, id);
}

/*
 * Most is asked for nobody, or is neither the first that is sent nor the first that is read, so
 * nothing changes.  Two threads that use one connection at once may note twice, which is now.
 */
static __always_inline void peer_write(struct pguard_connection *connection,
				       const struct pguard_message *message)
{
	const struct pguard_thread *thread = message->thread;
	const struct sock *client = NULL;
	u32 id = thread->serves.id;

	if (pguard_is_serving(thread))
		client = thread->serves.client;
	if (READ_ONCE(connection->noting) == PGUARD_NOTE_NEXT) {
		pguard_sent_note(connection->place, connection->other, message->now);
		WRITE_ONCE(connection->noting, PGUARD_NOTED);
	}
	if (client || READ_ONCE(connection->client)) {
		spin_lock(&connection->lock);
		WRITE_ONCE(connection->client, client);
		connection->client_id = id;
		spin_unlock(&connection->lock);
	}
	if (client)
		client_account(message, client, id, connection, false);
}

static __always_inline void peer_read(struct pguard_connection *connection,
				      const struct pguard_message *message)
{
	const struct sock *client;
	u32 id;

	if (READ_ONCE(connection->noting) == PGUARD_NOTED)
		WRITE_ONCE(connection->noting, PGUARD_NOTE_NEXT);
	if (!READ_ONCE(connection->client))
		return;
	spin_lock(&connection->lock);
	client = connection->client;
	id = connection->client_id;
	spin_unlock(&connection->lock);
	if (client)
		client_account(message, client, id, connection, true);
}

/*
 * Who asks: if the connection was not seen to be accepted, whoever sends first.  Where it
 * was in the middle of something then, the ports show it: one who connects has none of his own.
 * So does a name of an end on this machine.
 */
static u8 role_by_ports(const struct sock *sk, __be16 port, bool is_read)
{
	u8 role = is_read ? PGUARD_CONNECTION_CLIENT : PGUARD_CONNECTION_PEER;
	bool is_here, is_there;
	int low, high;

	inet_get_local_port_range(sock_net(sk), &low, &high);
	/* Without a port yet it gets one of those. */
	is_here = !inet_sk(sk)->inet_num ||
		  (inet_sk(sk)->inet_num >= low && inet_sk(sk)->inet_num <= high);
	is_there = ntohs(port) >= low && ntohs(port) <= high;
	if (is_here != is_there)
		role = is_here ? PGUARD_CONNECTION_PEER : PGUARD_CONNECTION_CLIENT;
	return role;
}

static u8 role_of(struct sock *sk, bool is_read)
{
	u8 role = is_read ? PGUARD_CONNECTION_CLIENT : PGUARD_CONNECTION_PEER;
	enum pguard_local_side side;

	if (pguard_is_tcp(sk))
		return role_by_ports(sk, inet_sk(sk)->inet_dport, is_read);
	if (sk->sk_family != AF_UNIX)
		return role;
	side = pguard_local_side(sk);
	if (side == PGUARD_LOCAL_ANY)
		return role;
	return side == PGUARD_LOCAL_CONNECTED ? PGUARD_CONNECTION_PEER : PGUARD_CONNECTION_CLIENT;
}

/* Returns the role that it has from now on. */
static noinline u8 find_role(struct pguard_connection *connection,
			     const struct pguard_message *message, bool is_read)
{
	u8 role = role_of(connection->sk, is_read);
	struct pguard_peer_address address;
	u64 other = pguard_other_cookie(connection->sk);

	/* It may ask, too. */
	if (role == PGUARD_CONNECTION_PEER)
		role = PGUARD_CONNECTION_ASKED;
	pguard_peer_address_of(connection->sk, &message->table->names, &address);
	spin_lock(&connection->lock);
	if (connection->role == PGUARD_CONNECTION_UNKNOWN) {
		if (role == PGUARD_CONNECTION_ASKED) {
			connection->address = address;
			connection->other = other;
			connection->place = pguard_sent_place(other);
			connection->noting = other ? PGUARD_NOTE_NEXT : PGUARD_NOTE_NONE;
		}
		/* Pairs with take(). */
		smp_store_release(&connection->role, role);
	}
	role = connection->role;
	spin_unlock(&connection->lock);
	return role;
}

/* Sockets of kinds whose ends are known by SOCK_DEAD, and only by that. */
static bool is_followed(const struct sock *sk)
{
	if (pguard_is_datagram(sk))
		return true;
	switch (sk->sk_family) {
	case AF_INET:
	case AF_INET6:
	case AF_UNIX:
		return sk->sk_type == SOCK_STREAM || sk->sk_type == SOCK_SEQPACKET;
	}
	return false;
}

/* Of a key that is an address otherwise. */
#define KEY_IS_PIPE	1
#define KEY_IS_SIGNAL	2
#define KEY_IS_TIMER	4

/*
 * Nothing but its name distinguishes one without an inode of its own from others, of which the file
 * is one.
 */
static bool is_named(const struct file *file, const char *name)
{
	return !strcmp(file->f_path.dentry->d_name.name, name);
}

/* Both ends of a pipe have its inode; who uses an eventfd has its file. */
static u64 key_of(const struct file *file)
{
	const struct inode *inode = file_inode(file);

	if (S_ISFIFO(inode->i_mode))
		return (u64)inode | KEY_IS_PIPE;
	if (inode->i_sb->s_magic != ANON_INODE_FS_MAGIC)
		return 0;
	return (u64)file | (is_named(file, "[signalfd]") ? KEY_IS_SIGNAL : 0) |
	       (is_named(file, "[timerfd]") ? KEY_IS_TIMER : 0);
}

/* The descriptor's connection, by its file; known again as long as that is the same one. */
static noinline const struct pguard_talk *look_up(struct pguard_message *message, u32 fd)
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
	return connection ? talk : NULL;
}

/*
 * Is this the connection of a descriptor of current still?  A file that has the address of one
 * before it is another one only if that was closed, and then so is its socket.
 */
static __always_inline bool is_known(const struct pguard_talk *talk,
				     const struct pguard_connection_table *table, u32 fd)
{
	return likely(talk->file && talk->file == files_lookup_fd_raw(current->files, fd) &&
		      talk->removed == READ_ONCE(table->removed) &&
		      !sock_flag(talk->connection->sk, SOCK_DEAD));
}

/* The same of what a read was to take that returns just now: the file was open until now. */
static __always_inline bool is_expected(const struct pguard_talk *talk,
					const struct pguard_connection_table *table)
{
	return likely(talk && talk->removed == READ_ONCE(table->removed));
}

/* Somebody was asked for a client, who is NULL if it was for none. */
static void asker_put(struct pguard_connection *peer, const struct sock *client, u32 id)
{
	u32 i, nr = peer->is_answered ? 0 : peer->nr_askers;

	lockdep_assert_held(&peer->lock);
	peer->is_answered = false;
	for (i = 0; client && i < nr; i++)
		if (peer->askers[i].client == client && peer->askers[i].id == id)
			return;
	if (nr == PGUARD_MAX_ASKERS)
		memmove(peer->askers, peer->askers + 1, --nr * sizeof(*peer->askers));
	peer->askers[nr++] = (struct pguard_asker){ client, id };
	peer->nr_askers = nr;
}

/* Returns true if the peer that he asked last is this one. */
static bool is_waiting(const struct pguard_message *message, const struct pguard_asker *asker,
		       const struct pguard_connection *peer)
{
	const struct pguard_connection *client = pguard_client_find(message, asker->client, asker->id);

	return client && READ_ONCE(client->is_open) &&
	       READ_ONCE(client->request.asked) == pguard_connection_key(peer->sk, peer->id);
}

/* For whom an answer is: the first that waits for it, or the last; he may have several. */
static struct pguard_asker asker_take(const struct pguard_message *message,
				      struct pguard_connection *peer)
{
	struct pguard_asker ret = { };

	lockdep_assert_held(&peer->lock);
	if (!peer->nr_askers)
		return ret;
	do {
		ret = peer->askers[0];
		peer->is_answered = peer->nr_askers == 1;
		if (peer->is_answered)
			break;
		memmove(peer->askers, peer->askers + 1, --peer->nr_askers * sizeof(ret));
	} while (!is_waiting(message, &ret, peer));
	return ret;
}

/* The other side is a peer: whose client it is. */
static struct pguard_asker datagram_of_peer(struct pguard_connection *peer,
					    const struct pguard_message *message, bool is_read)
{
	const struct pguard_thread *thread = message->thread;
	struct pguard_asker asker = { };

	lockdep_assert_held(&peer->lock);
	peer->asked_at = message->now;
	if (is_read)
		return asker_take(message, peer);
	if (pguard_is_serving(thread))
		asker = (struct pguard_asker){ thread->serves.client, thread->serves.id };
	asker_put(peer, asker.client, asker.id);
	return asker;
}

/*
 * The other side is a client.  As long as nobody was answered by the socket it is one that listens
 * only, to a log, say: then what comes there is not late, nor missed, until it has an answer.
 */
static void datagram_of_client(struct pguard_connection *socket,
			       struct pguard_connection *client,
			       const struct pguard_message *message, bool is_read)
{
	struct pguard_client_request *request = &client->request;

	lockdep_assert_held(&client->lock);
	if (is_read) {
		pguard_client_request_read(client, message);
		if (!READ_ONCE(socket->answers))
			request->reports = PGUARD_REQUEST_REPORTED;
	} else if (client->is_open) {
		if (!request->answered && request->reports == PGUARD_REQUEST_REPORTED)
			request->reports = 0;
		pguard_client_request_write(client, message);
		WRITE_ONCE(socket->answers, true);
	}
}

/* Returns false if the connection is out of the table, and so is not found again. */
static bool take_datagram(struct pguard_connection *socket, struct pguard_connection *connection,
			  const struct pguard_message *message, bool is_read)
{
	struct pguard_asker asker = { };
	u8 role;

	spin_lock(&connection->lock);
	if (connection->role == PGUARD_CONNECTION_UNKNOWN)
		WRITE_ONCE(connection->role,
			   role_by_ports(connection->sk, connection->port, is_read));
	role = connection->role;
	if (role == PGUARD_CONNECTION_PEER)
		asker = datagram_of_peer(connection, message, is_read);
	else if (role == PGUARD_CONNECTION_CLIENT)
		datagram_of_client(socket, connection, message, is_read);
	spin_unlock(&connection->lock);
	if (asker.client)
		client_account(message, asker.client, asker.id, connection, is_read);
	if (role == PGUARD_CONNECTION_CLIENT && is_read)
		pguard_serve(message->thread, connection->sk, connection->id);
	return role != PGUARD_CONNECTION_GONE;
}

/* With this remote side.  Preemption is off. */
static void take_datagram_of(struct pguard_connection *socket,
			     const struct pguard_message *message,
			     const struct pguard_remote *remote, bool is_read)
{
	struct pguard_connection *connection;

	do {
		rcu_read_lock();
		connection = pguard_connection_get_remote(message->table, message->sk, remote);
		rcu_read_unlock();
	} while (connection && !take_datagram(socket, connection, message, is_read));
}

/* What the call has read from a socket of datagrams, @nr of them, or is about to write. */
static noinline void take_datagrams(struct pguard_connection *socket,
				    const struct pguard_message *message, bool is_read, u32 nr)
{
	const struct pt_regs *regs = task_pt_regs(current);
	struct pguard_remote remote;
	u32 i;

	if (!is_read)
		nr = pguard_datagrams_written(regs);
	for (i = 0; i < min_t(u32, nr, PGUARD_MAX_MESSAGES); i++)
		if (pguard_datagram_remote(message->sk, regs, i, is_read, &remote))
			take_datagram_of(socket, message, &remote, is_read);
}

/* It is a peer's, or is known to ask, too; it stays what it is if it was closed meanwhile. */
static void set_kind(struct pguard_connection *peer, u8 role)
{
	lockdep_assert_held(&peer->lock);
	if (pguard_connection_is_peer(peer))
		WRITE_ONCE(peer->role, role);
}

/* Of a peer that asks, too, what it has asked; NULL: there was no room.  Preemption is off. */
static struct pguard_connection *asker_of(const struct pguard_connection *peer,
					  const struct pguard_message *message)
{
	return pguard_client_find(message, peer->sk, peer->id | PGUARD_ASKER_ID);
}

/* Does the unit work for a client, other than for what the peer itself has asked? */
static bool is_for_client(const struct pguard_connection *peer,
			  const struct pguard_message *message)
{
	const struct pguard_serves *serves = &message->thread->serves;

	return pguard_is_serving(message->thread) &&
	       !(serves->client == peer->sk && serves->id == (peer->id | PGUARD_ASKER_ID));
}

/* What a peer has asked unasked is answered, unless that is long after. */
static void asker_write(struct pguard_connection *asker, const struct pguard_message *message,
			enum pguard_two_way_message what)
{
	bool is_open;

	spin_lock(&asker->lock);
	if (what == PGUARD_TWO_WAY_RESTED)
		pguard_client_request_end(asker, message);
	is_open = asker->is_open;
	if (is_open) {
		/* Now it is one. */
		if (!asker->request.answered)
			asker->request.reports = 0;
		pguard_client_request_write(asker, message);
	}
	spin_unlock(&asker->lock);
	if (is_open)
		pguard_serve(message->thread, asker->sk, asker->id);
}

/* It was not asked for: another request begins, or it belongs to what is answered just now. */
static void asker_read(struct pguard_connection *asker, const struct pguard_message *message,
		       enum pguard_two_way_message what)
{
	bool is_open;

	spin_lock(&asker->lock);
	if (asker->is_open && what <= PGUARD_TWO_WAY_ECHO) {
		pguard_client_request_account(&asker->request, message, NULL);
	} else if (what != PGUARD_TWO_WAY_WITHIN) {
		pguard_client_request_end(asker, message);
		pguard_client_request_read(asker, message);
		asker->request.reports = PGUARD_REQUEST_REPORTED;
	}
	is_open = asker->is_open;
	spin_unlock(&asker->lock);
	if (is_open)
		pguard_serve(message->thread, asker->sk, asker->id);
}

/* Somebody is asked who may ask himself. */
static void two_way_write(struct pguard_connection *peer, const struct pguard_message *message)
{
	bool is_for_other = is_for_client(peer, message), is_two_way;
	struct pguard_connection *asker = NULL;
	enum pguard_two_way_message what;

	spin_lock(&peer->lock);
	is_two_way = peer->role == PGUARD_CONNECTION_TWO_WAY;
	what = pguard_two_way_message(&peer->way, message);
	pguard_two_way_asked(&peer->way, message);
	if (is_for_other || (!is_two_way && pguard_two_way_is_over(&peer->way)))
		set_kind(peer, PGUARD_CONNECTION_PEER);
	spin_unlock(&peer->lock);
	if (is_two_way)
		asker = asker_of(peer, message);
	if (asker)
		asker_write(asker, message, is_for_other ? PGUARD_TWO_WAY_RESTED : what);
	peer_write(peer, message);
}

/* Returns true if it asks, too, from now on. */
static bool two_way_find_out(struct pguard_connection *peer, const struct pguard_message *message)
{
	bool is_two_way = pguard_two_way_answered(&peer->way, message);

	lockdep_assert_held(&peer->lock);
	if (!is_two_way || peer->role != PGUARD_CONNECTION_ASKED)
		return peer->role == PGUARD_CONNECTION_TWO_WAY;
	is_two_way = pguard_connection_add_asker(message->table, peer);
	set_kind(peer, is_two_way ? PGUARD_CONNECTION_TWO_WAY : PGUARD_CONNECTION_PEER);
	return is_two_way;
}

/* Something came from somebody who may ask himself. */
static void two_way_read(struct pguard_connection *peer, const struct pguard_message *message)
{
	struct pguard_connection *asker = NULL;
	enum pguard_two_way_message what;
	bool was_asked;

	spin_lock(&peer->lock);
	what = pguard_two_way_message(&peer->way, message);
	was_asked = peer->way.is_asked;
	if (two_way_find_out(peer, message))
		asker = asker_of(peer, message);
	spin_unlock(&peer->lock);
	if (asker && (what != PGUARD_TWO_WAY_WITHIN || !was_asked))
		asker_read(asker, message, what);
	else
		peer_read(peer, message);
}

/* By a connection of a peer that asks, too, or may. */
static noinline void take_two_way(struct pguard_connection *peer,
				  const struct pguard_message *message, bool is_read)
{
	is_read ? two_way_read(peer, message) : two_way_write(peer, message);
}

static __always_inline void had_message(const struct pguard_message *message)
{
	struct pguard_serves *serves = &message->thread->serves;

	serves->last = message->now;
	serves->run_delay = current->sched_info.run_delay;
}

static __always_inline void take(struct pguard_connection *connection,
				 struct pguard_message *message, u32 nr, bool is_read)
{
	u8 role;

	message->sk = connection->sk;
	/* Pairs with find_role(). */
	role = smp_load_acquire(&connection->role);
	if (unlikely(role == PGUARD_CONNECTION_UNKNOWN))
		role = find_role(connection, message, is_read);
	if (unlikely(role > PGUARD_CONNECTION_PEER)) {
		if (role == PGUARD_CONNECTION_DATAGRAMS)
			take_datagrams(connection, message, is_read, nr);
		else if (role != PGUARD_CONNECTION_GONE)
			take_two_way(connection, message, is_read);
		had_message(message);
		return;
	}
	if (role == PGUARD_CONNECTION_PEER) {
		is_read ? peer_read(connection, message) : peer_write(connection, message);
		had_message(message);
		return;
	}
	spin_lock(&connection->lock);
	is_read ? pguard_client_request_read(connection, message)
		: pguard_client_request_write(connection, message);
	spin_unlock(&connection->lock);
	if (is_read)
		pguard_serve(message->thread, connection->sk, connection->id);
	had_message(message);
}

/* Current has read a signal: the client whom its thread served last may have waited for it. */
static noinline void take_signal(const struct pguard_message *message)
{
	const struct pguard_serves *serves = &message->thread->serves;
	struct pguard_connection *client = pguard_client_find(message, serves->client, serves->id);
	u32 pid;

	if (!client)
		return;
	pid = pguard_signal_sender(task_pt_regs(current));
	if (!pid)
		return;
	spin_lock(&client->lock);
	if (client->is_open)
		pguard_client_request_woken(&client->request, message, pid);
	spin_unlock(&client->lock);
}

/* By what is no connection. */
static noinline void take_key(const struct pguard_message *message, bool is_read)
{
	if (message->key & KEY_IS_SIGNAL)
		take_signal(message);
	else if (message->key & KEY_IS_TIMER)
		pguard_serves_timer(message->thread);
	else if (message->key && is_read)
		pguard_take_over(message, true);
	else if (message->key)
		pguard_hand_over(message, !(message->key & KEY_IS_PIPE));
}

/* Preemption is off: connections and what they refer to stay meanwhile. */
static __always_inline void message_take(struct pguard_thread *thread, u32 fd, u32 nr,
					 bool is_read)
{
	const struct pguard_talk *talk =
		is_read ? thread->arrival.talk : &thread->talks[fd % PGUARD_NR_TALKS];
	struct pguard_message message = pguard_message_of(thread);

	if (!(is_read ? is_expected(talk, message.table) : is_known(talk, message.table, fd))) {
		thread->arrival.talk = NULL;
		talk = look_up(&message, fd);
		if (!talk) {
			take_key(&message, is_read);
			return;
		}
	}
	take(talk->connection, &message, nr, is_read);
}

/* The connection that a descriptor has now, or NULL.  Preemption is off. */
static noinline const struct pguard_talk *get_to_know(struct pguard_thread *thread, u32 fd)
{
	struct pguard_message message = pguard_message_of(thread);

	return look_up(&message, fd);
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
	const struct pguard_talk *talk = &thread->talks[fd % PGUARD_NR_TALKS];
	struct pguard_arrival *arrival = &thread->arrival;

	preempt_disable_notrace();
	if (!pguard_has_requests(thread))
		goto none;
	if (!is_known(talk, pguard_connections_of(thread), fd)) {
		talk = get_to_know(thread, fd);
		if (!talk)
			goto none;
	}
	arrival->talk = talk;
	pguard_arrival_set(arrival, talk->connection->sk);
	if (unlikely(talk->connection->role == PGUARD_CONNECTION_DATAGRAMS))
		pguard_datagram_arrival(talk->connection->sk, arrival);
	preempt_enable_notrace();
	return;
none:
	preempt_enable_notrace();
	arrival->talk = NULL;
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
	preempt_disable_notrace();
	if (pguard_has_requests(thread))
		message_take(thread, fd, 1, true);
	preempt_enable_notrace();
}

/* The same of a call that has read so many messages.  Context: the same. */
void pguard_connection_read_all(struct pguard_thread *thread, u32 fd, u32 nr)
{
	preempt_disable_notrace();
	if (pguard_has_requests(thread))
		message_take(thread, fd, nr, true);
	preempt_enable_notrace();
}

/**
 * pguard_connection_write() - current is about to write some bytes
 * @thread: of current
 * @fd: to this descriptor, whatever it is
 *
 * What it takes the other side to take them is not the time of the request.
 *
 * Context: current, preemption off.
 */
void pguard_connection_write(struct pguard_thread *thread, u32 fd)
{
	if (pguard_has_requests(thread))
		message_take(thread, fd, 0, false);
}

/* A client's; current is who is to serve it. */
static void client_accept(struct pguard_connection *connection)
{
	spin_lock(&connection->lock);
	if (connection->role == PGUARD_CONNECTION_UNKNOWN)
		WRITE_ONCE(connection->role, PGUARD_CONNECTION_CLIENT);
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
	const struct pguard_talk *talk;
	struct pguard_message message;

	preempt_disable_notrace();
	if (pguard_has_requests(thread)) {
		message = pguard_message_of(thread);
		talk = look_up(&message, fd);
		if (talk)
			client_accept(talk->connection);
	}
	preempt_enable_notrace();
}
