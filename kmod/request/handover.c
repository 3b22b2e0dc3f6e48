// SPDX-License-Identifier: GPL-2.0

#include "request/handover.h"

#include "lib/clock.h"

#include <linux/hash.h>
#include <linux/sched.h>
#include <linux/string.h>

/* What nobody took within this time was for nobody. */
enum { STALE_NS = NSEC_PER_SEC };

/* The first of the queues that a key may have. */
static u32 first_way(u64 key)
{
	return hash_64(key, ilog2(PGUARD_HANDOVER_QUEUES / PGUARD_HANDOVER_WAYS)) *
	       PGUARD_HANDOVER_WAYS;
}

/* The queue of a key; NULL if it has none.  It may be another one's once it is locked. */
static struct pguard_handover_queue *queue_find(struct pguard_handovers *handovers, u64 key)
{
	u32 first = first_way(key), i;

	for (i = first; i < first + PGUARD_HANDOVER_WAYS; i++)
		if (READ_ONCE(handovers->keys[i]) == key)
			return &handovers->queues[i];
	return NULL;
}

/* A queue for a key that has none: a free one, or one in which nothing is. */
static struct pguard_handover_queue *queue_choose(struct pguard_handovers *handovers, u64 key)
{
	u32 first = first_way(key), turn = READ_ONCE(handovers->turn), i, way;
	struct pguard_handover_queue *ret = NULL;

	for (i = 0; i < PGUARD_HANDOVER_WAYS; i++) {
		way = first + (turn + i) % PGUARD_HANDOVER_WAYS;
		if (!READ_ONCE(handovers->keys[way]))
			return &handovers->queues[way];
		if (!ret && !READ_ONCE(handovers->queues[way].nr))
			ret = &handovers->queues[way];
	}
	WRITE_ONCE(handovers->turn, turn + 1);
	return ret ?: &handovers->queues[first + turn % PGUARD_HANDOVER_WAYS];
}

static bool queue_is_of(const struct pguard_handovers *handovers,
			const struct pguard_handover_queue *queue, u64 key)
{
	return READ_ONCE(handovers->keys[queue - handovers->queues]) == key;
}

/* Zeroed, and used by nobody yet. */
void pguard_handovers_init(struct pguard_handovers *handovers)
{
	u32 i;

	for (i = 0; i < PGUARD_HANDOVER_QUEUES; i++)
		spin_lock_init(&handovers->queues[i].lock);
	spin_lock_init(&handovers->lock);
}

static void drop(struct pguard_handover_queue *queue, u32 i)
{
	lockdep_assert_held(&queue->lock);
	queue->nr--;
	memmove(&queue->of[i], &queue->of[i + 1], (queue->nr - i) * sizeof(*queue->of));
}

/* Does anybody wait there for work?  Context: any but interrupts. */
bool pguard_handover_is_known(struct pguard_handovers *handovers, u64 key)
{
	return queue_find(handovers, key);
}

/* Does nobody but this thread wait there?  Context: the same. */
bool pguard_handover_is_own(struct pguard_handovers *handovers, u64 key, u32 tid)
{
	const struct pguard_handover_queue *queue = queue_find(handovers, key);

	return queue && READ_ONCE(queue->taker) == tid;
}

static void set_taker(struct pguard_handovers *handovers, struct pguard_handover_queue *queue,
		      u64 key, u32 tid)
{
	lockdep_assert_held(&queue->lock);
	if (!queue_is_of(handovers, queue, key)) {
		WRITE_ONCE(handovers->keys[queue - handovers->queues], key);
		queue->nr = 0;
		WRITE_ONCE(queue->taker, tid);
	} else if (queue->taker != tid) {
		WRITE_ONCE(queue->taker, 0);
	}
}

/* Hand over by a key that is known.  Context: any but interrupts; does not sleep. */
void pguard_handover_put(struct pguard_handovers *handovers, u64 key,
			 const struct pguard_handover *handover)
{
	struct pguard_handover_queue *queue = queue_find(handovers, key);

	if (!queue)
		return;
	spin_lock(&queue->lock);
	if (queue_is_of(handovers, queue, key)) {
		if (queue->nr == PGUARD_HANDOVER_LENGTH)
			drop(queue, 0);
		queue->of[queue->nr++] = *handover;
	}
	spin_unlock(&queue->lock);
}

/**
 * pguard_handover_take() - take what was handed over first
 * @handovers: of the target
 * @key: by which; it is known from now on
 * @ret: filled in
 *
 * Context: any but interrupts; does not sleep.
 * Return: false if there is nothing, or it is too old.
 */
