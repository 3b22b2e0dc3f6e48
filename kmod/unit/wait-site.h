/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The places a thread waits in, and which of them are wait sites of an event loop.
 *
 * A place is a wait site if it is the same system call at the same distance below
 * the loop's return address, which is read from the user's stack each time.
 *
 * The wait sites are those of the profile that guards the target, by places in files, or
 * in an audit those of the image, by run-time addresses.  Among the former are calls that
 * are no waits but begin an event.
 */
#ifndef _KMOD_UNIT_WAIT_SITE_H
#define _KMOD_UNIT_WAIT_SITE_H

#include "target/image.h"
#include "target/thread.h"

#include <linux/bits.h>
#include <linux/ptrace.h>
#include <linux/uaccess.h>
#include <asm/unistd.h>

static __always_inline u32 pguard_place_syscall(const struct pt_regs *regs)
{
	return regs->orig_ax;
}

/* Calls that read something, or accept a connection; EAGAIN says that there is nothing. */
static inline bool pguard_place_reads(u32 syscall)
{
	switch (syscall) {
	case __NR_read:
	case __NR_readv:
	case __NR_recvfrom:
	case __NR_recvmsg:
	case __NR_recvmmsg:
	case __NR_accept:
	case __NR_accept4:
		return true;
	}
	return false;
}

/* The word at an address of current's user memory; false if there is none.  May fault. */
static __always_inline bool pguard_place_read(u64 address, u64 *word)
{
	const u64 __user *place = (const u64 __user *)address;

	might_fault();
	if (unlikely(!user_access_begin(place, sizeof(*word))))
		return false;
	unsafe_get_user(*word, place, fault);
	user_access_end();
	return true;
fault:
	user_access_end();
	return false;
}

/* Where the return address stands that shows what the place is. */
static __always_inline u64 pguard_place_slot(const struct pguard_place *place)
{
	return place->sp + place->call_site->is.distance;
}

/* In an asm goto: where to go on if the instruction at 1 faults. */
#define PGUARD_FAULTS_TO(label)	_ASM_EXTABLE_UA(1b, label)

/*
 * Returns true if it stands there.  May fault.  This takes half of what pguard_place_read()
 * would.  The load is a mov of its own: the kernel survives poisoned memory under that, but not under
 * a cmp (arch/x86/kernel/cpu/mce/severity.c, is_copy_from_user()).
 */
static __always_inline bool pguard_place_returns(const struct pguard_place *place)
{
	const u64 __user *slot = (const u64 __user *)pguard_place_slot(place);

	might_fault();
	if (unlikely(!user_access_begin(slot, sizeof(*slot))))
		return false;
	asm goto("1:	movq (%[slot]), %%rdx\n"
		 "	cmpq %[wanted], %%rdx\n"
		 "	jne %l[differs]\n"
		 PGUARD_FAULTS_TO(%l[differs])
		 : : [slot] "r" (slot), [wanted] "m" (place->call_site->is.return_address)
		 : "rdx", "cc" : differs);
	user_access_end();
	return true;
differs:
	user_access_end();
	return false;
}

/* Mappings begin at whole pages: the low bits rule out most words that are not the wanted one. */
static __always_inline bool pguard_place_differs(u64 word, u64 wanted)
{
	return (word ^ wanted) & ~PAGE_MASK;
}

/* Returns true if what stands there cannot be it, wherever the file is mapped.  May fault. */
static __always_inline bool pguard_place_refuses(const struct pguard_place *place)
{
	u64 word;

	return pguard_place_read(pguard_place_slot(place), &word) &&
	       pguard_place_differs(word, place->call_site->is.return_address);
}

/* Returns true if a place without a loop is certainly no boundary this time. */
static __always_inline bool pguard_place_is_none(const struct pguard_place *place)
{
	u8 fit = place->call_site->is.fit;

	return fit == PGUARD_CALL_SITE_NONE ||
	       (fit == PGUARD_CALL_SITE_REFUSED && pguard_place_refuses(place));
}

/*
 * A restarted call (after a stop, or a drain) is the one before it under
 * another number.
 */
static __always_inline bool pguard_place_is(const struct pguard_place *place,
					    const struct pt_regs *regs, u32 syscall)
{
	const struct pguard_call_site_info *is = &place->call_site->is;

	return place->sp == regs->sp && is->ip == regs->ip &&
	       (is->syscall == syscall || syscall == __NR_restart_syscall);
}

/* Of pguard_thread.fresh. */
static inline u8 pguard_place_bit(const struct pguard_thread *thread,
				  const struct pguard_place *place)
{
	return BIT(place - thread->places);
}

/* The place among the last ones; NULL if it is new.  Try thread->place first. */
static __always_inline struct pguard_place *pguard_place_find(struct pguard_thread *thread,
							      const struct pt_regs *regs)
{
	struct pguard_place *place;

	for (place = thread->places; place < thread->places + PGUARD_NR_PLACES; place++)
		if (pguard_place_is(place, regs, pguard_place_syscall(regs)))
			return place;
	return NULL;
}

/* Returns true if the place was looked up among the wait sites that there are now. */
static __always_inline bool pguard_place_is_settled(const struct pguard_thread *thread,
						    const struct pguard_place *place)
{
	return place->call_site->is.generation == READ_ONCE(thread->image->generation);
}

struct pguard_place *pguard_place_get(struct pguard_thread *thread, const struct pt_regs *regs,
				      bool may_sleep, const struct pguard_loop **was);
bool pguard_place_is_refused(const struct pguard_thread *thread, const struct pguard_place *place);
bool pguard_place_is_boundary(struct pguard_thread *thread, struct pguard_place *place,
			      bool may_sleep);

#endif /* _KMOD_UNIT_WAIT_SITE_H */
