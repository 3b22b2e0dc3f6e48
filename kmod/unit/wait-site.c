// SPDX-License-Identifier: GPL-2.0

#include "unit/wait-site.h"

#include "profile/profile.h"
#include "target/image.h"

#include <linux/fs.h>
#include <linux/mm.h>

enum {
	/* How far two paths of one library function lie apart. */
	PATHS_CODE = 512,
	PATHS_STACK = 256,
};

static bool is_near(u64 a, u64 b, u64 distance)
{
	return a - b + distance <= 2 * distance;
}

/*
 * What is being found out about a place of the thread; @site is the wait site that it is, @slot
 * the slot that is tried, and @is_refused, that what stands there cannot be the return address.
 */
struct search {
	struct pguard_call_site_info is;
	const struct pguard_wait_site *site;
	u64 sp;
	u64 slot;
	bool is_refused;
};

/* What kind of call it is does not change. */
static struct search search_begin(const struct pguard_place *place)
{
	const struct pguard_call_site_info *is = &place->call_site->is;

	return (struct search){
		.is = { .ip = is->ip, .syscall = is->syscall, .fit = is->fit,
			.follow = is->follow, .generation = is->generation },
		.sp = place->sp,
	};
}

/* The place is what was found.  Without memory it is none, and asked about again. */
static void place_set(struct pguard_thread *thread, struct pguard_place *place,
		      const struct pguard_call_site_info *is, bool may_sleep)
{
	struct pguard_call_site *old = place->call_site;

	if (pguard_call_site_is(old, is))
		return;
	place->call_site =
		pguard_call_site_get(thread->image, is, may_sleep ? GFP_KERNEL : GFP_NOWAIT);
	if (!place->call_site)
		place->call_site = &pguard_nowhere;
	pguard_call_site_put(thread->image, old);
}

/* The same, and where the return address is, if that says anything. */
static void search_end(struct pguard_thread *thread, struct pguard_place *place,
		       struct search *search, bool may_sleep)
{
	const struct pguard_wait_site *site = search->site;

	if (site || search->is.fit == PGUARD_CALL_SITE_REFUSED) {
		search->is.distance = search->slot - search->sp;
	} else {
		search->is.distance = 0;
		search->is.return_address = 0;
	}
	/*
	 * The slot gives it even where the library went another way than in training.
	 * A wait that training did not come to says nothing; but the frame does not move.
	 */
	if (site && site->rise)
		search->is.rise = search->is.distance - site->distance + site->rise;
	search->is.loop = site ? site->loop : NULL;
	search->is.role = site ? site->role : 0;
	search->is.follow &= PGUARD_FOLLOW_MESSAGE;
	if (site)
		search->is.follow |= site->role == PERFGUARD_BOUNDARY_ROLE_WAIT ? PGUARD_FOLLOW_BOUNDARY
									  : PGUARD_FOLLOW_EVENT;
	place_set(thread, place, &search->is, may_sleep);
}

/* Returns true if the thread's loop waited in this library function, maybe on another path. */
static bool is_return_slot(const struct pguard_thread *thread, const struct search *search)
{
	return is_near(search->is.ip, thread->return_slot_ip, PATHS_CODE) &&
	       is_near(search->slot, thread->return_slot, PATHS_STACK);
}

/* A place that was refused has to be settled again. */
static void forget_refusal(struct pguard_thread *thread, struct pguard_place *place)
{
	struct pguard_call_site_info is = place->call_site->is;

	if (is.fit != PGUARD_CALL_SITE_REFUSED)
		return;
	is.fit = PGUARD_CALL_SITE_ONE;
	is.distance = 0;
	is.return_address = 0;
	place_set(thread, place, &is, false);
}

/* The thread's loop waits here.  What was refused by where it waited may be another's. */
static void return_slot_set(struct pguard_thread *thread, const struct search *search)
{
	u32 i;

	if (thread->return_slot == search->slot && thread->return_slot_ip == search->is.ip)
		return;
	thread->return_slot = search->slot;
	thread->return_slot_ip = search->is.ip;
	for (i = 0; i < PGUARD_NR_PLACES; i++)
		forget_refusal(thread, &thread->places[i]);
}

/*
 * Returns 1 if the file holds the code at @address of current's memory, @offset into it; 0 if
 * not; -EAGAIN if that cannot be found out without sleeping.
 */
static int code_is_at(u64 address, const struct inode *inode, u64 offset, bool may_sleep)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	int ret;

	if (may_sleep)
		mmap_read_lock(mm);
	else if (!mmap_read_trylock(mm))
		return -EAGAIN;
	vma = find_vma(mm, address);
	ret = vma && vma->vm_start <= address && vma->vm_file &&
	      file_inode(vma->vm_file) == inode &&
	      address - vma->vm_start + ((u64)vma->vm_pgoff << PAGE_SHIFT) == offset;
	mmap_read_unlock(mm);
	return ret;
}

