// SPDX-License-Identifier: GPL-2.0

#include "inline/area.h"

#include "inline/own-mapping.h"
#include "inline/region-list.h"
#include "inline/thread-gs.h"
#include "lib/charge.h"
#include "target/hit-ring.h"
#include "target/image.h"
#include "target/thread.h"
#include "trainstream/stream.h"

#include <linux/bitmap.h>
#include <linux/hashtable.h>
#include <linux/mman.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/task_work.h>

#define AREA_SIZE	((unsigned long)PGUARD_RING_PAGES * PAGE_SIZE)
#define AREAS_SIZE	(PGUARD_NR_AREAS * AREA_SIZE)

/**
 * struct areas - those of a process
 * @node: in the table, as long as they are mapped; areas_lock
 * @mm: whose; there as long as they are in the table
 * @start: address of the first one
 * @nr_jumps: sites of the process that jump; written with its map lock held
 * @nr_mappings: more than one while mremap() tries to move it; areas_lock
 * @round: of pguard_areas_unmap() that has looked at it
 * @refs: one of the mappings together, one of each thread
 * @taken: a bit for each that some thread writes to, and the two that none takes; areas_lock
 * @free: of the last put
 * @list: those that were ever taken, by number; once there they stay; the
 *	mapping or a thread holds all of it
 */
struct areas {
	struct hlist_node node;
	struct mm_struct *mm;
	u32 start;
	u32 nr_jumps;
	u32 nr_mappings;
	u32 round;
	refcount_t refs;
	DECLARE_BITMAP(taken, PGUARD_NR_AREAS);
	struct rcu_work free;
	struct area *list[PGUARD_NR_AREAS];
};

/**
 * struct area - that of a thread, or of several one after another
 * @areas: of its process; a thread that has it holds a reference
 * @number: which of them
 * @work: takes the base of GS back from a thread that is watched no longer
 * @ring: all of it
 */
struct area {
	struct areas *areas;
	u32 number;
	struct callback_head work;
	struct pguard_hit_ring ring;
};

/* By memory; nothing is taken in it. */
static DEFINE_SPINLOCK(areas_lock);
static DEFINE_HASHTABLE(areas_by_mm, 6);

static struct areas *areas_alloc(const struct vm_area_struct *vma)
{
	struct areas *areas = kzalloc(sizeof(*areas), GFP_KERNEL | PGUARD_GFP_CHARGED);

	if (!areas)
		return NULL;
	areas->mm = vma->vm_mm;
	areas->start = vma->vm_start;
	areas->nr_mappings = 1;
	refcount_set(&areas->refs, 1);
	__set_bit(0, areas->taken);
	__set_bit(PGUARD_NR_AREAS - 1, areas->taken);
	spin_lock(&areas_lock);
	hash_add(areas_by_mm, &areas->node, (unsigned long)areas->mm);
	spin_unlock(&areas_lock);
	return areas;
}

static void area_free(struct area *area)
{
	u32 i;

	for (i = 0; area && i < PGUARD_RING_PAGES; i++)
		if (area->ring.pages[i])
			put_page(virt_to_page(area->ring.pages[i]));
	kfree(area);
}

/* Tens of thousands of pages, which are not freed where the last thread exits. */
static void areas_free(struct work_struct *work)
{
	struct areas *areas = container_of(to_rcu_work(work), struct areas, free);
	u32 i;

	for (i = 0; i < PGUARD_NR_AREAS; i++)
		area_free(areas->list[i]);
	kfree(areas);
}

/* Others may look at its rings for a grace period. */
static void areas_put(struct areas *areas)
{
	if (!refcount_dec_and_test(&areas->refs))
		return;
	INIT_RCU_WORK(&areas->free, areas_free);
	queue_rcu_work(pguard_free_wq, &areas->free);
}

/* Those of some memory, if they are mapped, with a reference; or NULL. */
static struct areas *areas_get(const struct mm_struct *mm)
{
	struct areas *areas, *ret = NULL;

	spin_lock(&areas_lock);
	hash_for_each_possible(areas_by_mm, areas, node, (unsigned long)mm)
		if (areas->mm == mm) {
			refcount_inc(&areas->refs);
			ret = areas;
		}
	spin_unlock(&areas_lock);
	return ret;
}

