// SPDX-License-Identifier: GPL-2.0

#include "request/two-way.h"

#include "lib/clock.h"
#include "request/client-request.h"

enum {
	/* After so many messages it is known who asks. */
	SEEN_MOST = 1024,
	UNASKED_LEAST = 2,
	/* What comes so soon is by what was written: a window system reports that. */
	ECHO_NS = 4 * NSEC_PER_MSEC,
	/* Who draws by frames does so after some 17 ms; carets blink after 500. */
	REST_NS = 100 * NSEC_PER_MSEC,
};

/* For how long the thread had no CPU since its last message; another thread, all the time.  ns. */
static u64 rested(const struct pguard_two_way *way, const struct pguard_message *message)
{
	u64 now = max(message->now, way->at), elapsed = pguard_clock_ns(now - way->at), worked = 0;

	if (way->tid == message->thread->tid)
		/* Not run_delay, too: 6.12 may count sleep there (guarding.md). */
		worked = min(current->se.sum_exec_runtime - way->worked, elapsed);
	return elapsed - worked;
}

static bool is_within(const struct pguard_two_way *way, const struct pguard_message *message)
{
	u64 unit = pguard_unit_of(message->thread);

	/* What is done in no unit begins nothing. */
	return !unit || (way->unit == unit && way->tid == message->thread->tid);
}

/**
 * pguard_two_way_message() - what a message is, by those before it
 * @way: of its connection, locked
 * @message: that was read, or is to be written
 *
 * Context: hooked calls.
 * Return: enum pguard_two_way_message
 */
enum pguard_two_way_message pguard_two_way_message(const struct pguard_two_way *way,
						   const struct pguard_message *message)
{
	u64 ns;

	if (is_within(way, message))
		return PGUARD_TWO_WAY_WITHIN;
	ns = rested(way, message);
	if (ns <= ECHO_NS)
		return PGUARD_TWO_WAY_ECHO;
	return ns <= REST_NS ? PGUARD_TWO_WAY_NEXT : PGUARD_TWO_WAY_RESTED;
}

static void note(struct pguard_two_way *way, const struct pguard_message *message)
{
	way->unit = pguard_unit_of(message->thread);
	way->at = message->now;
	way->worked = current->se.sum_exec_runtime;
	way->tid = message->thread->tid;
	if (way->seen < SEEN_MOST)
		way->seen++;
}

/* The peer is written to.  Context: hooked calls. */
void pguard_two_way_asked(struct pguard_two_way *way, const struct pguard_message *message)
{
	note(way, message);
	way->switches = current->nvcsw;
	way->is_asked = true;
	way->is_awaited = false;
}

/**
 * pguard_two_way_answered() - something was read from the peer
 * @way: of its connection, locked
 * @message: by which
 *
 * Context: hooked calls.
 * Return: true if it is two-way.
 */
bool pguard_two_way_answered(struct pguard_two_way *way, const struct pguard_message *message)
{
	bool is_first = !is_within(way, message);

	if (is_first && way->is_awaited)
		way->unasked++;
	/* Another part of an answer may be read without a sleep. */
	if (is_first)
		way->is_awaited = false;
	else if (way->is_asked)
		way->is_awaited = way->unit && way->switches != current->nvcsw;
	way->is_asked = false;
	note(way, message);
	return way->unasked >= UNASKED_LEAST;
}

/* So much was seen that the connection is a peer's, and no more. */
bool pguard_two_way_is_over(const struct pguard_two_way *way)
{
	return way->seen >= SEEN_MOST && way->unasked < UNASKED_LEAST;
}
