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
 * A peer is whom the program asks itself.  What a unit writes to a peer is for the
 * client whom it served last; what comes back from the peer is for the same one.
 *
 * A connection is made by the first message, and goes once its socket is closed.  It refers to
 * the socket, which is its key, and so to no other one.  Hooked calls use connections, and their
 * sockets, with preemption off; both stay for a grace period once they are out of the table.
 */
#ifndef _KMOD_REQUEST_CONNECTION_H
#define _KMOD_REQUEST_CONNECTION_H

#include "request/handover.h"
#include "request/late-requests.h"
#include "request/request-sums.h"

#include <linux/jump_label.h>
#include <linux/mutex.h>
#include <linux/rhashtable-types.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct pguard_target;
struct pguard_thread;
struct sock;

/* Of a target; beyond them requests are not followed, which is counted. */
enum { PGUARD_MAX_CONNECTIONS = 65536 };

enum pguard_connection_role {
	PGUARD_CONNECTION_UNKNOWN,
	PGUARD_CONNECTION_CLIENT,
	PGUARD_CONNECTION_PEER,
};

/* What is kept of the address of a peer. */
struct pguard_peer_address {
	u16 family;	/* 0 if there is none */
	__be16 port;
	union {
		__be32 host;
		struct in6_addr host6;
	};
};

/**
 * struct pguard_client_request - the request that a client has made; times in ticks
 * @arrived: pguard_clock() when its first bytes came, as far as the kernel knows
 * @begun: when a thread could have read them and did, by its unit or its read
 * @last: until when the parts below account for it
 * @answered: when an answer was written last; 0 if there was none
 * @working: in units that served it
 * @peers: waiting for peers that have answered
 * @handed: from one thread to another
 * @waiting: since a peer was asked that has not answered, outside of units
 * @until_answer: the same at @answered
 * @longest: the longest wait for a peer, and
 * @peer: which that was
 * @unit: the low bits of the number of that which had its last message, and
 * @thread: whose that was; not to be followed
 * @asked: the socket of the peer that was asked last and has not answered, or NULL; the
 *	same
 * @tid: of the thread that read it first
 * @pid: the same
 * @is_handed: it was handed over since, and nobody was seen to begin with it
 * @reports: how often it was reported late; PGUARD_REQUEST_REPORTED if nothing is to come
 * @type: index, from 1, of the type of the unit that read it, as its last message so far shows
 *	it; 0: not known
 * @profile: id of the profile of that type
 */
struct pguard_client_request {
	u64 arrived;
	u64 begun;
	u64 last;
	u64 answered;
	u64 working;
	u64 peers;
	u64 handed;
	u64 waiting;
	struct {
		u64 working;
		u64 peers;
		u64 handed;
	} until_answer;
	u64 longest;
	const struct pguard_thread *thread;
	const struct sock *asked;
	u32 unit;
	u32 tid;
	u32 pid;
	u8 reports;
	bool is_handed;
	u16 type;
	struct pguard_peer_address peer;
	u32 profile;
};

/**
 * struct pguard_connection - a stream socket by which watched threads talk
 * @node: in the table
 * @sk: referenced; the key
 * @lock: of all that follows; no other lock is taken within but those of the sums
 * @id: never used again
 * @role: who asks; set once
 * @is_open: there is a request, maybe one that is answered already
 * @retransmitted: packets to a client when it was answered last
 * @unread: how often a client was reported late whose next message nobody has read
 * @request: of a client
 * @client: of a peer, for whom it was asked last: the client's socket, which may be gone, and
 * @client_id: the id of its connection
 * @gone: the next one that is out of the table; the sweep's own, as is
 * @reported: the low bits of the number of the last report that has it
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
	u32 retransmitted;
	union {
		struct pguard_client_request request;
		struct {
			const struct sock *client;
			u32 client_id;
		};
	};
	struct pguard_connection *gone;
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
 * @next_id: of connections
 * @refused: connections that found no room
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
	atomic_t next_id;
	atomic64_t refused;
	struct mutex walk;
	u64 removed;
	u8 reports;
	u32 swept;
	struct delayed_work sweep;
};

/* Some target's requests are followed; pguard_control for writing. */
DECLARE_STATIC_KEY_FALSE(pguard_requests_followed);

struct pguard_connection_table *pguard_connection_table_new(struct pguard_target *target,
							    work_func_t watch);
void pguard_connection_table_free(struct pguard_connection_table *table);
void pguard_connection_table_read(struct pguard_connection_table *table,
				  struct pguard_request_report *ret);
void pguard_connection_table_forget(struct pguard_connection_table *table);
u64 pguard_connection_table_look(struct pguard_connection_table *table, u64 soonest);
struct pguard_connection *pguard_connection_find(struct pguard_connection_table *table,
						 const struct sock *sk);
struct pguard_connection *pguard_connection_get(struct pguard_connection_table *table,
						struct sock *sk);

void pguard_connection_close(struct pguard_connection_table *table,
			     struct pguard_connection *connection);
u64 pguard_connection_look(struct pguard_connection_table *table,
			   struct pguard_connection *connection, u64 soonest);
void pguard_connection_report(struct pguard_connection *connection,
			      struct pguard_request_report *report);
void pguard_connection_accept(struct pguard_thread *thread, u32 fd);
void pguard_connection_expect(struct pguard_thread *thread, u32 fd);
void pguard_connection_read(struct pguard_thread *thread, u32 fd);
void pguard_connection_write(struct pguard_thread *thread, u32 fd);
bool pguard_connection_wake(struct pguard_thread *thread, u64 futex);
void pguard_connection_woke_none(struct pguard_thread *thread, u64 futex);
void pguard_connection_woken(struct pguard_thread *thread, u64 futex);

#endif /* _KMOD_REQUEST_CONNECTION_H */
