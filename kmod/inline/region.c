// SPDX-License-Identifier: GPL-2.0

#include "inline/region.h"

#include "inline/area.h"
#include "inline/own-mapping.h"
#include "inline/poke.h"
#include "inline/region-list.h"
#include "target/image.h"

#include <linux/bitmap.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

/* A jump reaches 2 GiB; what the instructions refer to lies around the text. */
#define REACH	(SZ_2G - SZ_256M)

enum { TRIES = 4 };	/* another thread may take the place meanwhile */

static void region_release(struct kref *refs)
{
	struct pguard_region *region = container_of(refs, struct pguard_region, refs);

	vfree(region->code);
	kvfree(region->heads);
	pguard_region_list_del(region);
	/* Readers of the lists may be looking at it. */
	kfree_rcu(region, rcu);
}

/* Context: any. */
void pguard_region_put(struct pguard_region *region)
{
	kref_put(&region->refs, region_release);
}

static void use_release(struct kref *refs)
{
	struct pguard_region_use *use = container_of(refs, struct pguard_region_use, refs);

	pguard_region_put(use->region);
	/* A signal may be looking at it. */
	kfree_rcu(use, rcu);
}

/* Context: any. */
void pguard_region_use_put(struct pguard_region_use *use)
{
	kref_put(&use->refs, use_release);
}

/* In the list of its region; with the jumps that the parent's memory has, if it is a child's. */
static struct pguard_region_use *use_add(struct pguard_region *region, struct mm_struct *mm,
					 const struct pguard_region_use *parent)
{
	struct pguard_region_use *use;

	use = kzalloc(struct_size(use, jumps, BITS_TO_LONGS(region->nr)),
		      GFP_KERNEL_ACCOUNT | __GFP_NOFAIL);
	kref_get(&region->refs);
	use->region = region;
	use->mm = mm;
	use->nr_mappings = 1;
	kref_init(&use->refs);
	if (parent) {
		use->is_pinned = READ_ONCE(parent->is_pinned);
		bitmap_copy(use->jumps, parent->jumps, region->nr);
		use->nr_jumps = parent->nr_jumps;
	}
	spin_lock(&region->lock);
	list_add_tail_rcu(&use->list, &region->uses);
	spin_unlock(&region->lock);
	return use;
}

/*
 * A mapping is copied: for a child, whose memory has the jumps of its parent's, while both are
 * locked; or within the process.
 */
static void region_open(struct vm_area_struct *vma)
{
	struct pguard_region_use *use = vma->vm_private_data;

	if (use->mm == vma->vm_mm) {
		spin_lock(&use->region->lock);
		use->nr_mappings++;
		spin_unlock(&use->region->lock);
	} else {
		vma->vm_private_data = use_add(use->region, vma->vm_mm, use);
	}
}

static void region_close(struct vm_area_struct *vma)
{
	struct pguard_region_use *use = vma->vm_private_data;
	bool is_last;

	spin_lock(&use->region->lock);
	is_last = !--use->nr_mappings;
	if (is_last)
		list_del_rcu(&use->list);
	spin_unlock(&use->region->lock);
	if (is_last)
		pguard_region_use_put(use);
}

static vm_fault_t region_fault(struct vm_fault *vmf)
{
	const struct pguard_region_use *use = vmf->vma->vm_private_data;
	const struct pguard_region *region = use->region;

	if (vmf->pgoff >= region->size / PAGE_SIZE)
		return VM_FAULT_SIGBUS;
	vmf->page = vmalloc_to_page(region->code + vmf->pgoff * PAGE_SIZE);
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct region_vm_ops = {
	.open = region_open,
	.close = region_close,
	.fault = region_fault,
	.may_split = pguard_own_mapping_split,
	.mremap = pguard_own_mapping_move,
	.mprotect = pguard_own_mapping_protect,
};

static int region_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct pguard_region *region = file->private_data;

	/* remap_file_pages() would map it again, when the region may be gone. */
	if (!region)
		return -EPERM;
	file->private_data = NULL;
	vma->vm_private_data = use_add(region, vma->vm_mm, NULL);
	vma->vm_ops = &region_vm_ops;
	/* Other processes have the same pages. */
	pguard_vm_flags_change(vma, VM_DONTEXPAND | PGUARD_VM_SEALED, VM_MAYWRITE);
	return 0;
}

