/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Spots: what is known of the places where threads wait, but for the stack pointer.
 *
 * The threads of a program wait in the same few places, and what the wait
 * sites say of a place is the same for all of them.  So an
 * image keeps one spot for each finding, and threads hold references.  A spot
 * does not change; a thread that finds something else takes another one.
 *
 * Getting one that is there takes RCU; adding and taking out, the image's
 * spots_lock.
 */
#ifndef _KMOD_TARGET_CALL_SITE_H
#define _KMOD_TARGET_CALL_SITE_H

#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/types.h>

struct pguard_course;
struct pguard_image;

/*
 * Can a place that is no boundary be one another time, when another chain of calls leads
 * there?  That is, how many wait sites the thread's profile has at such a call.
 */
enum pguard_spot_fit {
	PGUARD_SPOT_NONE,
	PGUARD_SPOT_ONE,
	PGUARD_SPOT_REFUSED,	/* one, but not while what stands there cannot be it */
	PGUARD_SPOT_SEVERAL,
};

/**
 * struct pguard_finding - what was found out about a place
 * @ip: where the call is
 * @return_address: what must stand at @distance; if refused, what its low bits, those
 *	within a page, must be
 * @course: the loop, if it is a wait site, or NULL; stays with the profile, or the audit's
 *	image, of the threads that hold the spot
 * @generation: of the wait sites that were looked at
 * @syscall: its number
 * @distance: from the stack pointer to the slot of the return address, bytes
 * @rise: from the stack pointer to the loop's frame; 0 if that is not known
 * @fit: asked for where @course is NULL
 * @role: of the wait site
 */
struct pguard_finding {
	u64 ip;
	u64 return_address;
	struct pguard_course *course;
	u32 generation;
	u32 syscall;
	s32 distance;
	s32 rise;
	u8 fit;
	u8 role;
};

/**
 * struct pguard_spot - a finding that threads share
 * @is: the finding
 * @list: of the image; its spots_lock
 * @refs: one for each place of a thread
 */
struct pguard_spot {
	struct pguard_finding is;
	struct list_head list;
	refcount_t refs;
	struct rcu_head rcu;
};

/* Of a place where no thread waits: it is not counted, and in no list. */
extern struct pguard_spot pguard_nowhere;

bool pguard_spot_is(const struct pguard_spot *spot, const struct pguard_finding *finding);
struct pguard_spot *pguard_spot_get(struct pguard_image *image,
				    const struct pguard_finding *finding, gfp_t gfp);
void pguard_spot_put(struct pguard_image *image, struct pguard_spot *spot);

#endif /* _KMOD_TARGET_CALL_SITE_H */
