/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Work that one thread hands to another: who wakes a thread that waits for work, by a futex
 * (a condition variable, a semaphore), an eventfd or a pipe, does so for the client that its
 * unit serves, and the unit that begins then serves the same one.
 *
 * What is woken or written to is known by its key.  Many of such calls hand over nothing: a
 * lock is passed on, say.  So a key counts from the first time that somebody was woken there,
 * other than for a lock, or read from it.  A futex wakes one waiter for one call, in that
 * order; who reads from an eventfd or a pipe takes all that was handed over there.
 *
 * Work that was handed over is served until it is handed back, or the thread is woken for other
 * work; in which units does not matter.
 *
 * Who was woken need not be who gets the work: a thread that has just handed back by an eventfd
 * what it was given looks for more before it waits.  So it takes the first that lies there, and
 * who is woken for that takes the next, or nothing.  Who waits again where it was woken, and has
 * neither had a message since nor handed anything back, had nothing.  And where a thread goes on
 * with another request than the one that seems to be handed back to it, that other one it was: of
 * those that were woken the first is not always the first to take.
 *
 * A thread that takes work while it is awake for which nobody was woken, as in a pool that is full, is
 * not seen to do so; as it has handed back what it had, that is not taken for the same client's.
 * But it is seen to hand it back, and has worked for it since the time before.  It is claimed for
 * the first request that goes on then where nothing else has happened since to say why it does.
 * If several threads have handed back since, it is not known which of them had it.
 */
#ifndef _KMOD_REQUEST_HANDOVER_H
#define _KMOD_REQUEST_HANDOVER_H

#include <linux/cache.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct sock;

enum {
	PGUARD_HANDOVER_QUEUES = 64,	/* of a target, and */
	PGUARD_HANDOVER_WAYS = 4,	/* those that a key may have: their keys share a cache line */
	PGUARD_HANDOVER_LENGTH = 8,	/* of each, and of hand-backs; the oldest goes */
};

/**
 * struct pguard_handover - that is not taken yet
 * @client: the socket of the client it is for, which may be gone
 * @id: of its connection
 * @tid: of the thread that handed it over
 * @at: when, pguard_clock()
 * @by: if it is handed back: who had handed it over; else 0
 * @given: when, the same
 */
struct pguard_handover {
	const struct sock *client;
	u32 id;
	u32 tid;
	u64 at;
	u32 by;
	u64 given;
};

/**
 * struct pguard_handback - what was handed back by a thread that was not seen to take it
 * @begun: since when the thread can have worked for it, pguard_clock()
 * @at: when it was handed back
 * @tid: of the thread; 0 if what this one had is not known from what others had
 */
struct pguard_handback {
	u64 begun;
	u64 at;
	u32 tid;
};

/**
 * struct pguard_handover_queue - what was handed over by one key, the oldest first
 * @lock: of all that follows; innermost
 * @nr: length of @of
 * @taker: the only thread that was seen to wait there; 0: there are several.  READ_ONCE
 */
struct pguard_handover_queue {
	spinlock_t lock;
	u32 nr;
	u32 taker;
	struct pguard_handover of[PGUARD_HANDOVER_LENGTH];
};

/**
 * struct pguard_handovers - of a target
 * @keys: where it is waited for, by queue; 0 for none.  Changed with the queue's lock held, READ_ONCE
 * @queues: a key has one of PGUARD_HANDOVER_WAYS, by its hash; where all are taken it takes one over
 * @turn: which one that is next; READ_ONCE, and no matter if threads count it at once
 * @lock: of all that follows; innermost
 * @nr_backs: length of @backs; READ_ONCE
 * @backs: that nobody has claimed, the oldest first
 */
struct pguard_handovers {
	u64 keys[PGUARD_HANDOVER_QUEUES] ____cacheline_aligned;
	struct pguard_handover_queue queues[PGUARD_HANDOVER_QUEUES];
	u32 turn;
	spinlock_t lock;
	u32 nr_backs;
	struct pguard_handback backs[PGUARD_HANDOVER_LENGTH];
};

void pguard_handovers_init(struct pguard_handovers *handovers);
bool pguard_handover_is_known(struct pguard_handovers *handovers, u64 key);
bool pguard_handover_is_own(struct pguard_handovers *handovers, u64 key, u32 tid);
void pguard_handover_put(struct pguard_handovers *handovers, u64 key,
			 const struct pguard_handover *handover);
bool pguard_handover_take(struct pguard_handovers *handovers, u64 key,
			  struct pguard_handover *ret);
bool pguard_handover_take_back(struct pguard_handovers *handovers, u64 key,
			       const struct sock *client, u32 id);
void pguard_handback_put(struct pguard_handovers *handovers, const struct pguard_handback *back);
bool pguard_handback_claim(struct pguard_handovers *handovers, u64 after, u64 until,
			   struct pguard_handback *ret);

#endif /* _KMOD_REQUEST_HANDOVER_H */