static const struct file_operations region_fops = {
	.owner = THIS_MODULE,
	.mmap = region_mmap,
};

/* Where the file's first byte is or would be in current's memory, by its text with this place. */
static unsigned long base_find(const struct inode *inode, u64 offset)
{
	VMA_ITERATOR(vmi, current->mm, 0);
	struct vm_area_struct *vma;
	unsigned long ret = 0;
	u64 first;

	if (mmap_read_lock_killable(current->mm))
		return 0;
	for_each_vma(vmi, vma) {
		if (!(vma->vm_flags & VM_EXEC) || !vma->vm_file ||
		    d_real_inode(vma->vm_file->f_path.dentry) != inode)
			continue;
		first = (u64)vma->vm_pgoff << PAGE_SHIFT;
		if (offset < first || offset - first >= vma->vm_end - vma->vm_start)
			continue;
		ret = vma->vm_start - first;
		break;
	}
	mmap_read_unlock(current->mm);
	return ret;
}

/* Without landings yet, and nowhere. */
static struct pguard_region *region_alloc(struct pguard_jumps *jumps, u32 image_id)
{
	struct pguard_region *region = kzalloc(sizeof(*region), GFP_KERNEL_ACCOUNT);

	if (!region)
		return NULL;
	kref_init(&region->refs);
	INIT_LIST_HEAD(&region->list);
	INIT_LIST_HEAD(&region->uses);
	spin_lock_init(&region->lock);
	region->jumps = jumps;
	region->image_id = image_id;
	region->nr = jumps->nr;
	pguard_region_list_add(region);
	region->size = PAGE_ALIGN((unsigned long)jumps->nr * PGUARD_LANDING_SIZE);
	region->code = __vmalloc(region->size, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	region->heads = kvcalloc(jumps->nr, sizeof(*region->heads), GFP_KERNEL_ACCOUNT);
	if (!region->code || !region->heads) {
		pguard_region_put(region);
		return NULL;
	}
	return region;
}

/* Those that would be out of reach have none. */
static void landings_make(struct pguard_region *region, u32 areas)
{
	u32 i;

	for (i = 0; i < region->nr; i++) {
		const struct pguard_jump *jump = &region->jumps->list[i];
		const struct pguard_landing_spec spec = {
			.window = &jump->window,
			.insn = jump->insn,
			.site = region->base + jump->offset,
			.at = region->start + (unsigned long)i * PGUARD_LANDING_SIZE,
			.areas = areas,
			.what = jump->what,
			.sp_delta = jump->sp_delta,
			.has_value = !(jump->what & PGUARD_NOTED_IS_GUARD),
		};

		if (pguard_landing_make(region->code + i * PGUARD_LANDING_SIZE, &spec) ||
		    pguard_landing_head(region->heads[i], &jump->window, spec.site, spec.at))
			memset(region->heads[i], 0, PGUARD_LANDING_HEAD);
	}
}

/* Map a region in current's memory, where it is in its image's other processes. */
static int region_map(struct pguard_region *region)
{
	const struct pguard_own_mapping mapping = {
		.name = PERFGUARD_LANDINGS,
		.fops = &region_fops,
		.data = region,
		.start = region->start,
		.size = region->size,
		.prot = PROT_READ | PROT_EXEC,
	};

	return pguard_own_mapping_make(&mapping);
}

/* Map a new one, and make its landings, to which nobody jumps yet. */
static int region_place(struct pguard_region *region, const struct pguard_image *image)
{
	unsigned long text, low;
	u32 tries = TRIES;
	int ret;

	region->base = base_find(region->jumps->inode, region->jumps->list[0].offset);
	if (!region->base)
		return -ENOENT;
	text = region->base + region->jumps->list[0].offset;
	low = text > REACH + SZ_1M ? text - REACH : SZ_1M;
	do {
		region->start = pguard_free_range(low, min(text + REACH, TASK_SIZE_MAX), text,
						  region->size);
		if (!region->start)
			return -ENOSPC;
		ret = region_map(region);
	} while (ret == -EEXIST && --tries);
	if (!ret)
		landings_make(region, image->areas);
	return ret;
}

static struct pguard_region *region_find(struct pguard_jumps *jumps, u32 image_id)
{
	struct pguard_region *region;

