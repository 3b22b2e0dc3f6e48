// SPDX-License-Identifier: GPL-2.0

#include "unit/wait-site.h"

#include "compat.h"
#include "profile/profile.h"
#include "target/image.h"

#include <linux/fs.h>
#include <linux/mm.h>

/* Is this the word there?  Without faulting: -EFAULT if the page is not mapped now. */
static int user_word_peek(u64 address, u64 wanted)
{
	u64 word;
	int ret;

	pagefault_disable();
	ret = get_user(word, (const u64 __user *)address);
	pagefault_enable();
	return ret ?: word == wanted;
}

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
 * What is being found out about a place of the thread; @slot is the one that is tried, and
 * @is_refused, that what stands there cannot be the return address.
 */
struct search {
	struct pguard_finding is;
	u64 sp;
	u64 slot;
	bool is_refused;
};

/* What kind of call it is does not change. */
static struct search search_begin(const struct pguard_place *place)
{
	const struct pguard_finding *is = &place->spot->is;

	return (struct search){
		.is = { .ip = is->ip, .syscall = is->syscall, .fit = is->fit,
			.generation = is->generation },
		.sp = place->sp,
	};
}

/* The place is what was found.  Without memory it is none, and asked about again. */
static void place_set(struct pguard_task *state, struct pguard_place *place,
		      const struct pguard_finding *is, bool may_sleep)
{
	struct pguard_spot *old = place->spot;

	if (pguard_spot_is(old, is))
		return;
	place->spot = pguard_spot_get(state->image, is, may_sleep ? GFP_KERNEL : GFP_NOWAIT);
	if (!place->spot)
		place->spot = &pguard_nowhere;
	pguard_spot_put(state->image, old);
}

/* The same, and where the return address is, if that tells anything. */
static void search_end(struct pguard_task *state, struct pguard_place *place,
		       struct search *search, bool may_sleep)
{
	const struct perfguard_boundary *boundary = search->is.boundary;

	if (search->is.loop || search->is.fit == PGUARD_SPOT_REFUSED) {
		search->is.distance = search->slot - search->sp;
	} else {
		search->is.distance = 0;
		search->is.return_address = 0;
	}
	/*
	 * The slot tells it even where the library went another way than in training.
	 * A wait that training did not come to tells nothing; but the frame does not move.
	 */
	if (boundary && boundary->rise)
		search->is.rise = search->is.distance - boundary->distance + boundary->rise;
	place_set(state, place, &search->is, may_sleep);
}

/* Is it the library function in which the thread's loop waited before, maybe on another path? */
static bool is_home(const struct pguard_task *state, const struct search *search)
{
	return is_near(search->is.ip, state->home_ip, PATHS_CODE) &&
	       is_near(search->slot, state->home, PATHS_STACK);
}

/* A place that was refused is to be looked at anew. */
static void forget_refusal(struct pguard_task *state, struct pguard_place *place)
{
	struct pguard_finding is = place->spot->is;

	if (is.fit != PGUARD_SPOT_REFUSED)
		return;
	is.fit = PGUARD_SPOT_ONE;
	is.distance = 0;
	is.return_address = 0;
	place_set(state, place, &is, false);
}

/* The thread's loop waits here.  What was refused by where it waited may be another's. */
static void home_set(struct pguard_task *state, const struct search *search)
{
	u32 i;

	if (state->home == search->slot && state->home_ip == search->is.ip)
		return;
	state->home = search->slot;
	state->home_ip = search->is.ip;
	for (i = 0; i < PGUARD_NR_PLACES; i++)
		forget_refusal(state, &state->places[i]);
}

/*
 * Does the place belong to the context?  The call must be the same, and the
 * return address stand at the context's distance.  Or, if this is the library
 * function in which the thread's loop waited before, on another path: where
 * the return address stood then, for a loop frame does not move.  (A wait call
 * goes deeper once the process has a second thread.)
 */
static int context_fits(const struct pguard_task *state, struct search *search,
			const struct pguard_context *context)
{
	int ret;

	if (context->syscall != search->is.syscall)
		return 0;
	search->slot = search->sp + context->distance;
	/* Within an RCU section it must not fault. */
	ret = user_word_peek(search->slot, context->return_address);
	if (ret)
		return ret;
	if (!is_home(state, search))
		return 0;
	search->slot = state->home;
	return user_word_peek(search->slot, context->return_address);
}