/* For the memory of a child, which has its parent's jumps; or NULL. */
static struct areas *areas_copy(const struct areas *parent, const struct vm_area_struct *vma)
{
	struct areas *areas = areas_alloc(vma);

	if (areas && parent)
		areas->nr_jumps = parent->nr_jumps;
	return areas;
}

/*
 * A mapping is copied: for a child, which gets areas of its own, or within the process.  Without
 * memory the child has none, and its threads write to pages that nobody reads.
 */
static void areas_open(struct vm_area_struct *vma)
{
	struct areas *areas = vma->vm_private_data;

	if (areas && areas->mm == vma->vm_mm) {
		spin_lock(&areas_lock);
		areas->nr_mappings++;
		spin_unlock(&areas_lock);
	} else {
		vma->vm_private_data = areas_copy(areas, vma);
	}
}

static void areas_close(struct vm_area_struct *vma)
{
	struct areas *areas = vma->vm_private_data;
	bool is_last;

	if (!areas)
		return;
	spin_lock(&areas_lock);
	is_last = !--areas->nr_mappings;
	if (is_last)
		hash_del(&areas->node);
	spin_unlock(&areas_lock);
	if (is_last)
		areas_put(areas);
}

/* The page of an area, with a reference; made if it is not there.  Of areas that no thread took: any. */
static struct page *area_page(struct areas *areas, unsigned long offset)
{
	struct area *area = areas ? READ_ONCE(areas->list[offset / PGUARD_RING_PAGES]) : NULL;
	void **at = area ? &area->ring.pages[offset % PGUARD_RING_PAGES] : NULL;
	void *there = at ? READ_ONCE(*at) : NULL;
	struct page *page;

	if (!there) {
		page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
		if (!page || !at)
			return page;
		there = cmpxchg(at, NULL, page_address(page));
		if (!there)
			there = page_address(page);
		else
			put_page(page);
	}
	page = virt_to_page(there);
	get_page(page);
	return page;
}

static vm_fault_t areas_fault(struct vm_fault *vmf)
{
	unsigned long offset = vmf->pgoff;

	if (offset >= AREAS_SIZE / PAGE_SIZE)
		return VM_FAULT_SIGBUS;
	vmf->page = area_page(vmf->vma->vm_private_data, offset);
	return vmf->page ? 0 : VM_FAULT_OOM;
}

static const struct vm_operations_struct areas_vm_ops = {
	.open = areas_open,
	.close = areas_close,
	.fault = areas_fault,
	.may_split = pguard_own_mapping_split,
	.mremap = pguard_own_mapping_move,
	.mprotect = pguard_own_mapping_protect,
};

static int areas_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct areas *areas;

	/* remap_file_pages() would map it again, for other areas. */
	if (!file->private_data)
		return -EPERM;
	file->private_data = NULL;
	areas = areas_alloc(vma);
	if (!areas)
		return -ENOMEM;
	vma->vm_private_data = areas;
	vma->vm_ops = &areas_vm_ops;
	/* With the first nobody locks all of it into memory. */
	pguard_vm_flags_change(vma, VM_IO | VM_DONTEXPAND | VM_DONTDUMP | PGUARD_VM_SEALED,
			       VM_MAYEXEC);
	return 0;
}

static const struct file_operations areas_fops = {
	.owner = THIS_MODULE,
	.mmap = areas_mmap,
};

/* Returns true if a base of GS is what threads with areas have; to a program it is of no use. */
bool pguard_area_has_base(u64 base)
{
	return base < AREAS_SIZE && !(base % AREA_SIZE);
}

/* Where the areas of current's process begin; 0: it has none.  Context: any. */
static u32 areas_start(void)
{
	struct areas *areas = areas_get(current->mm);
	u32 ret = areas ? areas->start : 0;

	if (areas)
		areas_put(areas);
	return ret;
}

/**
 * pguard_areas_count_jumps() - so many sites more of a process jump
 * @mm: its memory, whose map lock is held for writing
 * @more: how many; negative if they do so no more
 */
void pguard_areas_count_jumps(const struct mm_struct *mm, s32 more)
{
	struct areas *areas = areas_get(mm);

	if (!areas)
		return;
	WRITE_ONCE(areas->nr_jumps, areas->nr_jumps + more);
	areas_put(areas);
}

