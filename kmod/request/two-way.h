/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whether a peer asks, too: who opened a connection may be asked by it himself, as a program with
 * windows is by its window system, which sends it each key and is sent what to draw.
 *
 * Nothing is known of a protocol, so what a loop's wait brings may be the answer to what was asked
 * before, or a further part of it.  But where a program is seen to wait for answers in the middle
 * of its units, and then, with the last one taken and nothing asked since, the loop's wait brings
 * more by the same connection, that was not asked for.  If so twice, the connection is two-way.
 *
 * From then on what is read by it first in a unit begins a request, and what the unit, and those
 * after it, write is the answer.  The request ends with the last write before the thread has rested
 * for long: what comes then is by a timer of the program's own.  What is never answered is none.
 *
 * A connection by which something was asked for a client is a peer's, and stays so; so is one by
 * which nothing of all that was seen for some time, and from then on it is not looked for.
 */
#ifndef _KMOD_REQUEST_TWO_WAY_H
#define _KMOD_REQUEST_TWO_WAY_H

#include <linux/types.h>

struct pguard_message;

/**
 * struct pguard_two_way - what was seen of a peer that may ask, too; in its connection's lock
 * @unit: number of the unit that had the last message; 0: there was none
 * @at: pguard_clock() then
 * @worked: how long its thread ran until then, less by what was not counted yet, ns
 * @switches: how often it had slept when the peer was asked
 * @tid: its id
 * @seen: messages, until it is known
 * @unasked: how often one came that nobody had asked for, until it is known
 * @is_asked: the peer was written to last
 * @is_awaited: else: its answer was waited for in the middle of the unit
 */
struct pguard_two_way {
	u64 unit;
	u64 at;
	u64 worked;
	u64 switches;
	u32 tid;
	u16 seen;
	u8 unasked;
	bool is_asked;
	bool is_awaited;
};

/* What a message is, by what was seen before. */
enum pguard_two_way_message {
	PGUARD_TWO_WAY_WITHIN,	/* not the first of its unit */
	PGUARD_TWO_WAY_ECHO,	/* the first one, but just after the last of another unit */
	PGUARD_TWO_WAY_NEXT,	/* some time after it */
	PGUARD_TWO_WAY_RESTED,	/* long after it */
};

enum pguard_two_way_message pguard_two_way_message(const struct pguard_two_way *way,
						   const struct pguard_message *message);
void pguard_two_way_asked(struct pguard_two_way *way, const struct pguard_message *message);
bool pguard_two_way_answered(struct pguard_two_way *way, const struct pguard_message *message);
bool pguard_two_way_is_over(const struct pguard_two_way *way);

#endif /* _KMOD_REQUEST_TWO_WAY_H */
