/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What messages mean for the request of a client: when it came, where its time goes, when it
 * was answered, and whether it ended late.  While it lasts, late-look.c finds it.
 *
 * All functions take the request's connection locked, preemption off, and do not sleep.
 */
#ifndef _KMOD_REQUEST_CLIENT_REQUEST_H
#define _KMOD_REQUEST_CLIENT_REQUEST_H

#include "request/connection.h"
#include "target/thread.h"

#include <linux/tcp.h>
#include <net/sock.h>

/**
 * struct pguard_message - that current has read, or is about to write
 * @table: of its target
 * @thread: of current
 * @sk: by which socket
 * @key: of what is no socket, see handover.h; 0: nothing is handed over by it
 * @now: pguard_clock()
 */
struct pguard_message {
	struct pguard_connection_table *table;
	struct pguard_thread *thread;
	struct sock *sk;
	u64 key;
	u64 now;
};

static inline bool pguard_is_tcp(const struct sock *sk)
{
	return sk->sk_protocol == IPPROTO_TCP && sk->sk_type == SOCK_STREAM &&
	       (sk->sk_family == AF_INET || sk->sk_family == AF_INET6);
}

/* The number of the unit that current does; 0 if it does none. */
static inline u64 pguard_unit_of(const struct pguard_thread *thread)
{
	u64 word = READ_ONCE(thread->unit);

	return word & PGUARD_PHASE_RUNNING ? pguard_unit_number(word) : 0;
}

/* Of what a socket has now, if anything.  More may come just now. */
static __always_inline void pguard_arrival_set(struct pguard_arrival *arrival,
					       const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	arrival->packet_us = 0;
	if (pguard_is_tcp(sk) && READ_ONCE(tp->rcv_nxt) != READ_ONCE(tp->copied_seq))
		arrival->packet_us = READ_ONCE(tp->tcp_mstamp);
	else
		arrival->run_delay = current->sched_info.run_delay;
}

u64 pguard_arrival_age(const struct sock *sk, const struct pguard_arrival *arrival);
void pguard_client_request_account(struct pguard_client_request *request,
				   const struct pguard_message *message,
				   const struct pguard_connection *peer);
void pguard_client_request_woken(struct pguard_client_request *request,
				 const struct pguard_message *message, u32 pid);
void pguard_client_request_taken(const struct pguard_message *message,
				 const struct pguard_given *given);
void pguard_client_request_returned(const struct pguard_message *message, u32 id, u64 at);
void pguard_client_request_end(struct pguard_connection *connection,
			       const struct pguard_message *message);
void pguard_client_request_read(struct pguard_connection *connection,
				const struct pguard_message *message);
void pguard_client_request_write(struct pguard_connection *connection,
				 const struct pguard_message *message);

#endif /* _KMOD_REQUEST_CLIENT_REQUEST_H */
