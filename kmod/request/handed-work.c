// SPDX-License-Identifier: GPL-2.0

/*
 * What a thread does for a client is handed over, by a futex, an eventfd or a pipe, and taken:
 * handover.h has the rules, this the requests.
 */

#include "request/handover.h"

#include "request/connection.h"
#include "request/message.h"
#include "trainstream/stream.h"

#include <linux/hash.h>

/* The thread has, or had, the request that it was given: it has handed that back, say. */
static void given_show(const struct pguard_message *message)
{
	struct pguard_given *given = &message->thread->serves.given;

	if (given->by && unlikely(pguard_stream_is_open()))
		pguard_client_request_taken(message, given);
	given->by = 0;
}

/* Has the thread had a message since for what it was given, and not read one of another client? */
static bool given_has_message(const struct pguard_serves *serves)
{
	return serves->is_handed && serves->id == serves->given.id &&
	       (s64)(serves->last - serves->given.taken) >= 0;
}

/* It was not for this thread: who gave it is the last one that had it. */
static void given_forget(const struct pguard_message *message)
{
	struct pguard_serves *serves = &message->thread->serves;
	u32 by = serves->given.by;
	struct pguard_connection *connection;

	serves->given.by = 0;
	serves->is_done = true;
	serves->back = message->now;
	connection = by ? pguard_client_find(message, serves->client, serves->id) : NULL;
	if (!connection)
		return;
	spin_lock(&connection->lock);
	if (connection->is_open && connection->request.handing == PGUARD_HANDING_GIVEN &&
	    connection->request.by == message->thread->tid) {
		connection->request.handing = PGUARD_HANDING_NONE;
		connection->request.by = by;
		connection->request.unit = 0;
	}
	spin_unlock(&connection->lock);
}

/* The thread has handed back what it was given before: for whom was this, that it took awake? */
static void hand_back(const struct pguard_message *message)
{
	struct pguard_thread *thread = message->thread;
	u64 begun = thread->serves.back;

	if (!thread->serves.is_handed)
		return;
	if (pguard_unit_of(thread))
		begun = max(begun, READ_ONCE(thread->start));
	pguard_handback_put(&message->table->handovers,
			    &(struct pguard_handback){ begun, message->now, thread->tid });
	thread->serves.back = message->now;
}

/* Who is held to have had what was handed back has had it, as far as is known. */
static void returned_show(const struct pguard_message *message)
{
	struct pguard_returned *returned = &message->thread->serves.returned;

	if (returned->by && unlikely(pguard_stream_is_open()))
		pguard_client_request_returned(message, returned->id, returned->at);
	returned->by = 0;
}

/* What was handed back to the thread before: has it gone on with that?  Else it is not known. */
static void returned_end(const struct pguard_message *message)
{
	struct pguard_returned *returned = &message->thread->serves.returned;
	const struct pguard_connection *client;

	if (!returned->by)
		return;
	client = pguard_client_find(message, returned->client, returned->id);
	/* Of several at once it is not seen which one goes on first. */
	if (returned->taken == message->now ||
	    (client && (s64)(READ_ONCE(client->request.last) - returned->taken) > 0))
		returned_show(message);
	returned->by = 0;
}

/* The thread has got it back. */
static void returned_set(const struct pguard_message *message,
			 const struct pguard_handover *handover)
{
	struct pguard_returned *returned = &message->thread->serves.returned;

	returned_end(message);
	returned->client = handover->client;
	returned->id = handover->id;
	returned->tid = handover->tid;
	returned->by = handover->by;
	returned->at = handover->given;
	returned->taken = message->now;
}

/* The thread serves the first that was handed over by a key.  Returns false if there is none. */
static bool take_first(const struct pguard_message *message, u64 key, bool is_woken)
{
	struct pguard_serves *serves = &message->thread->serves;
	struct pguard_connection *connection;
	struct pguard_handover handover;
	struct pguard_given given;

	if (!pguard_handover_take(&message->table->handovers, key, &handover))
		return false;
	/* It has woken itself. */
	if (handover.tid == current->pid)
		return true;
	connection = pguard_client_find(message, handover.client, handover.id);
	if (!connection)
		return true;
	spin_lock(&connection->lock);
	if (connection->is_open) {
		pguard_client_request_account(&connection->request, message, NULL);
		connection->request.handing = PGUARD_HANDING_GIVEN;
	}
	spin_unlock(&connection->lock);
	if (handover.by)
		returned_set(message, &handover);
	given = (struct pguard_given){ key, handover.at, message->now, handover.id, handover.tid };
	pguard_serve(message->thread, handover.client, handover.id);
	serves->is_handed = true;
	if (is_woken)
		serves->given = given;
	else if (unlikely(pguard_stream_is_open()))
		pguard_client_request_taken(message, &given);
	return true;
}

/*
 * The thread is done with what it was given by a futex, and looks for more before it waits there: it
 * gets the first, though another thread was woken for that, which has not run yet.
 */
static void take_next(const struct pguard_message *message)
{
	u64 key = message->thread->serves.given.key;

	if (key && pguard_handover_is_known(&message->table->handovers, key))
		take_first(message, key, true);
}

