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
			    &(struct pguard_handback){ begun, message->now });
	thread->serves.back = message->now;
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
	const struct pguard_handover handover = {
		.client = serves->client,
		.id = serves->id,
		.tid = current->pid,
		.at = message->now,
	};
	struct pguard_connection *connection;
	bool is_known = pguard_handover_is_known(&message->table->handovers, message->key);

	if (!is_known && !(is_eventfd && serves->is_handed))
		return false;
	if (!pguard_is_serving(message->thread)) {
		hand_back(message);
		return false;
	}
	connection = pguard_client_find(message, serves->client, serves->id);
	if (!connection)
		return false;
	spin_lock(&connection->lock);
	if (connection->is_open) {
		pguard_client_request_account(&connection->request, message, NULL);
		connection->request.handing = PGUARD_HANDING_OVER;
	}
	spin_unlock(&connection->lock);
	if (is_known)
		pguard_handover_put(&message->table->handovers, message->key, &handover);
	/* What a thread was given it gives back, and is done with it. */
	serves->is_done = serves->is_handed;
	serves->back = message->now;
	return true;
}

/* The thread serves what was handed over by the message's key: the first, or all. */
void pguard_take_over(const struct pguard_message *message, bool is_all)
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
		/* A loop may ring its own bell, as GLib's does to look at its sources again. */
		if (handover.tid == current->pid)
			continue;
		connection = pguard_client_find(message, handover.client, handover.id);
		if (!connection)
			continue;
		spin_lock(&connection->lock);
		if (connection->is_open) {
			pguard_client_request_account(&connection->request, message, NULL);
			connection->request.handing = PGUARD_HANDING_GIVEN;
		}
		spin_unlock(&connection->lock);
		if (unlikely(pguard_stream_is_open()))
			pguard_client_request_taken(connection, message, &handover);
		pguard_serve(message->thread, handover.client, handover.id);
		message->thread->serves.is_handed = true;
	}
}

/* A key by which threads of one process wait for each other. */
static u64 futex_key(u64 address)
{
	/* Those of processes that are alike differ by a few bits. */
	return address ^ (u64)current->mm * GOLDEN_RATIO_64;
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