/*
 * Look a place up in the image's contexts, from number *@from on.  -EFAULT if
 * the page at search->slot is not mapped just now; *@from is the context then,
 * and the look-up is to go on with it or, if there is no such page, behind it.
 */
static int place_look_up(struct pguard_task *state, struct search *search, u32 *from)
{
	struct pguard_contexts *contexts;
	u32 generation;
	int ret = 0;

	/* Pairs with the store in pguard_image_set_contexts(). */
	generation = smp_load_acquire(&state->image->generation);
	if (search->is.generation != generation)
		*from = 0;
	search->is.generation = generation;
	search->is.loop = NULL;
	rcu_read_lock();
	contexts = rcu_dereference(state->image->contexts);
	for (; contexts && *from < contexts->nr; ++*from) {
		const struct pguard_context *context = &contexts->context[*from];

		ret = context_fits(state, search, context);
		if (ret < 0)
			break;
		if (!ret)
			continue;
		search->is.loop = context->loop;
		search->is.return_address = context->return_address;
		home_set(state, search);
		break;
	}
	rcu_read_unlock();
	return min(ret, 0);
}

/*
 * Does the file hold the code at @address of current's memory, @offset into it?
 * -EAGAIN if that cannot be found out without sleeping.
 */
static int code_is_at(u64 address, const struct pguard_object *object, u64 offset,
		      bool may_sleep)
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
	      file_inode(vma->vm_file) == object->inode &&
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
 * Is the word at search->slot a return address that lies there in the file?
 * -EAGAIN if that cannot be found out without sleeping.  search->is.return_address
 * becomes the word if it is; or its low bits, if it cannot be wherever the file is mapped.
 */
static int boundary_returns(struct search *search, const struct pguard_object *object,
			    u64 offset, bool may_sleep)
{
	u64 word;
	int ret;

	search->is_refused = false;
	ret = user_word(search->slot, may_sleep, &word);
	if (ret)
		return ret == -EAGAIN ? ret : 0;
	if (pguard_place_differs(word, offset)) {
		search->is_refused = true;
		search->is.return_address = offset & ~PAGE_MASK;
		return 0;
	}
	ret = code_is_at(word, object, offset, may_sleep);
	if (ret > 0)
		search->is.return_address = word;
	return ret;
}

/* Is the boundary such a call? */
static bool boundary_is_call(const struct perfguard_boundary *boundary, u32 syscall)
{
	return boundary->role != PERFGUARD_BOUNDARY_ROLE_EVENT_SITE &&
	       boundary->syscall == syscall;
}

/* As context_fits(); -EAGAIN as above. */
static int boundary_fits(const struct pguard_task *state, struct search *search,
			 const struct perfguard_boundary *boundary, bool may_sleep)
{
	const struct pguard_object *object = &state->profile->objects[boundary->object];
	int ret;

	if (!boundary_is_call(boundary, search->is.syscall))
		return 0;
	search->slot = search->sp + boundary->distance;
	ret = boundary_returns(search, object, boundary->return_offset, may_sleep);
	if (ret || boundary->role != PERFGUARD_BOUNDARY_ROLE_WAIT || !is_home(state, search))
		return ret;
	search->slot = state->home;
	return boundary_returns(search, object, boundary->return_offset, may_sleep);
}

/* Look a place up in the thread's profile; true if the answer is in doubt. */
static bool profile_look_up(struct pguard_task *state, struct search *search, bool may_sleep)
{
	const struct pguard_profile *profile = state->profile;
	const struct perfguard_boundary *boundary;
	bool doubt = false;
	u32 i;

	for (i = 0; i < profile->nr_boundaries; i++) {
		int ret;

		boundary = &profile->boundaries[i];
		ret = boundary_fits(state, search, boundary, may_sleep);
		if (ret < 0)
			doubt = true;
		if (ret <= 0)
			continue;
		search->is.loop = pguard_loop_new(state->image,
						  profile->courses[boundary->loop].id,
						  may_sleep ? GFP_KERNEL : GFP_NOWAIT);
		if (!search->is.loop)
			return true;
		search->is.boundary = boundary;
		if (boundary->role == PERFGUARD_BOUNDARY_ROLE_WAIT)
			home_set(state, search);
		return false;
	}
	return doubt;
}

