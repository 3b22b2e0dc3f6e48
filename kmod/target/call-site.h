/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Call sites: what is known of the places where threads wait, except for the stack pointer.
 *
 * The threads of a program wait in the same few places, and what the wait
 * sites say of a place is the same for all of them.  So an
 * image keeps one call site for each finding, and threads hold references.  A call site
 * does not change; a thread that finds something else takes another one.
 *
 * Getting one that is there takes RCU; adding and taking out, the image's
 * call_sites_lock.
 */
#ifndef _KMOD_TARGET_CALL_SITE_H
#define _KMOD_TARGET_CALL_SITE_H

#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/types.h>

struct pguard_loop;
struct pguard_image;

/*
 * How many wait sites the thread's profile has at such a call: a place that is no boundary can
 * be one another time, when other calls lead there.
 */
enum pguard_call_site_fit {
	PGUARD_CALL_SITE_NONE,
	PGUARD_CALL_SITE_READS,	/* none, but what it reads is of interest */
	PGUARD_CALL_SITE_ONE,
	PGUARD_CALL_SITE_REFUSED, /* one, but not while what stands there cannot be it */
	PGUARD_CALL_SITE_SEVERAL,
};

/* pguard_thread.follow: what the return of a hooked call is wanted for. */
enum pguard_follow {
	PGUARD_FOLLOW_BOUNDARY = 1 << 0,	/* it begins a unit */
	PGUARD_FOLLOW_RECORD = 1 << 1,		/* discovery wants to know of the wait */
	PGUARD_FOLLOW_STREAM = 1 << 2,		/* its begin is in the stream */
	PGUARD_FOLLOW_EVENT = 1 << 3,		/* it begins an event, if it does not fail */
	PGUARD_FOLLOW_LONG = 1 << 4,		/* the clock is not the TSC */
	PGUARD_FOLLOW_MESSAGE = 1 << 5,		/* it reads, accepts a connection, or waits for work */
	PGUARD_FOLLOW_WAKE = 1 << 6,		/* it may wake who waits for work */
};

/**
 * struct pguard_call_site_info - what was found out about a place
 * @ip: where the call is
 * @return_address: what must stand at @distance; if refused, what its low bits, those
 *	within a page, must be
 * @loop: the loop, if it is a wait site, or NULL; stays with the profile, or the audit's
 *	image, of the threads that hold the call site
 * @generation: of the wait sites that were looked at
 * @syscall: its number
 * @distance: from the stack pointer to the slot of the return address, bytes
 * @rise: from the stack pointer to the loop's frame; 0 if that is not known
 * @fit: asked for where @loop is NULL
 * @role: of the wait site
 * @follow: enum pguard_follow, what its return is wanted for, if nothing special is
 */
struct pguard_call_site_info {
	u64 ip;
	u64 return_address;
	struct pguard_loop *loop;
	u32 generation;
	u32 syscall;
	s32 distance;
	s32 rise;
	u8 fit;
	u8 role;
	u8 follow;
};

/**
 * struct pguard_call_site - a finding that threads share
 * @is: the finding
 * @list: of the image; its call_sites_lock
 * @refs: one for each place of a thread
 */
struct pguard_call_site {
	struct pguard_call_site_info is;
	struct list_head list;
	refcount_t refs;
	struct rcu_head rcu;
};

/* Of a place where no thread waits: it is not counted, and in no list. */
extern struct pguard_call_site pguard_nowhere;

bool pguard_call_site_is(const struct pguard_call_site *call_site,
			 const struct pguard_call_site_info *finding);
struct pguard_call_site *pguard_call_site_get(struct pguard_image *image,
					      const struct pguard_call_site_info *finding,
					      gfp_t gfp);
void pguard_call_site_put(struct pguard_image *image, struct pguard_call_site *call_site);

#endif /* _KMOD_TARGET_CALL_SITE_H */
