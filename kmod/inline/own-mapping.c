// SPDX-License-Identifier: GPL-2.0

#include "inline/own-mapping.h"

#include <linux/err.h>
#include <linux/file.h>
#include <linux/kthread.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sched.h>
#include <linux/sizes.h>

enum { GAP = SZ_64K };	/* left free beside other mappings */

/**
 * pguard_free_range() - find a range that nothing is mapped in
 * @low: it begins there or above, and
 * @high: ends there or below
 * @near: the last one that ends below this is taken, or else the first one above
 * @size: bytes, whole pages
 *
 * Another thread may map something there meanwhile.
 *
 * Context: current, may sleep; takes its memory's map lock.
 * Return: its address; 0 if there is none.
 */
unsigned long pguard_free_range(unsigned long low, unsigned long high, unsigned long near,
				unsigned long size)
{
	VMA_ITERATOR(vmi, current->mm, low);
	unsigned long end = low, below = 0, above = 0;
	struct vm_area_struct *vma;

	if (mmap_read_lock_killable(current->mm))
		return 0;
	do {
		unsigned long start;

		vma = vma_next(&vmi);
		start = vma ? min(vma->vm_start, high) : high;
		/* The heap grows there. */
		if (end >= current->mm->start_brk && end < current->mm->brk + SZ_1G)
			end = max(end, min(start, current->mm->brk + SZ_1G));
		if (start > end && start - end >= size + 2 * GAP) {
			if (start <= near)
				below = start - GAP - size;
			else if (near - end >= size + 2 * GAP && near > end)
				below = near - GAP - size;
			else if (!above)
				above = end + GAP;
		}
		end = vma ? max(end, vma->vm_end) : high;
	} while (end < high);
	mmap_read_unlock(current->mm);
	return below ?: above;
}

/**
 * pguard_own_mapping_make() - map something of the module's in current's memory
 * @mapping: what; the security modules and limits of the process decide, as for its own calls
 *
 * Context: current, may sleep; takes its memory's map lock.
 * Return: 0; -EEXIST if something is mapped there; another error of mmap().
 */
int pguard_own_mapping_make(const struct pguard_own_mapping *mapping)
{
	struct file *file = pguard_memory_file(mapping->name);
	unsigned long ret;

	if (IS_ERR(file))
		return PTR_ERR(file);
	fops_put(file->f_op);
	file->f_op = fops_get(mapping->fops);
	file->private_data = mapping->data;
	ret = vm_mmap(file, mapping->start, mapping->size, mapping->prot,
		      MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, 0);
	fput(file);
	return IS_ERR_VALUE(ret) ? (int)ret : 0;
}

/* So that it may be unmapped: a program may not. */
static void unseal(struct mm_struct *mm, unsigned long start)
{
	struct vm_area_struct *vma;

	mmap_write_lock(mm);
	vma = find_vma(mm, start);
	if (vma && vma->vm_start == start)
		pguard_vm_flags_change(vma, 0, PGUARD_VM_SEALED);
	mmap_write_unlock(mm);
}

/**
 * pguard_own_mapping_unmap() - take such a mapping away
 * @mm: the process' memory, which has users
 * @start: of the mapping, which is there
 * @size: all of it
 *
 * Context: a worker; may sleep; takes the map lock.
 * Return: 0, or an error of munmap().
 */
int pguard_own_mapping_unmap(struct mm_struct *mm, unsigned long start, unsigned long size)
{
	int ret;

	if (PGUARD_VM_SEALED)
		unseal(mm, start);
	kthread_use_mm(mm);
	ret = vm_munmap(start, size);
	kthread_unuse_mm(mm);
	return ret;
}

int pguard_own_mapping_split(struct vm_area_struct *vma, unsigned long address)
{
	return -EINVAL;
}

int pguard_own_mapping_move(struct vm_area_struct *vma)
{
	return -EINVAL;
}

int pguard_own_mapping_protect(struct vm_area_struct *vma, unsigned long start, unsigned long end,
			       unsigned long flags)
{
	return -EACCES;
}
