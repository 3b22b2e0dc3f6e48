// SPDX-License-Identifier: GPL-2.0

#include "probe.h"

#include "compat.h"
#include "guard.h"
#include "profile.h"
#include "turn.h"

#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/string.h>

/*
 * The instruction is to be carried out once: who comes after another handler
 * at the same place, which did it, finds the thread elsewhere.  A place in a
 * file and in memory differ by whole pages.
 */
static bool is_to_be_done(const struct pguard_probe *probe, const struct pt_regs *regs)
{
	return probe->code.way == PERFGUARD_GUARD_WAY_MODULE &&
	       offset_in_page(regs->ip) == offset_in_page(probe->offset);
}

/* The module could not do it this time: the kernel steps it. */
static void count_step(const struct pguard_site *site)
{
	if (!site->profile)
		return;
	preempt_disable();
	pguard_profile_this_cpu(site->profile)->guards[site->id].stepped++;
	preempt_enable();
}

/*
 * Runs in the thread, which may sleep.  A probe must not be put on or taken
 * off from here: the kernel waits for us then.
 */
static int probe_handler(PGUARD_UPROBE_HANDLER_ARGS)
{
	struct pguard_probe *probe = container_of(self, struct pguard_probe, consumer);
	bool is_done;

	if (probe->site.profile)
		is_done = pguard_guard_hit(&probe->site, regs);
	else
		is_done = pguard_site_hit(&probe->site, regs);
	if (is_to_be_done(probe, regs) && !pguard_emulate(&probe->code.emulation, regs) &&
	    !is_done)
		count_step(&probe->site);
	return is_done ? UPROBE_HANDLER_REMOVE : 0;
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

/**
 * pguard_probe_register() - put a probe on
 * @probe: with its inode, offset, code and site filled in; off, and no handler
 *	runs for it
 *
 * Context: may sleep, long if many processes map the file; a worker, in a turn at
 * the target, and pguard_control is not held.
 * Return: 0 or an error: -EINVAL for an offset beyond the end of the file,
 * -ENOTSUPP for an instruction that cannot be probed.
 */
int pguard_probe_register(struct pguard_probe *probe)
{
	pguard_turn_assert_probe(probe->site.target);
	if (probe->offset >= (u64)i_size_read(probe->inode))
		return -EINVAL;
	/* A registration before may have left something in it. */
	memset(&probe->consumer, 0, sizeof(probe->consumer));
	probe->consumer.handler = probe_handler;
	probe->consumer.filter = probe_filter;
	probe->handle = pguard_uprobe_register(probe->inode, probe->offset, &probe->consumer);
	if (IS_ERR(probe->handle))
		return PTR_ERR(probe->handle);
	probe->is_on = true;
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
	pguard_turn_assert_probe(probe->site.target);
	if (!probe->is_on)
		return;
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