static int user_word(u64 address, bool may_sleep, u64 *ret)
{
	int error;

	if (may_sleep)
		return get_user(*ret, (const u64 __user *)address);
	pagefault_disable();
	error = get_user(*ret, (const u64 __user *)address);
	pagefault_enable();
	return error ? -EAGAIN : 0;
}

/*
 * Returns 1 if the word at search->slot is the return address of the wait site, 0 if not;
 * -EAGAIN if that cannot be found out without sleeping.  search->is.return_address
 * becomes the word if it is; or its low bits, if it cannot be wherever the file is mapped.
 */
static int slot_returns(struct search *search, const struct pguard_wait_site *site, bool may_sleep)
{
	u64 word;
	int ret;

	search->is_refused = false;
	ret = user_word(search->slot, may_sleep, &word);
	if (ret)
		return ret == -EAGAIN ? ret : 0;
	if (pguard_place_differs(word, site->return_address)) {
		search->is_refused = true;
		search->is.return_address = site->return_address & ~PAGE_MASK;
		return 0;
	}
	if (site->inode)
		ret = code_is_at(word, site->inode, site->return_address, may_sleep);
	else
		ret = word == site->return_address;
	if (ret > 0)
		search->is.return_address = word;
	return ret;
}

/*
 * As slot_returns(), of the place.  The call must be the same, and the return address
 * stand at the site's distance.  Or, if this is the library function in which the thread's
 * loop waited before, on another path: where the return address stood then, for a loop
 * frame does not move.  (A wait call goes deeper once the process has a second thread.)
 */
static int site_fits(const struct pguard_thread *thread, struct search *search,
		     const struct pguard_wait_site *site, bool may_sleep)
{
	int ret;

	if (site->syscall != search->is.syscall)
		return 0;
	search->slot = search->sp + site->distance;
	ret = slot_returns(search, site, may_sleep);
	if (ret || site->role != PERFGUARD_BOUNDARY_ROLE_WAIT || !is_return_slot(thread, search))
		return ret;
	search->slot = thread->return_slot;
	return slot_returns(search, site, may_sleep);
}

static u32 nr_sites(const struct pguard_thread *thread)
{
	return thread->sites ? thread->sites->nr : 0;
}

/*
 * Look a place up among the thread's wait sites; true if the answer is in doubt.  A site of
 * another loop may point beyond the end of this stack: then it is not its.
 */
static bool look_up(struct pguard_thread *thread, struct search *search, bool may_sleep)
{
	const struct pguard_wait_site *site;
	bool doubt = false;
	u32 i;

	for (i = 0; i < nr_sites(thread); i++) {
		int ret;

		site = &thread->sites->site[i];
		ret = site_fits(thread, search, site, may_sleep);
		if (ret < 0)
			doubt = true;
		if (ret <= 0)
			continue;
		search->site = site;
		if (site->role == PERFGUARD_BOUNDARY_ROLE_WAIT)
			return_slot_set(thread, search);
		return false;
	}
	return doubt;
}

/*
 * The number of the profile's wait sites at this system call.  Those of an audit are
 * many, and come while it runs: what was found to be none stays none until then.
 */
static enum pguard_call_site_fit count_fits(const struct pguard_thread *thread, u32 syscall)
{
	u32 i, nr = 0;

	if (pguard_profile_is_audit(thread->profile))
		return PGUARD_CALL_SITE_NONE;
	for (i = 0; i < nr_sites(thread); i++)
		nr += thread->sites->site[i].syscall == syscall;
	return !nr	 ? PGUARD_CALL_SITE_NONE
	       : nr == 1 ? PGUARD_CALL_SITE_ONE
			 : PGUARD_CALL_SITE_SEVERAL;
}

/*
 * The call that restart_syscall goes on with, where its begin was not seen: that of the wait site at
 * which it would return; restart_syscall itself if it is none, or in doubt, which *@doubt then says.
 */
static u32 resumed_call(const struct pguard_thread *thread, const struct search *search,
			bool may_sleep, bool *doubt)
{
	const struct pguard_wait_site *site;
	struct search resumed = *search;
	u32 i;

	for (i = 0; i < nr_sites(thread); i++) {
		int ret;

		site = &thread->sites->site[i];
		if (site->role != PERFGUARD_BOUNDARY_ROLE_WAIT)
			continue;
		resumed.is.syscall = site->syscall;
		ret = site_fits(thread, &resumed, site, may_sleep);
		if (ret > 0)
			return site->syscall;
		*doubt |= ret < 0;
	}
	return search->is.syscall;
}