/* A client's request is handed over, if there is one: by a key, unless that is 0. */
static void put_over(const struct pguard_message *message, struct pguard_connection *connection,
		     u64 key)
{
	struct pguard_given *given = &message->thread->serves.given;
	const struct pguard_handover handover = {
		.client = connection->sk,
		.id = connection->id,
		.tid = current->pid,
		.at = message->now,
		.by = given->by,
		.given = given->at,
	};

	given->by = 0;
	spin_lock(&connection->lock);
	if (connection->is_open) {
		pguard_client_request_account(&connection->request, message, NULL);
		connection->request.handing = PGUARD_HANDING_OVER;
	}
	spin_unlock(&connection->lock);
	if (key)
		pguard_handover_put(&message->table->handovers, key, &handover);
}

/*
 * What the unit at hand serves is handed over by the message's key, if that is known.  What
 * a thread was given it hands back by an eventfd even if nobody reads from that, as who polls it
 * need not; a pipe may be one for a log.
 *
 * Return: false if nothing was.
 */
bool pguard_hand_over(const struct pguard_message *message, bool is_eventfd)
{
	struct pguard_serves *serves = &message->thread->serves;
	struct pguard_connection *connection;
	bool is_known = pguard_handover_is_known(&message->table->handovers, message->key);
	bool is_over = false;

	if (!is_known && !(is_eventfd && serves->is_handed))
		return false;
	/* A loop may ring its own bell, as GLib's does to look at its sources again. */
	if (pguard_handover_is_own(&message->table->handovers, message->key, current->pid))
		return false;
	if (pguard_is_serving(message->thread)) {
		connection = pguard_client_find(message, serves->client, serves->id);
		if (!connection)
			return false;
		/* Who reads there sees what goes on then. */
		if (serves->is_handed && !(is_eventfd && is_known))
			given_show(message);
		put_over(message, connection, is_known ? message->key : 0);
		/* What a thread was given it gives back, and is done with it. */
		serves->is_done = serves->is_handed;
		serves->back = message->now;
		is_over = true;
	} else {
		hand_back(message);
	}
	if (is_eventfd && serves->is_done)
		take_next(message);
	return is_over;
}

/* The thread serves what was handed over by the message's key: the first, or all. */
void pguard_take_over(const struct pguard_message *message, bool is_all)
{
	struct pguard_serves *serves = &message->thread->serves;
	u32 nr = is_all ? PGUARD_HANDOVER_LENGTH : 1;

	/* What it was given before is done. */
	if (given_has_message(serves))
		given_show(message);
	serves->given.by = 0;
	serves->is_done = serves->is_handed;
	/* Others may hand over more just now. */
	while (nr-- && take_first(message, message->key, !is_all))
		;
}

/* A key by which threads of one process wait for each other. */
static u64 futex_key(u64 address)
{
	/* Those of processes that are alike differ by a few bits. */
	return address ^ (u64)current->mm * GOLDEN_RATIO_64;
}

/**
 * pguard_connection_waits() - current, which was given something, is about to wait at a futex
 * @thread: of current
 * @futex: its address
 *
 * If that is where it was given it, and it has had no message since, another one that was awake had
 * taken it before.
 *
 * Context: current, preemptible or not; does not sleep.
 */
void pguard_connection_waits(struct pguard_thread *thread, u64 futex)
{
	struct pguard_message message;

	/* A condition variable of glibc has two, side by side. */
	if ((thread->serves.given.key ^ futex_key(futex)) >= sizeof(u64) ||
	    thread->serves.id != thread->serves.given.id)
		return;
	preempt_disable_notrace();
	if (pguard_has_requests(thread)) {
		message = pguard_message_of(thread);
		if (given_has_message(&thread->serves))
			given_show(&message);
		else
			given_forget(&message);
	}
	preempt_enable_notrace();
}

/* Do threads wait for work at this futex?  Context: current, preemptible or not; does not sleep. */
bool pguard_connection_awaits(struct pguard_thread *thread, u64 futex)
{
	bool ret;

	preempt_disable_notrace();
	ret = pguard_has_requests(thread) &&
	      pguard_handover_is_known(&pguard_connections_of(thread)->handovers, futex_key(futex));
	preempt_enable_notrace();
	return ret;
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
	struct pguard_message message;
	bool ret = false;

	preempt_disable_notrace();
	if (pguard_has_requests(thread)) {
		message = pguard_message_of(thread);
		message.key = futex_key(futex);
		ret = pguard_hand_over(&message, false);
	}
	preempt_enable_notrace();
	return ret;
}

/* It woke nobody.  Context: the same. */
void pguard_connection_woke_none(struct pguard_thread *thread, u64 futex)
{
	struct pguard_serves *serves = &thread->serves;
	struct pguard_connection *connection;
	struct pguard_message message;

	preempt_disable_notrace();
	if (pguard_has_requests(thread) &&
	    pguard_handover_take_back(&pguard_connections_of(thread)->handovers, futex_key(futex),
				      serves->client, serves->id)) {
		message = pguard_message_of(thread);
		serves->is_done = false;
		connection = pguard_client_find(&message, serves->client, serves->id);
		if (connection) {
			spin_lock(&connection->lock);
			connection->request.handing = PGUARD_HANDING_NONE;
			spin_unlock(&connection->lock);
		}
	}
	preempt_enable_notrace();
}

/* Current was woken at a futex, other than for a lock.  Context: the same. */
void pguard_connection_woken(struct pguard_thread *thread, u64 futex)
{
	struct pguard_message message;

	preempt_disable_notrace();
	if (pguard_has_requests(thread)) {
		message = pguard_message_of(thread);
		message.key = futex_key(futex);
		pguard_take_over(&message, false);
	}
	preempt_enable_notrace();
}
