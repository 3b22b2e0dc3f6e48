// SPDX-License-Identifier: GPL-2.0

#include "probe/site.h"

#include "inline/region.h"
#include "probe/noted-hits.h"
#include "target/image.h"
#include "target/process.h"
#include "target/thread.h"
#include "trainstream/stream.h"

#include <linux/ptrace.h>
#include <linux/uaccess.h>

/**
 * pguard_site_wants() - should there be a breakpoint in some memory
 * @site: the site
 * @mm: the memory; stays while we are here
 *
 * Context: may sleep; the memory's lock may be held.
 */
bool pguard_site_wants(const struct pguard_site *site, struct mm_struct *mm)
{
	if (READ_ONCE(site->seen))
		return false;
	return pguard_process_has_mm(site->target, mm) ||
	       (site->jumps && pguard_jumps_are_in(site->jumps, mm));
}

/* Returns true if current is a thread of the site's target.  Its first hit makes its state. */
static bool site_is_ours(const struct pguard_site *site)
{
	const struct pguard_thread *thread = pguard_thread_of_current();

	if (!thread)
		return pguard_thread_first(site->target);
	return thread->image->target == site->target;
}

atomic64_t pguard_site_unread = ATOMIC64_INIT(0);

/*
 * The user's word, 0 if it is not there, which is counted.  It was written a moment
 * ago, so it is; a page that is not is not waited for.
 */
static u64 user_word(u64 address)
{
	u64 word;
	int ret;

	pagefault_disable();
	ret = get_user(word, (const u64 __user *)address);
	pagefault_enable();
	if (likely(!ret))
		return word;
	atomic64_inc(&pguard_site_unread);
	return 0;
}

/*
 * False if there was no room, or the stream or the state is gone.  The state stays as long as the
 * handler runs: only current takes it away, or the removal of its target, which waits for handlers.
 */
static bool site_report(const struct pguard_site *site, u64 sp, u64 value)
{
	struct pguard_thread *thread = pguard_thread_of_current();

	if (!thread)
		return false;
	pguard_noted_hits_take(thread);
	return pguard_stream_put(thread, PERFGUARD_EVENT_KIND_HIT, site->id, sp, value);
}

/**
 * pguard_site_hit() - current came by a site
 * @site: the site
 * @regs: its user registers
 *
 * Context: current, in the handler of a probe (probe.c); does not sleep or fault.
 * Return: true if current's memory needs the breakpoint no more.
 */
bool pguard_site_hit(struct pguard_site *site, const struct pt_regs *regs)
{
	u64 sp = regs->sp + site->sp_delta;

	if (READ_ONCE(site->seen))
		return true;
	/*
	 * A child that is no target's has the breakpoints its parent had.  But
	 * one that shares its parent's memory leaves them alone.
	 */
	if (unlikely(!site_is_ours(site)))
		return !pguard_site_wants(site, current->mm);
	if (!pguard_stream_is_open())
		return false;
	if (!site->one_shot) {
		site_report(site, sp, user_word(sp));
		return false;
	}
	/* Of threads that come at once, one records it. */
	if (cmpxchg(&site->seen, false, true))
		return true;
	if (site_report(site, sp, user_word(sp)))
		return true;
	WRITE_ONCE(site->seen, false);
	return false;
}
