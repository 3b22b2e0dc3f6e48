// SPDX-License-Identifier: GPL-2.0

#include "inline/poke.h"

#include "inline/area.h"
#include "inline/region.h"

#include <linux/bitmap.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/oom.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include <asm/sync_core.h>

enum {
	BATCH = 64,	/* sites that the map lock is held for */
	TRIES = 3,	/* for a page, which memory may be missing for */
	BREAKPOINT = 0xcc,
};

/* A site that is about to change, with its page, which is the memory's own. */
struct poke {
	u32 number;
	u8 *at;
	struct page *page;
};

static void take_note(void *unused)
{
	sync_core();
}

/* All CPUs that run the memory's threads fetch the bytes as they are now. */
static void sync(struct mm_struct *mm)
{
	on_each_cpu_mask(mm_cpumask(mm), take_note, NULL, true);
}

/* Returns true if the site is mapped there, and what is written is the memory's own. */
static bool is_mapped(struct pguard_region_use *use, u32 number, unsigned long address)
{
	const struct pguard_jumps *jumps = use->region->jumps;
	const struct vm_area_struct *vma = find_vma(use->mm, address);

	return vma && vma->vm_start <= address && vma->vm_file && !(vma->vm_flags & VM_SHARED) &&
	       d_real_inode(vma->vm_file->f_path.dentry) == jumps->inode &&
	       ((u64)vma->vm_pgoff << PAGE_SHIFT) + address - vma->vm_start ==
		       jumps->list[number].offset;
}

/*
 * The bytes of a site, in the page that its uprobe has made the memory's own.  Not if they cross
 * pages.
 */
static bool poke_get(struct pguard_region_use *use, u32 number, struct poke *ret)
{
	unsigned long address = use->region->base + use->region->jumps->list[number].offset;
	u32 tries = TRIES;

	if (offset_in_page(address) > PAGE_SIZE - PGUARD_LANDING_HEAD ||
	    !is_mapped(use, number, address))
		return false;
	while (pguard_get_user_page(use->mm, address, FOLL_FORCE | FOLL_WRITE, &ret->page) != 1)
		if (!--tries)
			return false;
	ret->number = number;
	ret->at = page_address(ret->page) + offset_in_page(address);
	return true;
}

static void poke_put(const struct poke *poke)
{
	set_page_dirty_lock(poke->page);
	put_page(poke->page);
}

/* What stands there, except for the breakpoint, is what the file has. */
static bool is_original(const struct poke *poke, const struct pguard_jump *jump)
{
	return poke->at[0] == BREAKPOINT &&
	       !memcmp(poke->at + 1, jump->insn + 1, PGUARD_LANDING_HEAD - 1);
}

/*
 * Another user's breakpoint may have taken the place of the first byte; then the thread is sent
 * on by uprobes, and the rest is put back all the same.
 */
static bool is_jump_there(const struct poke *poke, const u8 *head)
{
	return (poke->at[0] == head[0] || poke->at[0] == BREAKPOINT) &&
	       !memcmp(poke->at + 1, head + 1, PGUARD_LANDING_HEAD - 1);
}

static void jumps_write(struct pguard_region_use *use, const struct poke *pokes, u32 nr)
{
	const struct pguard_region *region = use->region;
	u32 i;

	for (i = 0; i < nr; i++)
		memcpy(pokes[i].at + 1, region->heads[pokes[i].number] + 1,
		       PGUARD_LANDING_HEAD - 1);
	sync(use->mm);
	for (i = 0; i < nr; i++) {
		WRITE_ONCE(*pokes[i].at, region->heads[pokes[i].number][0]);
		__set_bit(pokes[i].number, use->jumps);
	}
	sync(use->mm);
	use->nr_jumps += nr;
}

