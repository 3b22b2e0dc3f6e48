/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The connections of watched threads, and the requests that clients make by them.
 *
 * A request begins with the first bytes of a client's message and ends with the last that are
 * written before the client's next message.  What happens in between is known by messages: when
 * a thread reads or writes, what went before is time of the unit at hand, of waiting for a peer,
 * or of neither.  Nothing is known of a protocol, so messages that a client sends without
 * waiting for answers are one.
 *
 * A peer is whom the program asks itself; it may ask, too (two-way.h).  What a unit writes to a
 * peer is for the client whom it served last; what comes back from the peer is for the same one.
 *
 * A connection is made by the first message, and goes once its socket is closed.  It refers to
 * the socket, which is its key, and so to no other one.  Hooked calls use connections, and their
 * sockets, with preemption off; both stay for a grace period once they are out of the table.
 *
 * By one socket of datagrams a program may talk with many others.  Each of these is a connection of
 * its own, whose key is the socket and the address of the other side; the socket has one, too,
 * by which it is known again.  Nobody closes those: they go some time after the answer, or if
 * there is none for long.  What is asked for several clients at once by one of them cannot be
 * distinguished without the protocol; then the first answer is for who asked first.
 */
#ifndef _KMOD_REQUEST_CONNECTION_H
#define _KMOD_REQUEST_CONNECTION_H

#include "request/connection-ends.h"
#include "request/datagram.h"
#include "request/handover.h"
#include "request/late-requests.h"
#include "request/request-sums.h"
#include "request/two-way.h"

#include <linux/jump_label.h>
#include <linux/mutex.h>
#include <linux/rhashtable-types.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct pguard_sent;
struct pguard_target;
struct pguard_thread;
struct sock;

/* Of a target; beyond them requests are not followed, which is counted. */
enum {
	PGUARD_MAX_CONNECTIONS = 65536,
	/* Of these; who sends by addresses of others can make as many as he wants. */
	PGUARD_MAX_DATAGRAMS = PGUARD_MAX_CONNECTIONS / 2,
};

enum pguard_connection_role {
	PGUARD_CONNECTION_UNKNOWN,
	PGUARD_CONNECTION_CLIENT,
	PGUARD_CONNECTION_PEER,
	PGUARD_CONNECTION_ASKED,	/* a peer that may ask, too, see two-way.h */
	PGUARD_CONNECTION_TWO_WAY,	/* one that does */
	PGUARD_CONNECTION_DATAGRAMS,	/* a socket by which others are connected */
	PGUARD_CONNECTION_GONE,		/* out of the table */
};

/* The id of a connection by datagrams has this bit, and a hash of the other side's address. */
#define PGUARD_DATAGRAM_ID	BIT(31)

/*
 * The requests of a peer that asks, too, have a connection of their own in the table, a client's,
 * whose id is that of the peer's and this bit.
 */
#define PGUARD_ASKER_ID		BIT(30)

/* Who has a request now. */
enum pguard_handing {
	PGUARD_HANDING_NONE,	/* whose message it had last */
	PGUARD_HANDING_OVER,	/* it was handed over since, and nobody was seen to begin with it */
	PGUARD_HANDING_GIVEN,	/* the same thread, which has not been seen to hand it back */
};

/* Of a peer: is it noted when it is sent something? */
enum pguard_noting {
	PGUARD_NOTE_NONE,
	PGUARD_NOTE_NEXT,
	PGUARD_NOTED,	/* it has not answered since */
};

/**
 * struct pguard_client_request - the request that a client has made; times in ticks
 * @arrived: pguard_clock() when its first bytes came, as far as the kernel knows
 * @queued: until a thread could have read them and did, by its unit or its read; see
 *	pguard_request_begun()
 * @timer: for a timer of the program's, by which a unit went on with it, as
 *	pguard_request_coarse() has it
 * @last: until when the parts below account for it
 * @answered: when an answer was written last; 0 if there was none
 * @working: in units that served it
 * @peers: waiting for peers that have answered
 * @handed: from one thread to another
 * @waiting: since a peer was asked that has not answered, outside of units
 * @until_answer: the same at @answered, these two as pguard_request_coarse() has it
 * @delay: pguard_run_delay() of the thread that read it, when it came
 * @answer_delay: the same at @answered; if another one has answered, what it was when it came
 * @longest: the longest wait for a peer, as pguard_request_wait() has it, and
 * @peer: which that was
 * @left_out: for how long the client had no room for the answer, which is no time of the request;
 *	jiffies
 * @gone: the next connection that is out of the table; the sweep's own
 * @unit: the low bits of the number of that which had its last message; 0: there is none, and
 * @by: whose that was, by the thread's id
 * @asked: pguard_connection_key() of the peer that was asked last and has not answered, or 0
 * @tid: of the thread that read it first
 * @pid: the same
 * @handing: enum pguard_handing
 * @reports: how often it was reported late; PGUARD_REQUEST_REPORTED if nothing is to come
 * @type: index, from 1, of the type of the unit that read it, as its last message so far shows
 *	it; 0: not known
 * @profile: the low bits of the id of the profile of that type
 */