bool pguard_handover_take(struct pguard_handovers *handovers, u64 key,
			  struct pguard_handover *ret)
{
	struct pguard_handover_queue *queue = queue_find(handovers, key);
	u64 stale = pguard_clock() - pguard_clock_ticks(STALE_NS);
	u32 taker = queue ? READ_ONCE(queue->taker) : 0;
	bool any;

	/* Mostly there is nothing. */
	if (likely(queue && !READ_ONCE(queue->nr) && (!taker || taker == current->pid)))
		return false;
	if (!queue)
		queue = queue_choose(handovers, key);
	spin_lock(&queue->lock);
	set_taker(handovers, queue, key, current->pid);
	while (queue->nr && (s64)(queue->of[0].at - stale) < 0)
		drop(queue, 0);
	any = queue->nr;
	if (any) {
		*ret = queue->of[0];
		drop(queue, 0);
	}
	spin_unlock(&queue->lock);
	return any;
}

/**
 * pguard_handover_take_back() - nobody was woken who could take it
 * @handovers: of the target
 * @key: by which it was handed over
 * @client: whose it is, and
 * @id: the id of its connection
 *
 * Context: any but interrupts; does not sleep.
 * Return: false if somebody has taken it.
 */
bool pguard_handover_take_back(struct pguard_handovers *handovers, u64 key,
			       const struct sock *client, u32 id)
{
	struct pguard_handover_queue *queue = queue_find(handovers, key);
	bool is_there = false;
	u32 i;

	if (!queue)
		return false;
	spin_lock(&queue->lock);
	for (i = queue_is_of(handovers, queue, key) ? queue->nr : 0; i-- && !is_there;) {
		is_there = queue->of[i].client == client && queue->of[i].id == id;
		if (is_there)
			drop(queue, i);
	}
	spin_unlock(&queue->lock);
	return is_there;
}

static void back_drop(struct pguard_handovers *handovers, u32 i)
{
	u32 nr = handovers->nr_backs - 1;

	lockdep_assert_held(&handovers->lock);
	memmove(&handovers->backs[i], &handovers->backs[i + 1],
		(nr - i) * sizeof(*handovers->backs));
	WRITE_ONCE(handovers->nr_backs, nr);
}

/* What nobody was seen to take was handed back.  Context: any but interrupts; does not sleep. */
void pguard_handback_put(struct pguard_handovers *handovers, const struct pguard_handback *back)
{
	spin_lock(&handovers->lock);
	if (handovers->nr_backs == PGUARD_HANDOVER_LENGTH)
		back_drop(handovers, 0);
	handovers->backs[handovers->nr_backs] = *back;
	WRITE_ONCE(handovers->nr_backs, handovers->nr_backs + 1);
	spin_unlock(&handovers->lock);
}

static bool is_within(const struct pguard_handback *back, u64 after, u64 until)
{
	return (s64)(back->at - after) > 0 && (s64)(until - back->at) >= 0;
}

/* How many were handed back within a time; the first of them, if any, is at @first. */
static u32 back_find(struct pguard_handovers *handovers, u64 after, u64 until, u32 *first)
{
	u32 i, nr = 0;

	lockdep_assert_held(&handovers->lock);
	for (i = handovers->nr_backs; i--;)
		if (is_within(&handovers->backs[i], after, until)) {
			*first = i;
			nr++;
		}
	/* A pool may hand back in any order: which of several was whose is not known. */
	for (i = 0; nr > 1 && i < handovers->nr_backs; i++)
		if (is_within(&handovers->backs[i], after, until))
			handovers->backs[i].tid = 0;
	return nr;
}

/**
 * pguard_handback_claim() - take the first that was handed back within a time
 * @handovers: of the target
 * @after: pguard_clock(), and
 * @until: the same
 * @ret: filled in
 *
 * Context: any but interrupts; does not sleep.
 * Return: false if there is none.
 */
bool pguard_handback_claim(struct pguard_handovers *handovers, u64 after, u64 until,
			   struct pguard_handback *ret)
{
	u32 first, nr;

	if (likely(!READ_ONCE(handovers->nr_backs)))
		return false;
	spin_lock(&handovers->lock);
	nr = back_find(handovers, after, until, &first);
	if (nr) {
		*ret = handovers->backs[first];
		back_drop(handovers, first);
	}
	spin_unlock(&handovers->lock);
	return nr;
}