	list_for_each_entry(region, &jumps->regions, list)
		if (region->image_id == image_id)
			return region;
	return NULL;
}

/* Images come with each exec; those whose processes have all gone leave landings behind. */
static void regions_tidy(struct pguard_jumps *jumps)
{
	struct pguard_region *region, *next;

	list_for_each_entry_safe(region, next, &jumps->regions, list) {
		if (!list_empty(&region->uses))
			continue;
		list_del_rcu(&region->list);
		pguard_region_put(region);
	}
}

/* That of some memory, referenced; or NULL. */
static struct pguard_region_use *use_get(struct pguard_region *region, const struct mm_struct *mm)
{
	struct pguard_region_use *use, *ret = NULL;

	spin_lock(&region->lock);
	list_for_each_entry(use, &region->uses, list)
		if (use->mm == mm)
			ret = use;
	if (ret)
		kref_get(&ret->refs);
	spin_unlock(&region->lock);
	return ret;
}

/* Returns true if any site from @first to @last - 1 jumps. */
static bool use_jumps(const struct pguard_region_use *use, u32 first, u32 last)
{
	return find_next_bit(use->jumps, last, first) < last;
}

/* The next one where some of the sites jump, referenced, and so is its memory; or NULL. */
static struct pguard_region_use *use_next(struct pguard_region *region, u32 first, u32 last)
{
	struct pguard_region_use *use, *ret = NULL;

	spin_lock(&region->lock);
	list_for_each_entry(use, &region->uses, list)
		/* Memory without users is on its way out, with what was mapped. */
		if (use_jumps(use, first, last) && mmget_not_zero(use->mm)) {
			kref_get(&use->refs);
			ret = use;
			break;
		}
	spin_unlock(&region->lock);
	return ret;
}

/* Room for @nr sites, to be filled in; or NULL.  Context: may sleep. */
struct pguard_jumps *pguard_jumps_alloc(u32 nr)
{
	struct pguard_jumps *jumps = kvzalloc(struct_size(jumps, list, nr),
					      GFP_KERNEL | __GFP_NOWARN);

