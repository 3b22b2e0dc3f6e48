// SPDX-License-Identifier: GPL-2.0

#include "request/handover.h"

#include "lib/clock.h"

#include <linux/hash.h>
#include <linux/string.h>

/* What nobody took within this time was for nobody. */
enum { STALE_NS = NSEC_PER_SEC };

static struct pguard_handover_queue *queue_of(struct pguard_handovers *handovers, u64 key)
{
	return &handovers->queues[hash_64(key, ilog2(PGUARD_HANDOVER_QUEUES))];
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
	return READ_ONCE(queue_of(handovers, key)->key) == key;
}

/* Hand over by a key that is known.  Context: any but interrupts; does not sleep. */
void pguard_handover_put(struct pguard_handovers *handovers, u64 key,
			 const struct pguard_handover *handover)
{
	struct pguard_handover_queue *queue = queue_of(handovers, key);

	spin_lock(&queue->lock);
	if (queue->key == key) {
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
	struct pguard_handover_queue *queue = queue_of(handovers, key);
	u64 stale = pguard_clock() - pguard_clock_ticks(STALE_NS);
	bool any;

	/* Mostly there is nothing. */
	if (likely(READ_ONCE(queue->key) == key && !READ_ONCE(queue->nr)))
		return false;
	spin_lock(&queue->lock);
	if (queue->key != key) {
		WRITE_ONCE(queue->key, key);
		queue->nr = 0;
	}
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
	struct pguard_handover_queue *queue = queue_of(handovers, key);
	bool is_there = false;
	u32 i;

	spin_lock(&queue->lock);
	for (i = queue->key == key ? queue->nr : 0; i-- && !is_there;) {
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
	bool is_there = false;
	u32 i;

	if (likely(!READ_ONCE(handovers->nr_backs)))
		return false;
	spin_lock(&handovers->lock);
	for (i = 0; i < handovers->nr_backs && !is_there; i++) {
		*ret = handovers->backs[i];
		is_there = (s64)(ret->at - after) > 0 && (s64)(until - ret->at) >= 0;
	}
	if (is_there)
		back_drop(handovers, i - 1);
	spin_unlock(&handovers->lock);
	return is_there;
}