struct pguard_client_request {
	u64 arrived;
	u64 last;
	u64 answered;
	u64 working;
	u64 peers;
	u64 handed;
	u64 waiting;
	struct {
		u64 working;
		u32 peers;
		u32 handed;
	} until_answer;
	u32 queued;
	u32 timer;
	u32 delay;
	u32 answer_delay;
	union {
		struct {
			u32 longest;
			u32 left_out;
		};
		struct pguard_connection *gone;
	};
	u64 asked;
	u32 by;
	u32 tid;
	u32 pid;
	u16 unit;
	u16 profile;
	u8 reports;
	u8 handing;
	u16 type;
	struct pguard_peer_address peer;
};

/* A client for whom a peer was asked; see @client and @client_id below. */
struct pguard_asker {
	const struct sock *client;
	u32 id;
};

enum { PGUARD_MAX_ASKERS = 6 };

/**
 * struct pguard_connection - a socket by which watched threads talk, or one side by datagrams
 * @node: in the table
 * @sk: referenced; the key, see pguard_connection_key()
 * @lock: of all that follows; no other lock is taken within but those of the sums
 * @id: never used again; of datagrams, see PGUARD_DATAGRAM_ID
 * @role: who asks; set once, until the connection is gone, but among the kinds of peers
 * @is_open: there is a request, maybe one that is answered already
 * @port: of the other side, by datagrams, and
 * @host: its address, of IPv4 a mapped one
 * @retransmitted: else: packets to a client when it was answered last, and
 * @held_up: for how long there had been no room for what it was to be sent, in jiffies; the low
 *	bits of both
 * @unread: how often a client was reported late whose next message nobody has read
 * @request: of a client
 * @client: of a peer, for whom it was asked last: the client's socket, which may be gone, or NULL,
 *	which is seen without the lock, and
 * @client_id: the id of its connection
 * @address: of the peer, other than by datagrams; set before @role, as is
 * @noting: when messages to it are sent, see sent-messages.h; without the lock
 * @other: the cookie of its local socket
 * @place: where that is noted
 * @way: whether it asks, too
 * @asked_at: of a peer by datagrams: pguard_clock() of its last message
 * @is_answered: the same: it has answered to the only one of
 * @askers: for whom it was asked, the oldest first, which are
 * @nr_askers: so many
 * @answers: of a socket of datagrams: somebody was answered by it
 * @reported: the low bits of the number of the last report that has it; the sweep's own
 */
struct pguard_connection {
	struct rhash_head node;
	struct sock *sk;
	spinlock_t lock;
	u32 id;
	u8 role;
	bool is_open;
	u8 reported;
	u8 unread;
	__be16 port;
	union {
		struct pguard_client_request request;
		struct {
			const struct sock *client;
			u32 client_id;
			struct pguard_peer_address address;
			u8 noting;
			u64 other;
			struct pguard_sent *place;
			struct pguard_two_way way;
		};
		struct {
			u64 asked_at;
			u8 nr_askers;
			bool is_answered;
			struct pguard_asker askers[PGUARD_MAX_ASKERS];
		};
		bool answers;
	};
	union {
		struct {
			u16 retransmitted;
			u16 held_up;
		};
		struct in6_addr host;
	};
};

/* "At most 200 bytes an open connection" is 192 of the allocator and its place in the table. */
static_assert(sizeof(struct pguard_connection) <= 192 || IS_ENABLED(CONFIG_DEBUG_SPINLOCK));