/* How many sites of a process jump, by its memory, which is compared with alone.  Context: any. */
u32 pguard_areas_jumps(const struct mm_struct *mm)
{
	struct areas *areas = areas_get(mm);
	u32 ret = areas ? READ_ONCE(areas->nr_jumps) : 0;

	if (areas)
		areas_put(areas);
	return ret;
}

/* What a landing refers to as a displacement. */
#define LOW_END		((unsigned long)SZ_2G)

/* At random, as other mappings of a process. */
static unsigned long place_find(void)
{
	unsigned long near = LOW_END - (get_random_u32() & (SZ_1G - 1) & PAGE_MASK);

	return pguard_free_range(SZ_256M, LOW_END, near, AREAS_SIZE);
}

static int map(u32 *start)
{
	struct pguard_own_mapping mapping = {
		.name = PERFGUARD_AREAS,
		.fops = &areas_fops,
		.data = start,
		.start = *start,
		.size = AREAS_SIZE,
		.prot = PROT_READ | PROT_WRITE,
	};
	int ret;

	if (!*start)
		mapping.start = place_find();
	if (!mapping.start)
		return -ENOSPC;
	ret = pguard_own_mapping_make(&mapping);
	if (!ret)
		*start = mapping.start;
	return ret;
}

/**
 * pguard_areas_map() - have areas mapped in current's process
 * @image: of the process; the first one decides where they are in all of it, and they may be
 *	there from an image of another target
 *
 * Context: current, on its way to user mode; may sleep; serialized by the caller, and no lock of
 * its memory is held.
 * Return: 0, also if they are; -EEXIST if they are elsewhere; an error of mmap().
 */
int pguard_areas_map(struct pguard_image *image)
{
	u32 start = areas_start();

	if (!start)
		return map(&image->areas);
	if (!image->areas)
		image->areas = start;
	return image->areas == start ? 0 : -EEXIST;
}

/* The next ones of which no landing is mapped, with a reference, also on their memory; or NULL. */
static struct areas *areas_next(u32 round)
{
	struct areas *areas, *ret = NULL;
	u32 bucket;

	spin_lock(&areas_lock);
	hash_for_each(areas_by_mm, bucket, areas, node) {
		if (ret || areas->round == round)
			continue;
		areas->round = round;
		/* It is there as long as something is mapped; without users it is on its way out. */
		if (pguard_region_list_has(areas->mm) || !mmget_not_zero(areas->mm))
			continue;
		refcount_inc(&areas->refs);
		ret = areas;
	}
	spin_unlock(&areas_lock);
	return ret;
}

/**
 * pguard_areas_unmap() - unmap areas that no landing writes to and no thread has
 *
 * Context: a worker; may sleep, also for the map locks of processes; serialized with
 * pguard_areas_map() and what maps landings.
 * Return: true if a thread still has one, so that it is to be called again.
 */
bool pguard_areas_unmap(void)
{
	static u32 round;
	struct mm_struct *mm;
	struct areas *areas;
	bool ret = false;

	round++;
	while ((areas = areas_next(round))) {
		mm = areas->mm;
		/* The mapping's, and ours. */
		if (refcount_read(&areas->refs) > 2 ||
		    pguard_own_mapping_unmap(mm, areas->start, AREAS_SIZE))
			ret = true;
		areas_put(areas);
		mmput_async(mm);
	}
	return ret;
}

/* A free one; its number is taken.  Or NULL. */
static struct area *area_take(struct areas *areas)
{
	struct area *area;
	u32 number;

