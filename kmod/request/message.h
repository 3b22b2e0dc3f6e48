/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A message of current, and whom its thread serves: what connections and hand-overs have in common.
 *
 * All functions take preemption off, and do not sleep.
 */
#ifndef _KMOD_REQUEST_MESSAGE_H
#define _KMOD_REQUEST_MESSAGE_H

#include "lib/clock.h"
#include "request/client-request.h"
#include "target/image.h"
#include "target/thread.h"

/* Does it work for the client of its pguard_serves now? */
static inline bool pguard_is_serving(const struct pguard_thread *thread)
{
	const struct pguard_serves *serves = &thread->serves;

	return serves->client && !serves->is_done &&
	       (serves->is_handed || (serves->unit && serves->unit == pguard_unit_of(thread)));
}

/* The unit at hand serves this client from now on. */
static __always_inline void pguard_serve(struct pguard_thread *thread, const struct sock *client,
					 u32 id)
{
	thread->serves.client = client;
	thread->serves.id = id;
	thread->serves.is_handed = false;
	thread->serves.is_done = false;
	thread->serves.unit = pguard_unit_of(thread);
}

/* The connection of a client, or NULL if it is gone.  Preemption is off. */
static inline struct pguard_connection *pguard_client_find(const struct pguard_message *message,
							   const struct sock *client, u32 id)
{
	struct pguard_connection *connection;

	rcu_read_lock();
	connection = pguard_connection_find(message->table, pguard_connection_key(client, id));
	rcu_read_unlock();
	return connection && connection->id == id ? connection : NULL;
}

/*
 * Are messages of the thread of interest?  Then it has a table, which goes a grace period after the
 * thread is dead; preemption is off.
 */
static __always_inline bool pguard_has_requests(const struct pguard_thread *thread)
{
	return likely(!READ_ONCE(thread->dead) &&
		      READ_ONCE(thread->image->target->flags) & PERFGUARD_TARGET_FLAGS_REQUESTS);
}

static __always_inline struct pguard_connection_table *
pguard_connections_of(const struct pguard_thread *thread)
{
	return READ_ONCE(thread->image->target->connections);
}

/* Just now.  This way its other fields are cleared once. */
static __always_inline struct pguard_message pguard_message_of(struct pguard_thread *thread)
{
	return (struct pguard_message){
		.table = pguard_connections_of(thread),
		.thread = thread,
		.now = pguard_clock(),
	};
}

/* handed-work.c */
bool pguard_hand_over(const struct pguard_message *message, bool is_eventfd);
void pguard_take_over(const struct pguard_message *message, bool is_all);

#endif /* _KMOD_REQUEST_MESSAGE_H */