/* How many boundaries has the thread's profile at this system call? */
static enum pguard_spot_fit profile_fit(const struct pguard_task *state, u32 syscall)
{
	const struct pguard_profile *profile = state->profile;
	u32 i, nr = 0;

	for (i = 0; i < profile->nr_boundaries; i++)
		nr += boundary_is_call(&profile->boundaries[i], syscall);
	return !nr ? PGUARD_SPOT_NONE : nr == 1 ? PGUARD_SPOT_ONE : PGUARD_SPOT_SEVERAL;
}

/**
 * pguard_place_is_refused() - is a place certainly no boundary this time?
 * @state: of current, which has a profile
 * @place: settled; whatever it was last time
 *
 * By what stands where the return address of each boundary at such a call would, as a
 * look-up in full would find.  That takes several times as much.
 *
 * Context: current; may fault.
 */
bool pguard_place_is_refused(const struct pguard_task *state, const struct pguard_place *place)
{
	const struct pguard_profile *profile = state->profile;
	struct search search = search_begin(place);
	const struct perfguard_boundary *boundary;
	u64 word;

	for (boundary = profile->boundaries;
	     boundary < profile->boundaries + profile->nr_boundaries; boundary++) {
		if (!boundary_is_call(boundary, search.is.syscall))
			continue;
		search.slot = search.sp + boundary->distance;
		if (!pguard_place_read(search.slot, &word) ||
		    !pguard_place_differs(word, boundary->return_offset))
			return false;
		/* It may also return where the loop waited before. */
		if (boundary->role == PERFGUARD_BOUNDARY_ROLE_WAIT && is_home(state, &search))
			return false;
	}
	return true;
}

/*
 * The place is no boundary this time: @tried tells of the last one that was tried.  If that
 * is the only one, and was not looked for where the loop waited before as well, then it is
 * none as long as what stands there cannot be its return address.
 */
static void place_refuse(struct pguard_task *state, struct pguard_place *place,
			 struct search *tried, bool may_sleep)
{
	if (tried->is.fit == PGUARD_SPOT_ONE && tried->is_refused && tried->slot != state->home) {
		tried->is.fit = PGUARD_SPOT_REFUSED;
		search_end(state, place, tried, may_sleep);
	} else {
		forget_refusal(state, place);
	}
}

/*
 * Is the place a boundary this time?  Several functions may call the one that
 * waits, from equal depths, and only one of them at an event's begin.  What the
 * place was last time is kept, for it may be that again.
 */
static bool profile_fits_now(struct pguard_task *state, struct pguard_place *place,
			     bool may_sleep)
{
	struct search now = search_begin(place);

	if (now.is.fit == PGUARD_SPOT_REFUSED)
		now.is.fit = PGUARD_SPOT_ONE;
	profile_look_up(state, &now, may_sleep);
	if (!now.is.loop) {
		if (!place->spot->is.loop)
			place_refuse(state, place, &now, may_sleep);
		return false;
	}
	search_end(state, place, &now, may_sleep);
	return place->spot->is.loop;
}

/* A place is to be settled anew. */
static void place_unsettle(struct pguard_task *state, struct pguard_place *place)
{
	struct search search = search_begin(place);

	if (place->spot == &pguard_nowhere)
		return;
	search.is.generation = READ_ONCE(state->image->generation) - 1;
	place_set(state, place, &search.is, false);
}

/*
 * Go by the profile that the target has now; no place that the thread has is settled any
 * more.  Called after the generation was read, which is raised after the profile was
 * changed: if it is newer than the generation, its places are looked up once more.
 */
static void profile_change(struct pguard_task *state)
{
	struct pguard_profile *profile, *old = state->profile;
	u32 i;

	rcu_read_lock();
	profile = rcu_dereference(state->image->target->profile);
	if (profile != old && profile && !pguard_profile_hold(profile))
		profile = old;
	rcu_read_unlock();
	if (likely(profile == old))
		return;
	for (i = 0; i < PGUARD_NR_PLACES; i++)
		place_unsettle(state, &state->places[i]);
	state->profile = profile;
	state->is_guarded = profile;
	if (old)
		pguard_profile_put(old);
}

/*
 * Settle what a place is.  Its stack may be swapped out, or unmapped for a
 * moment by NUMA balancing: that says nothing about the place.  A context of
 * another loop may point beyond the end of this stack: then it is not its.
 */
