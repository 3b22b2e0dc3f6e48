// SPDX-License-Identifier: GPL-2.0

#include "probe/probe.h"

#include "probe/guard.h"
#include "probe/inlining.h"
#include "probe/noted-hits.h"
#include "profile/profile.h"
#include "target/target-lock.h"

#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/string.h>

/*
 * The module does not carry out the instruction this time: the kernel steps it.  Should
 * another user's handler have moved the thread, it is elsewhere.
 */
static noinline __cold int count_step(const struct pguard_probe *probe, const struct pt_regs *regs)
{
	if (probe->site.profile && offset_in_page(regs->ip) == offset_in_page(probe->offset))
		this_cpu_inc(probe->site.sums->stepped);
	return 0;
}

/* A place in a file and in memory differ by whole pages. */
static __always_inline bool emulate(const struct pguard_probe *probe, struct pt_regs *regs)
{
	return offset_in_page(regs->ip) == READ_ONCE(probe->carries_out_at) &&
	       pguard_emulate(&probe->code.emulation, regs);
}

static noinline int carry_out(const struct pguard_probe *probe, struct pt_regs *regs)
{
	return likely(emulate(probe, regs)) ? 0 : count_step(probe, regs);
}

/* What a handler returns: the last call, without a frame of its own. */
static __always_inline int finish(const struct pguard_probe *probe, struct pt_regs *regs)
{
	return probe->code.way == PERFGUARD_STEP_MODE_MODULE ? carry_out(probe, regs) : 0;
}

/* The same if current's memory needs the breakpoint no more: no hit was counted, so no step is. */
static noinline __cold int finish_last(const struct pguard_probe *probe, struct pt_regs *regs)
{
	if (probe->code.way == PERFGUARD_STEP_MODE_MODULE)
		emulate(probe, regs);
	return UPROBE_HANDLER_REMOVE;
}

/*
 * Handlers run in the thread, within the kernel's section for uprobes: the removal of any
 * uprobe of the machine waits for its end, and where that is a section of RCU tasks trace,
 * sleepable BPF does, too.  So a handler does not wait for anything:
 *
 *   - it reads and writes user memory with page faults off; what is not there is left out
 *     and counted, or left to the kernel (emulate.c);
 *   - it allocates nothing but small things by GFP_NOWAIT, and does without them if need be;
 *   - it takes spinlocks, no mutex;
 *   - it puts no probe on or off;
 *   - what takes longer it leaves to task work (late-hit.c).
 */
static int record_handler(PGUARD_UPROBE_HANDLER_ARGS)
{
	struct pguard_probe *probe = container_of(self, struct pguard_probe, consumer);
	struct pguard_thread *thread;

	if (probe->site.jumps) {
		thread = pguard_thread_of_current();
		if (thread && thread->image->target == probe->site.target)
			pguard_inlining_hit(thread, &probe->site);
	}
	if (unlikely(pguard_site_hit(&probe->site, regs)))
		return finish_last(probe, regs);
	return finish(probe, regs);
}

static noinline int hit_slow(struct pguard_probe *probe, struct pt_regs *regs, u64 now)
{
	if (unlikely(pguard_guard_hit_slow(&probe->site, regs, now)))
		return finish_last(probe, regs);
	return finish(probe, regs);
}

static int slow_handler(PGUARD_UPROBE_HANDLER_ARGS)
{
	return hit_slow(container_of(self, struct pguard_probe, consumer), regs,
			   pguard_clock());
}

static __always_inline int hit_fast(struct pguard_probe *probe, struct pt_regs *regs,
				     bool may_begin)
{
	struct pguard_guard_hit hit = { .now = rdtsc() };

	switch (pguard_guard_hit(&probe->site, regs, &hit, may_begin)) {
	case PGUARD_GUARD_BEYOND:
		pguard_guard_check(hit.thread, hit.now);
		break;
	case PGUARD_GUARD_SLOW:
		return hit_slow(probe, regs, hit.now);
	case PGUARD_GUARD_DONE:
		break;
	}
	return finish(probe, regs);
}

static int guard_handler(PGUARD_UPROBE_HANDLER_ARGS)
{
	return hit_fast(container_of(self, struct pguard_probe, consumer), regs, false);
}

/* Where events begin. */
static int event_handler(PGUARD_UPROBE_HANDLER_ARGS)
{
	return hit_fast(container_of(self, struct pguard_probe, consumer), regs, true);
}

/* Of a profile whose guards jump where they can. */
static int jumping_handler(PGUARD_UPROBE_HANDLER_ARGS)
{
	struct pguard_probe *probe = container_of(self, struct pguard_probe, consumer);

	pguard_noted_hits_before(&probe->site);
	if (!pguard_clock_is_tsc())
		return hit_slow(probe, regs, pguard_clock());
	return hit_fast(probe, regs, probe->site.events);
}

/* Where the lives of threads begin. */
static int start_handler(PGUARD_UPROBE_HANDLER_ARGS)
{
	struct pguard_probe *probe = container_of(self, struct pguard_probe, consumer);
	u64 now = pguard_clock();

	if (probe->site.profile->noted)
		pguard_noted_hits_before(&probe->site);
	pguard_guard_start(&probe->site, regs);
	return hit_slow(probe, regs, now);
}