/* Whether the target wants to know what such a call reads, or who wakes it. */
static bool wants_messages(const struct pguard_thread *thread, u32 syscall)
{
	return READ_ONCE(thread->image->target->flags) & PERFGUARD_TARGET_FLAGS_REQUESTS &&
	       (pguard_place_reads(syscall) || syscall == __NR_futex);
}

/**
 * pguard_place_is_refused() - true if a place is certainly no boundary this time
 * @thread: of current, which has a profile
 * @place: settled; whatever it was last time
 *
 * By what stands where the return address of each wait site at such a call would, as a
 * look-up in full would find.  That takes several times as much.
 *
 * Context: current; may fault.
 */
bool pguard_place_is_refused(const struct pguard_thread *thread, const struct pguard_place *place)
{
	struct search search = search_begin(place);
	const struct pguard_wait_site *site;
	u64 word;

	for (site = thread->sites->site; site < thread->sites->site + thread->sites->nr; site++) {
		if (site->syscall != search.is.syscall)
			continue;
		search.slot = search.sp + site->distance;
		if (!pguard_place_read(search.slot, &word) ||
		    !pguard_place_differs(word, site->return_address))
			return false;
		/* It may also return where the loop waited before. */
		if (site->role == PERFGUARD_BOUNDARY_ROLE_WAIT && is_return_slot(thread, &search))
			return false;
	}
	return true;
}

/*
 * The place is no boundary this time: @tried is the last one that was tried.  If that
 * is the only one, and was not looked for where the loop waited before as well, then it is
 * none as long as what stands there cannot be its return address.
 */
static void place_refuse(struct pguard_thread *thread, struct pguard_place *place,
			 struct search *tried, bool may_sleep)
{
	if (tried->is.fit == PGUARD_CALL_SITE_ONE && tried->is_refused &&
	    tried->slot != thread->return_slot) {
		tried->is.fit = PGUARD_CALL_SITE_REFUSED;
		search_end(thread, place, tried, may_sleep);
	} else {
		forget_refusal(thread, place);
	}
}

/*
 * Returns true if the place is a boundary this time.  Several functions may call the one that
 * waits, from equal depths, and only one of them at an event's begin.  What the
 * place was last time is kept, for it may be that again.
 */
static bool profile_fits_now(struct pguard_thread *thread, struct pguard_place *place,
			     bool may_sleep)
{
	struct search now = search_begin(place);

	if (now.is.fit == PGUARD_CALL_SITE_REFUSED)
		now.is.fit = PGUARD_CALL_SITE_ONE;
	look_up(thread, &now, may_sleep);
	if (!now.site) {
		if (!place->call_site->is.loop)
			place_refuse(thread, place, &now, may_sleep);
		return false;
	}
	search_end(thread, place, &now, may_sleep);
	return place->call_site->is.loop;
}

/* A place is to be settled again. */
static void place_unsettle(struct pguard_thread *thread, struct pguard_place *place)
{
	struct search search = search_begin(place);

	if (place->call_site == &pguard_nowhere)
		return;
	search.is.generation = READ_ONCE(thread->image->generation) - 1;
	place_set(thread, place, &search.is, false);
}

/* Referenced; NULL if there are none yet.  Caller holds RCU, and @profile. */
static struct pguard_wait_sites *sites_get(const struct pguard_profile *profile,
					   const struct pguard_image *image)
{
	struct pguard_wait_sites *sites;

	do
		sites = profile->sites ?: rcu_dereference(image->sites);
	while (sites && !refcount_inc_not_zero(&sites->refs));
	return sites;
}

/*
 * Go by the profile and the wait sites that the target has now.  If the profile is another
 * one, no place that the thread has is settled any more.  Called after the generation was
 * read, which is raised after they were changed: if they are newer than the generation,
 * places are looked up once more.
 */
static void sites_update(struct pguard_thread *thread)
{
	struct pguard_profile *profile, *old = thread->profile;
	struct pguard_wait_sites *sites = thread->sites;
	u32 i;

	rcu_read_lock();
	profile = rcu_dereference(thread->image->target->profile) ?: thread->image->target->audit;
	if (profile != old && !kref_get_unless_zero(&profile->kref))
		profile = old;
	thread->sites = sites_get(profile, thread->image);
	rcu_read_unlock();
	pguard_wait_sites_put(sites);
	if (likely(profile == old))
		return;
	for (i = 0; i < PGUARD_NR_PLACES; i++)
		place_unsettle(thread, &thread->places[i]);
	thread->profile = profile;
	pguard_profile_put(old);
}

/*
 * Settle what a place is.  Its stack may be swapped out, or unmapped for a moment by NUMA
 * balancing: that says nothing about the place.
 */
static void place_settle(struct pguard_thread *thread, struct pguard_place *place,
			 struct search *search, bool may_sleep)
{
	bool doubt = false;

