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
}

static void drop_first(struct pguard_handover_queue *queue)
{
	lockdep_assert_held(&queue->lock);
	memmove(queue->of, queue->of + 1, --queue->nr * sizeof(*queue->of));
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
			drop_first(queue);
		queue->of[queue->nr++] = *handover;
	}
	spin_unlock(&queue->lock);
}

/**
 * pguard_handover_take() - take what was handed over
 * @handovers: of the target
 * @key: by which; it is known from now on
 * @is_last: take back what was handed over last, as nobody was woken; else the first
 * @ret: filled in
 *
 * Context: any but interrupts; does not sleep.
 * Return: false if there is nothing, or it is too old.
 */
bool pguard_handover_take(struct pguard_handovers *handovers, u64 key, bool is_last,
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
		drop_first(queue);
	any = queue->nr;
	if (any && is_last) {
		*ret = queue->of[--queue->nr];
	} else if (any) {
		*ret = queue->of[0];
		drop_first(queue);
	}
	spin_unlock(&queue->lock);
	return any;
}