/*
 * Asked when a probe is put on, for each memory that maps the file; when a
 * memory maps the file; and when the handler wants the breakpoint removed.
 */
static bool probe_filter(PGUARD_UPROBE_FILTER_ARGS)
{
	struct pguard_probe *probe = container_of(self, struct pguard_probe, consumer);

	return pguard_site_wants(&probe->site, mm);
}

static int (*handler_of(const struct pguard_site *site))(PGUARD_UPROBE_HANDLER_ARGS)
{
	if (!site->profile)
		return record_handler;
	if (site->starts)
		return start_handler;
	if (site->profile->noted)
		return jumping_handler;
	if (site->profile->flags & PERFGUARD_PROFILE_FLAGS_PAPER || !pguard_clock_is_tsc())
		return slow_handler;
	return site->events ? event_handler : guard_handler;
}

/* The clock has changed: handlers that suppose the TSC are for nobody any more. */
static void handler_look(struct pguard_probe *probe)
{
	/* The kernel reads it at each hit. */
	if (probe->consumer.handler != handler_of(&probe->site))
		WRITE_ONCE(probe->consumer.handler, handler_of(&probe->site));
}

/**
 * pguard_probe_look() - find out which handler a probe needs, and whether it may carry the
 *	instruction out
 * @probe: the probe
 *
 * Whoever else has a probe at this place is to see the thread as it came.  The kernel calls the
 * newest consumer first: those that were there before come after us, and as long as one of
 * them is there the kernel steps.  Nobody is put behind us later.
 *
 * Context: any; the lock of the target is held.
 */
void pguard_probe_look(struct pguard_probe *probe)
{
	struct pguard_profile *profile = probe->site.profile;
	bool is_last;
	u32 at;

	if (!probe->is_on)
		return;
	handler_look(probe);
	if (probe->code.way != PERFGUARD_STEP_MODE_MODULE)
		return;
	is_last = pguard_uprobe_next(&probe->consumer) == probe->end;
	at = is_last ? offset_in_page(probe->offset) : PGUARD_PROBE_NOWHERE;
	/* Handlers read it on all CPUs. */
	if (probe->carries_out_at != at)
		WRITE_ONCE(probe->carries_out_at, at);
	if (profile)
		WRITE_ONCE(profile->guards[probe->site.id].is_shared, !is_last);
}

/* Returns true if it is a guard's that jumps where it can. */
static bool is_to_jump(const struct pguard_probe *probe)
{
	return probe->site.profile && probe->site.jumps && probe->site.jump != PGUARD_NO_JUMP;
}

/**
 * pguard_probe_register() - put a probe on
 * @probe: with its inode, offset, code and site filled in; off, and no handler
 *	runs for it
 *
 * Context: may sleep, long if many processes map the file; a worker, under the lock of
 * the target, and pguard_control is not held.
 * Return: 0 or an error: -EINVAL for an offset beyond the end of the file,
 * -ENOTSUPP for an instruction that cannot be probed.
 */
int pguard_probe_register(struct pguard_probe *probe)
{
	pguard_target_assert_probe(probe->site.target);
	if (probe->offset >= (u64)i_size_read(probe->inode))
		return -EINVAL;
	/* A registration before may have left something in it. */
	memset(&probe->consumer, 0, sizeof(probe->consumer));
	probe->consumer.handler = handler_of(&probe->site);
	probe->consumer.filter = probe_filter;
	probe->carries_out_at = PGUARD_PROBE_NOWHERE;
	probe->handle = pguard_uprobe_register(probe->inode, probe->offset, &probe->consumer);
	if (IS_ERR(probe->handle))
		return PTR_ERR(probe->handle);
	probe->end = pguard_uprobe_end(&probe->consumer);
	probe->is_on = true;
	if (is_to_jump(probe))
		pguard_inlining_put_on(probe->site.jumps, probe->site.jump);
	pguard_probe_look(probe);
	return 0;
}

/**
 * pguard_probe_unregister() - take a probe off, if it is on
 *
 * Afterwards the handler may still run; pguard_probe_sync() waits for it.
 *
 * Context: as pguard_probe_register().
 */
void pguard_probe_unregister(struct pguard_probe *probe)
{
	pguard_target_assert_probe(probe->site.target);
	if (!probe->is_on)
		return;
	/* No byte of a jump may be left where the breakpoint goes. */
	if (is_to_jump(probe))
		pguard_inlining_put_off(probe->site.jumps, probe->site.jump);
	pguard_uprobe_unregister(probe->handle, probe->inode, probe->offset, &probe->consumer);
	probe->is_on = false;
}

/*
 * No handler runs for those taken off.  Context: may sleep, up to 60 ms;
 * pguard_control not held.
 */
void pguard_probe_sync(void)
{
	lockdep_assert_not_held(&pguard_control);
	pguard_uprobe_sync();
}