static void breakpoints_write(struct pguard_region_use *use, const struct poke *pokes, u32 nr)
{
	const struct pguard_jump *list = use->region->jumps->list;
	u32 i;

	for (i = 0; i < nr; i++)
		WRITE_ONCE(*pokes[i].at, BREAKPOINT);
	sync(use->mm);
	for (i = 0; i < nr; i++)
		memcpy(pokes[i].at + 1, list[pokes[i].number].insn + 1, PGUARD_LANDING_HEAD - 1);
	sync(use->mm);
}

/* Can the site change, and is it there? */
static bool is_ready(const struct pguard_region_use *use, const struct poke *poke, bool is_jump)
{
	const struct pguard_region *region = use->region;

	return is_jump ? is_original(poke, &region->jumps->list[poke->number]) :
			 is_jump_there(poke, region->heads[poke->number]);
}

/*
 * A site that jumped is not what we made of it, so it is left alone.  If there is code still, it may
 * be a copy that jumps, as of a program that moves its text to huge pages.
 */
static void site_lost(struct pguard_region_use *use, u32 number)
{
	unsigned long address = use->region->base + use->region->jumps->list[number].offset;
	const struct vm_area_struct *vma = find_vma(use->mm, address);

	if (vma && vma->vm_start <= address && vma->vm_flags & VM_EXEC)
		WRITE_ONCE(use->is_pinned, true);
}

/*
 * The next sites from @number on that are to change, as many as there is room for; those that
 * cannot are passed.  Returns how many.
 */
static u32 pokes_get(struct pguard_region_use *use, struct poke *pokes, u32 *number, u32 last,
		     bool is_jump)
{
	const struct pguard_region *region = use->region;
	bool jumped = false;
	u32 nr = 0;

	for (; *number < last && nr < BATCH; ++*number) {
		if (!region->heads[*number][0] || test_bit(*number, use->jumps) == is_jump ||
		    (is_jump && region->jumps->list[*number].is_off))
			continue;
		if (!is_jump) {
			jumped = __test_and_clear_bit(*number, use->jumps);
			use->nr_jumps -= jumped;
		}
		if (poke_get(use, *number, &pokes[nr])) {
			if (is_ready(use, &pokes[nr], is_jump)) {
				nr++;
				continue;
			}
			put_page(pokes[nr].page);
		}
		if (jumped)
			site_lost(use, *number);
	}
	return nr;
}

static bool poke_some(struct pguard_region_use *use, struct poke *pokes, u32 *number, u32 last,
		      bool is_jump)
{
	u32 i, nr, before = use->nr_jumps;

	mmap_write_lock(use->mm);
	/* The child of a fork that has failed, or what the OOM killer takes: it runs no more. */
	if (check_stable_address_space(use->mm)) {
		bitmap_zero(use->jumps, use->region->nr);
		use->nr_jumps = 0;
		pguard_areas_count_jumps(use->mm, -(s32)before);
		mmap_write_unlock(use->mm);
		return false;
	}
	nr = pokes_get(use, pokes, number, last, is_jump);
	if (nr && is_jump)
		jumps_write(use, pokes, nr);
	else if (nr)
		breakpoints_write(use, pokes, nr);
	pguard_areas_count_jumps(use->mm, (s32)(use->nr_jumps - before));
	mmap_write_unlock(use->mm);
	for (i = 0; i < nr; i++)
		poke_put(&pokes[i]);
	cond_resched();
	return *number < last;
}

/**
 * pguard_poke() - have the sites of a memory jump, or run into breakpoints again
 * @use: the region there; referenced, and its memory has users
 * @first: the first site
 * @last: the one behind the last
 * @is_jump: which of both
 *
 * Sites with other bytes than the file has are left alone.  Their uprobes are on.
 *
 * Context: may sleep; serialized by the caller; no map lock held.
 */
void pguard_poke(struct pguard_region_use *use, u32 first, u32 last, bool is_jump)
{
	struct poke *pokes = kmalloc_array(BATCH, sizeof(*pokes), GFP_KERNEL | __GFP_NOFAIL);
	u32 number = first;

	while (poke_some(use, pokes, &number, last, is_jump))
		;
	kfree(pokes);
}