	spin_lock(&areas_lock);
	number = find_first_zero_bit(areas->taken, PGUARD_NR_AREAS);
	if (number < PGUARD_NR_AREAS)
		__set_bit(number, areas->taken);
	spin_unlock(&areas_lock);
	if (number == PGUARD_NR_AREAS)
		return NULL;
	area = areas->list[number];
	if (area)
		return area;
	area = kzalloc(sizeof(*area), GFP_KERNEL | PGUARD_GFP_CHARGED);
	if (area) {
		area->areas = areas;
		area->number = number;
		area->ring.pages[0] = (void *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	}
	if (!area || !area->ring.pages[0]) {
		kfree(area);
		spin_lock(&areas_lock);
		__clear_bit(number, areas->taken);
		spin_unlock(&areas_lock);
		return NULL;
	}
	/* Who faults sees all of it. */
	smp_store_release(&areas->list[number], area);
	return area;
}

/* Nobody writes to it any more. */
static void area_release(struct area *area)
{
	spin_lock(&areas_lock);
	__clear_bit(area->number, area->areas->taken);
	spin_unlock(&areas_lock);
	areas_put(area->areas);
}

static struct area *area_of(struct pguard_hit_ring *ring)
{
	return container_of(ring, struct area, ring);
}

static void area_set(struct pguard_thread *thread, struct area *area)
{
	pguard_hit_ring_reset(&area->ring, pguard_stream_is_open() || thread->takes_noted);
	pguard_gs_base_set(area->number * AREA_SIZE);
	/* Who looks at it sees its head. */
	smp_store_release(&thread->ring, &area->ring);
	smp_mb(); /* pairs with xchg() in pguard_area_leave(), behind the mark */
	if (READ_ONCE(thread->dead) && xchg(&thread->ring, NULL)) {
		pguard_gs_base_set(0);
		area_release(area);
	}
}

/**
 * pguard_area_look() - give current an area if its process has some, or see that it is still right
 * @thread: of current
 *
 * Context: current, on its way to user mode or in a hooked call; may sleep.
 * Return: 0, also if the process has none; enum perfguard_inline_refusal if nothing of it may jump,
 * for what jumps is noted nowhere.
 */
u32 pguard_area_look(struct pguard_thread *thread)
{
	struct pguard_hit_ring *ring = READ_ONCE(thread->ring);
	struct areas *areas;
	struct area *area;

	if (ring) {
		area = area_of(ring);
		if (likely(pguard_gs_base() == area->number * AREA_SIZE))
			return 0;
		if (xchg(&thread->ring, NULL))
			area_release(area);
		return PERFGUARD_INLINE_REFUSAL_GS;
	}
	areas = areas_get(current->mm);
	if (!areas)
		return 0;
	area = pguard_gs_is_free() ? area_take(areas) : NULL;
	if (area) {
		area_set(thread, area);
		return 0;
	}
	areas_put(areas);
	return pguard_area_has_base(pguard_gs_base()) ? PERFGUARD_INLINE_REFUSAL_THREADS
						      : PERFGUARD_INLINE_REFUSAL_GS;
}

static void leave_run(struct callback_head *work)
{
	struct area *area = container_of(work, struct area, work);

	if (!(current->flags & PF_EXITING) && pguard_gs_base() == area->number * AREA_SIZE)
		pguard_gs_base_set(0);
	area_release(area);
	module_put(THIS_MODULE);
}

/**
 * pguard_area_leave() - a thread is watched no longer
 * @thread: of current, which exits or executes another program, or of any thread once the state is
 *	out of the hash
 *
 * Another's base of GS is taken back when it comes by.
 *
 * Context: any; does not sleep.
 */
void pguard_area_leave(struct pguard_thread *thread)
{
	struct pguard_hit_ring *ring = xchg(&thread->ring, NULL);
	struct area *area;

	if (!ring)
		return;
	area = area_of(ring);
	if (thread->task == current) {
		/* An exec has taken it back. */
		area_release(area);
		return;
	}
	/* Its target holds one. */
	__module_get(THIS_MODULE);
	init_task_work(&area->work, leave_run);
	if (task_work_add(thread->task, &area->work, TWA_RESUME)) {
		/* It has exited. */
		area_release(area);
		module_put(THIS_MODULE);
	}
}

/**
 * pguard_area_fork() - current has made a thread or a process, which does not run yet
 * @child: it; has current's base of GS, which is another's area, or will be
 *
 * Context: current, in the fork's tracepoint.
 */
void pguard_area_fork(struct task_struct *child)
{
	struct areas *areas;

	if (!child->thread.gsbase || !pguard_area_has_base(child->thread.gsbase))
		return;
	areas = areas_get(current->mm);
	if (!areas)
		return;
	child->thread.gsbase = 0;
	areas_put(areas);
}