/**
 * struct pguard_connection_table - the connections of a target
 * @target: whose it is; outlives it
 * @hash: by socket
 * @sums: of the requests
 * @late: those that are beyond a limit
 * @handovers: those that are handed from one thread to another
 * @names: of the local sockets of peers
 * @next_id: of connections
 * @seed: of the ids of those by datagrams, and
 * @datagrams: how many there are of these
 * @refused: how many times a message found no room for its connection
 * @walk: held by who sweeps, or reports; within pguard_control
 * @removed: connections that were taken out so far; written under @walk
 * @reports: that were made; the same
 * @swept: how many the last sweep left
 * @sweep: takes out those whose sockets are closed
 */
struct pguard_connection_table {
	struct pguard_target *target;
	struct rhashtable hash;
	struct pguard_request_sums sums;
	struct pguard_late_requests late;
	struct pguard_handovers handovers;
	struct pguard_socket_names names;
	atomic_t next_id;
	u32 seed;
	atomic_t datagrams;
	atomic64_t refused;
	struct mutex walk;
	u64 removed;
	u8 reports;
	u32 swept;
	struct delayed_work sweep;
};

static inline bool pguard_connection_is_datagram(const struct pguard_connection *connection)
{
	return connection->id & PGUARD_DATAGRAM_ID;
}

static inline bool pguard_connection_is_peer(const struct pguard_connection *connection)
{
	u8 role = READ_ONCE(connection->role);

	return role >= PGUARD_CONNECTION_PEER && role <= PGUARD_CONNECTION_TWO_WAY;
}

/* Those of a peer that asks, too. */
static inline bool pguard_connection_is_asker(const struct pguard_connection *connection)
{
	return (connection->id & (PGUARD_DATAGRAM_ID | PGUARD_ASKER_ID)) == PGUARD_ASKER_ID;
}

/* By which it is found: the socket, and where that has several the id as well. */
static inline u64 pguard_connection_key(const struct sock *sk, u32 id)
{
	return (u64)sk ^ (id & (PGUARD_DATAGRAM_ID | PGUARD_ASKER_ID) ? (u64)id << 32 : 0);
}

/* Some target's requests are followed; pguard_control for writing. */
DECLARE_STATIC_KEY_FALSE(pguard_requests_followed);

struct pguard_connection_table *pguard_connection_table_new(struct pguard_target *target,
							    work_func_t watch);
void pguard_connection_table_free(struct pguard_connection_table *table);
void pguard_connection_table_read(struct pguard_connection_table *table,
				  struct pguard_request_report *ret);
void pguard_connection_table_forget(struct pguard_connection_table *table);
u64 pguard_connection_table_look(struct pguard_connection_table *table, u64 soonest);
struct pguard_connection *pguard_connection_find(struct pguard_connection_table *table, u64 key);
struct pguard_connection *pguard_connection_get(struct pguard_connection_table *table,
						struct sock *sk);
bool pguard_connection_add_asker(struct pguard_connection_table *table,
				 const struct pguard_connection *peer);
struct pguard_connection *pguard_connection_get_remote(struct pguard_connection_table *table,
						       struct sock *sk,
						       const struct pguard_remote *remote);

bool pguard_connection_is_over(const struct pguard_connection_table *table,
			       const struct pguard_connection *connection);
void pguard_connection_close(struct pguard_connection_table *table,
			     struct pguard_connection *connection);
u64 pguard_connection_look(struct pguard_connection_table *table,
			   struct pguard_connection *connection, u64 soonest);
void pguard_connection_report(struct pguard_connection *connection,
			      struct pguard_request_report *report);
void pguard_connection_accept(struct pguard_thread *thread, u32 fd);
void pguard_connection_expect(struct pguard_thread *thread, u32 fd);
void pguard_connection_read(struct pguard_thread *thread, u32 fd);
void pguard_connection_read_all(struct pguard_thread *thread, u32 fd, u32 nr);
void pguard_connection_write(struct pguard_thread *thread, u32 fd);
void pguard_connection_waits(struct pguard_thread *thread, u64 futex);
bool pguard_connection_awaits(struct pguard_thread *thread, u64 futex);
bool pguard_connection_wake(struct pguard_thread *thread, u64 futex);
void pguard_connection_woke_none(struct pguard_thread *thread, u64 futex);
void pguard_connection_woken(struct pguard_thread *thread, u64 futex);

#endif /* _KMOD_REQUEST_CONNECTION_H */