	if (jumps)
		INIT_LIST_HEAD(&jumps->regions);
	return jumps;
}

/* Of sites that jump nowhere, and whose uprobes are off; or NULL.  Context: may sleep. */
void pguard_jumps_free(struct pguard_jumps *jumps)
{
	struct pguard_region *region, *next;

	if (!jumps)
		return;
	list_for_each_entry_safe(region, next, &jumps->regions, list) {
		/* Nobody looks at it in what stays mapped. */
		region->jumps = NULL;
		pguard_region_put(region);
	}
	kvfree(jumps);
}

/* Returns true if they are the same sites of one file.  Context: any. */
bool pguard_jumps_are_same(const struct pguard_jumps *a, const struct pguard_jumps *b)
{
	const struct pguard_jump *x, *y;
	u32 i;

	if (a->inode != b->inode || a->nr != b->nr)
		return false;
	for (i = 0; i < a->nr; i++) {
		x = &a->list[i];
		y = &b->list[i];
		if (x->offset != y->offset || x->what != y->what || x->sp_delta != y->sp_delta ||
		    memcmp(x->insn, y->insn, sizeof(x->insn)))
			return false;
	}
	return true;
}

/**
 * pguard_jumps_are_in() - has some memory the landings
 * @mm: stays while we are here
 *
 * Context: any; the map lock may be held.
 */
bool pguard_jumps_are_in(struct pguard_jumps *jumps, const struct mm_struct *mm)
{
	struct pguard_region *region;
	struct pguard_region_use *use;
	bool ret = false;

	rcu_read_lock();
	list_for_each_entry_rcu(region, &jumps->regions, list) {
		spin_lock(&region->lock);
		list_for_each_entry(use, &region->uses, list)
			if (use->mm == mm)
				ret = true;
		spin_unlock(&region->lock);
	}
	rcu_read_unlock();
	return ret;
}

/**
 * pguard_jumps_install() - have the sites of current's process jump to landings
 * @jumps: the sites; their uprobes are on
 * @image: of the process
 *
 * The first process of the image decides where the landings are.
 *
 * Context: current, on its way to user mode; may sleep; serialized by the caller; no map lock held.
 * Return: 0, also if some sites cannot jump; an error, with nothing changed but what is mapped:
 * -ENOENT if the process has not mapped the file.
 */
int pguard_jumps_install(struct pguard_jumps *jumps, struct pguard_image *image)
{
	struct pguard_region *region = region_find(jumps, image->id);
	struct pguard_region_use *use;
	int ret = pguard_areas_map(image);

	if (ret)
		return ret;
	if (!region) {
		regions_tidy(jumps);
		region = region_alloc(jumps, image->id);
		if (!region)
			return -ENOMEM;
		ret = region_place(region, image);
		if (ret) {
			pguard_region_put(region);
			return ret;
		}
		list_add_tail_rcu(&region->list, &jumps->regions);
	}
	use = use_get(region, current->mm);
	if (!use) {
		ret = region_map(region);
		use = ret ? NULL : use_get(region, current->mm);
	}
	if (!use)
		return ret ?: -ENOENT;
	pguard_poke(use, 0, region->nr, true);
	pguard_region_use_put(use);
	return 0;
}

/* Have the sites of current's memory run into breakpoints.  Context: as pguard_jumps_install(). */
void pguard_jumps_leave(struct pguard_jumps *jumps)
{
	struct pguard_region_use *use;
	struct pguard_region *region;

	list_for_each_entry(region, &jumps->regions, list) {
		use = use_get(region, current->mm);
		if (!use)
			continue;
		pguard_poke(use, 0, region->nr, false);
		pguard_region_use_put(use);
	}
}

/* The sites from @first to @last - 1, of which nothing jumps afterwards. */
static void region_remove(struct pguard_region *region, u32 first, u32 last)
{
	struct pguard_region_use *use;

	while ((use = use_next(region, first, last))) {
		pguard_poke(use, first, last, false);
		mmput_async(use->mm);
		pguard_region_use_put(use);
	}
}

/**
 * pguard_jumps_remove() - have the sites run into breakpoints again, wherever they jump
 * @jumps: the sites; pguard_jumps_install() is not called any more
 *
 * The landings stay mapped: a thread may be in one, or come back to one from a signal, see
 * region-list.h.  No uprobe may be taken off before.
 *
 * Context: may sleep, also for the map locks of processes; serialized by the caller.
 */
void pguard_jumps_remove(struct pguard_jumps *jumps)
{
	struct pguard_region *region;

	list_for_each_entry(region, &jumps->regions, list)
		region_remove(region, 0, jumps->nr);
}

/* The same of one site, which stays so until it is no longer off. */
void pguard_jumps_remove_one(struct pguard_jumps *jumps, u32 number)
{
	struct pguard_region *region;

	jumps->list[number].is_off = true;
	list_for_each_entry(region, &jumps->regions, list)
		region_remove(region, number, number + 1);
}