static void place_settle(struct pguard_task *state, struct pguard_place *place,
			 struct search *search, bool may_sleep)
{
	u32 from = 0, tries = 2 * PGUARD_MAX_CONTEXTS;
	bool doubt = false;
	u64 word;

	while (tries-- && place_look_up(state, search, &from)) {
		if (may_sleep && !get_user(word, (const u64 __user *)search->slot))
			continue;
		doubt = !may_sleep;
		from++;
	}
	if (rcu_access_pointer(state->image->target->profile) != state->profile)
		profile_change(state);
	search->is.fit = state->profile ? profile_fit(state, search->is.syscall) : PGUARD_SPOT_NONE;
	if (search->is.fit && !search->is.loop)
		doubt |= profile_look_up(state, search, may_sleep);
	if (doubt && !search->is.loop)
		search->is.generation--; /* ask again next time */
	search_end(state, place, search, may_sleep);
}

static noinline void place_classify(struct pguard_task *state, struct pguard_place *place,
				    bool may_sleep)
{
	struct search search = search_begin(place);

	place_settle(state, place, &search, may_sleep);
}

enum {
	/* Waits to record after a new place was seen. */
	MORE_RECORDS = 16,
};

/* A thread is in the places of its loop in each unit; but it may have left a loop for good. */
enum { KEEP_LOOPS = 29 };

/*
 * The slot that a new place takes: each in turn, but those where a loop waits or an event
 * begins only if there is no other, and once in so many turns.
 */
static struct pguard_place *slot_next(struct pguard_task *state)
{
	u8 left = PGUARD_NR_PLACES;
	struct pguard_place *place;

	do {
		place = &state->places[++state->turn % PGUARD_NR_PLACES];
	} while (place->spot->is.loop && state->turn % KEEP_LOOPS && left--);
	return place;
}

static noinline struct pguard_place *place_new(struct pguard_task *state,
					       const struct pt_regs *regs, bool may_sleep)
{
	struct search search = {
		.is = { .ip = regs->ip, .syscall = pguard_place_syscall(regs) },
		.sp = regs->sp,
	};
	struct pguard_place *place;

	place = slot_next(state);
	place->sp = regs->sp;
	state->fresh |= pguard_place_bit(state, place);
	/* Some more records show how the place stands to the others. */
	state->records_left = max_t(u16, state->records_left, MORE_RECORDS);
	place_settle(state, place, &search, may_sleep);
	return place;
}

/**
 * pguard_place_get() - the place current waits in
 * @state: of current
 * @regs: its user registers
 * @may_sleep: whether the context allows to fault
 *
 * Context: current; sleeps only as @may_sleep says.
 * Return: the place, settled for the contexts there are; it is state->place.
 */
struct pguard_place *pguard_place_get(struct pguard_task *state, const struct pt_regs *regs,
				      bool may_sleep)
{
	struct pguard_place *place = state->place;

	/* Of a restarted call the place before is the right one, if others look like it. */
	if (!pguard_place_is(place, regs, pguard_place_syscall(regs)))
		place = pguard_place_find(state, regs);
	if (!place)
		place = place_new(state, regs, may_sleep);
	state->place = place;
	/* That of which nothing is known is not even known to be this call. */
	if (!pguard_place_is_settled(state, place) && place->spot != &pguard_nowhere)
		place_classify(state, place, may_sleep);
	return place;
}

/**
 * pguard_place_is_boundary() - is a wait in this place the loop's own
 *
 * The stack is asked each time: another chain of calls may lead to the place.
 *
 * Context: as pguard_place_get().
 */
bool pguard_place_is_boundary(struct pguard_task *state, struct pguard_place *place,
			      bool may_sleep)
{
	const struct pguard_finding *is = &place->spot->is;
	int ret;

	if (!is->loop)
		return is->fit && profile_fits_now(state, place, may_sleep);
	if (may_sleep)
		ret = pguard_place_returns(place);
	else
		ret = user_word_peek(pguard_place_slot(place), is->return_address);
	if (likely(ret > 0))
		return true;
	/* Another chain of calls led here this time. */
	if (!ret && is->boundary)
		return profile_fits_now(state, place, may_sleep);
	if (!ret)
		place_classify(state, place, may_sleep);
	return !ret && place->spot->is.loop;
}
