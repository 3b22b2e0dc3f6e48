/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When a message was sent by a local socket.
 *
 * The kernel does not keep that.  Where the sender is watched as well, its first write since it
 * read an answer is noted under the cookie of the socket that will receive it: so a message is
 * known to have waited to be read.  A note whose place another one takes is lost, and nothing is
 * known then.
 */
#ifndef _KMOD_REQUEST_SENT_MESSAGES_H
#define _KMOD_REQUEST_SENT_MESSAGES_H

#include <linux/hash.h>
#include <linux/log2.h>
#include <linux/types.h>
#include <net/sock.h>

enum { PGUARD_SENT_PLACES = 1024 };

/**
 * struct pguard_sent - a place for notes
 * @to: cookie of the socket; 0: there is none
 * @at: pguard_clock()
 *
 * Two that write at once to the same one may leave the cookie of one and the time of the other,
 * which is now, too.
 */
struct pguard_sent {
	u64 to;
	u64 at;
};

extern struct pguard_sent pguard_sent_places[PGUARD_SENT_PLACES];

static inline struct pguard_sent *pguard_sent_place(u64 to)
{
	return &pguard_sent_places[hash_64(to, ilog2(PGUARD_SENT_PLACES))];
}

/* A message is about to be written.  Context: any. */
static inline void pguard_sent_note(struct pguard_sent *place, u64 to, u64 now)
{
	WRITE_ONCE(place->at, now);
	/* Pairs with pguard_sent_since(). */
	smp_store_release(&place->to, to);
}

/* When a message to this socket was sent after so late; 0: that is not known.  Context: any. */
static inline u64 pguard_sent_since(const struct sock *sk, u64 since)
{
	/* Who notes has made it; what has none finds none. */
	u64 to = atomic64_read(&sk->sk_cookie), at;
	const struct pguard_sent *place = pguard_sent_place(to);

	/* Pairs with pguard_sent_note(). */
	if (smp_load_acquire(&place->to) != to)
		return 0;
	at = READ_ONCE(place->at);
	return at > since ? at : 0;
}

#endif /* _KMOD_REQUEST_SENT_MESSAGES_H */