	/* Pairs with the stores in image.c. */
	search->is.generation = smp_load_acquire(&thread->image->generation);
	sites_update(thread);
	if (unlikely(search->is.syscall == __NR_restart_syscall))
		search->is.syscall = resumed_call(thread, search, may_sleep, &doubt);
	search->is.fit = count_fits(thread, search->is.syscall);
	search->is.follow = 0;
	if (wants_messages(thread, search->is.syscall)) {
		search->is.follow = PGUARD_FOLLOW_MESSAGE;
		if (search->is.fit == PGUARD_CALL_SITE_NONE)
			search->is.fit = PGUARD_CALL_SITE_READS;
	}
	doubt |= look_up(thread, search, may_sleep);
	if (doubt)
		search->is.generation--; /* ask again next time */
	search_end(thread, place, search, may_sleep);
}

static noinline void place_classify(struct pguard_thread *thread, struct pguard_place *place,
				    bool may_sleep)
{
	struct search search = search_begin(place);

	place_settle(thread, place, &search, may_sleep);
}

enum {
	/* Waits to record after a new place was seen. */
	MORE_RECORDS = 16,
};

/* A thread is in the places of its loop in each unit; but it may have left a loop for good. */
enum { KEEP_LOOPS = 29 };

/*
 * The slot that a new place takes: each in turn, but those where a loop waits or an event
 * begins only if there is no other, and once in so many times.
 */
static struct pguard_place *slot_next(struct pguard_thread *thread)
{
	u8 left = PGUARD_NR_PLACES;
	struct pguard_place *place;

	do {
		place = &thread->places[++thread->next_place % PGUARD_NR_PLACES];
	} while (place->call_site->is.loop && thread->next_place % KEEP_LOOPS && left--);
	return place;
}

static noinline struct pguard_place *place_new(struct pguard_thread *thread,
					       const struct pt_regs *regs, bool may_sleep)
{
	struct search search = {
		.is = { .ip = regs->ip, .syscall = pguard_place_syscall(regs) },
		.sp = regs->sp,
	};
	struct pguard_place *place;

	place = slot_next(thread);
	place->sp = regs->sp;
	thread->fresh |= pguard_place_bit(thread, place);
	/* Some more records show how the place stands to the others. */
	thread->records_left = max_t(u16, thread->records_left, MORE_RECORDS);
	place_settle(thread, place, &search, may_sleep);
	return place;
}

/* The loop that waits in a place, as far as is known; NULL if none does. */
static const struct pguard_loop *place_waits_for(const struct pguard_place *place)
{
	const struct pguard_call_site_info *is = &place->call_site->is;

	return is->role == PERFGUARD_BOUNDARY_ROLE_WAIT ? is->loop : NULL;
}

/**
 * pguard_place_get() - the place current waits in
 * @thread: of current
 * @regs: its user registers
 * @may_sleep: the context allows to fault
 * @was: the loop that waited there until now, if the place had to be settled, or NULL; only to be
 *	compared with, as it may be gone
 *
 * Context: current; sleeps only as @may_sleep says.
 * Return: the place, settled for the wait sites there are; it is thread->place.
 */
struct pguard_place *pguard_place_get(struct pguard_thread *thread, const struct pt_regs *regs,
				      bool may_sleep, const struct pguard_loop **was)
{
	struct pguard_place *place = thread->place;

	*was = NULL;
	/* Of a restarted call the place before is the right one, if others look like it. */
	if (!pguard_place_is(place, regs, pguard_place_syscall(regs)))
		place = pguard_place_find(thread, regs);
	if (!place)
		place = place_new(thread, regs, may_sleep);
	thread->place = place;
	/* That of which nothing is known is not even known to be this call. */
	if (!pguard_place_is_settled(thread, place) && place->call_site != &pguard_nowhere) {
		*was = place_waits_for(place);
		place_classify(thread, place, may_sleep);
	}
	return place;
}

/**
 * pguard_place_is_boundary() - true if a wait in this place is the loop's own
 *
 * The thread reads the stack each time: another chain of calls may lead to the place.
 *
 * Context: as pguard_place_get().
 */
bool pguard_place_is_boundary(struct pguard_thread *thread, struct pguard_place *place,
			      bool may_sleep)
{
	const struct pguard_call_site_info *is = &place->call_site->is;
	u64 word;

	if (!is->loop)
		return is->fit > PGUARD_CALL_SITE_READS &&
		       profile_fits_now(thread, place, may_sleep);
	if (may_sleep ? pguard_place_returns(place) :
			!user_word(pguard_place_slot(place), false, &word) &&
			word == is->return_address)
		return true;
	/* Another chain of calls led here this time. */
	return profile_fits_now(thread, place, may_sleep);
}
